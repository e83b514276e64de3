"""Settings of a policy, as they come from a program or from JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from typing import Any, Generic, Protocol, TypeVar

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.memory import WindowMemory
from deskhand_sandbox.errors import near_ones

T = TypeVar("T")


class Told(Protocol):
    """What settings of a policy behind an API say, whichever it is."""

    @property
    def memory(self) -> WindowMemory: ...

    @property
    def longest_s(self) -> float: ...


S = TypeVar("S", bound=Told)


class BySettings(Generic[S]):
    """What its settings say of a policy behind an API, for who runs its episodes."""

    settings: S

    @property
    def memory(self) -> WindowMemory:
        """What it is shown in place of turns no longer shown."""
        return self.settings.memory

    @property
    def longest_s(self) -> float:
        """See `Patient`."""
        return self.settings.longest_s

    @property
    def reads_tree(self) -> bool:
        """See `TreeReader`."""
        return self.memory.reads_tree


_RECORDS: Mapping[str, type] = {"memory": WindowMemory, "coordinates": CoordinateSystem}
"""Setting -> the record that an object stands for."""


def read_settings(kind: type[T], values: Mapping[str, Any]) -> T:
    """A record of settings; of a record among them what is not told stays as it is by default.

    Raises:
        TypeError: a setting that there is not, or with a value that makes no sense.
    """
    given = dict(values)
    _known(kind, given, "")
    try:
        for name, record in _RECORDS.items():
            if isinstance(told := given.get(name), Mapping):
                _known(record, told, f"{name}.")
                default = _default(kind, name)
                given[name] = record(**told) if default is None else replace(default, **told)
        return kind(**given)
    except ValueError as error:
        raise TypeError(str(error)) from error


def _known(kind: type[Any], told: Mapping[str, Any], place: str) -> None:
    names = [one.name for one in fields(kind)]
    for name in told:
        if name not in names:
            raise TypeError(f"{place}{name} is no setting{near_ones(name, names)[0]}")


def _default(kind: type[Any], name: str) -> Any:
    for one in fields(kind):
        if one.name == name and one.default_factory is not MISSING:
            return one.default_factory()
    return None
