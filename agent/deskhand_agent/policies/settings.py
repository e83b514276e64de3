"""Settings of a policy, as they come from a program or from JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.memory import WindowMemory

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


def read_settings(kind: Callable[..., T], values: Mapping[str, Any]) -> T:
    """A record of settings.

    Raises:
        TypeError: a setting that there is not, or with a value that makes no sense.
    """
    given = dict(values)
    try:
        for name, record in _RECORDS.items():
            if isinstance(given.get(name), Mapping):
                given[name] = record(**given[name])
        return kind(**given)
    except ValueError as error:
        raise TypeError(str(error)) from error
