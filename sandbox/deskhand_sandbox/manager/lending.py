"""What settings say of sandboxes, in JSON or YAML: pools by name, terms of leases, deadlines of calls."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import InvalidPool, InvalidTask, UnknownName
from deskhand_sandbox.manager.records import LeaseTerms, PoolSettings
from deskhand_sandbox.registry import check_kind, check_settings
from deskhand_sandbox.types import JsonValue

GivenPools: TypeAlias = Mapping[str, Mapping[str, JsonValue]]
"""Fields of `PoolSettings` by the pool's name; those left out keep their defaults."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lending:
    """How whoever opens sandboxes is to open them."""

    pools: GivenPools = field(default_factory=dict[str, Mapping[str, JsonValue]])
    """A kind that no pool is given of has one of the defaults."""
    terms: LeaseTerms = field(default_factory=LeaseTerms)
    deadlines: Deadlines = field(default_factory=Deadlines)

    def __post_init__(self) -> None:
        """
        Raises:
            InvalidPool: a pool of no kind there is, or with a field that is refused; says which and why.
        """
        for name in self.pools:
            self._read(name, most=1)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds that pools are given of."""
        return tuple(dict.fromkeys(self._kind(name) for name in self.pools))

    def pools_of(self, kinds: Iterable[str], *, most: int) -> dict[str, PoolSettings]:
        """Pools of these kinds, by name, checked down to the settings of their backends.

        Args:
            most: sandboxes of a pool that does not say itself how many it may have.

        Raises:
            InvalidPool: a backend refuses its settings; says which and why.
        """
        found: dict[str, PoolSettings] = {}
        for kind in dict.fromkeys(kinds):
            given = [name for name in self.pools if self._kind(name) == kind]
            found |= {name: self._checked(name, most) for name in given}
            if not given:
                found[kind] = PoolSettings(max_sandboxes=most)
        return found

    def pool(self, name: str, settings: Mapping[str, JsonValue]) -> PoolSettings:
        """The pool of the one sandbox that somebody tries; it says its kind.

        Args:
            name: of a pool that is given, or of a kind: the first pool of it.
            settings: of its backend, beside those that are given, which they beat.

        Raises:
            UnknownName: there is no such kind.
            InvalidPool: the backend refuses its settings.
        """
        if name not in self.pools:
            check_kind(name)
            name = next((each for each in self.pools if self._kind(each) == name), name)
        given = dict(self.pools.get(name, {}))
        given |= {"max_sandboxes": 1, "min_sandboxes": 0, "kind": given.get("kind") or name}
        given["settings"] = {**cast("Mapping[str, JsonValue]", given.get("settings", {})), **settings}
        return Lending(pools={name: given})._checked(name, 1)

    def _kind(self, name: str) -> str:
        return str(self.pools[name].get("kind") or name)

    def _checked(self, name: str, most: int) -> PoolSettings:
        pool = self._read(name, most)
        if pool.settings:
            try:
                check_settings(self._kind(name), pool.settings)
            except InvalidTask as error:
                raise InvalidPool(f"pool {name!r}: {error}") from error
        return pool

    def _read(self, name: str, most: int) -> PoolSettings:
        given = self.pools[name]
        try:
            least = _mapping(given, "it").get("min_sandboxes", 0)
            places = max(most, least) if isinstance(least, int) else most
            pool = _record(PoolSettings, {"max_sandboxes": places, **given}, "setting of a pool")
            check_kind(pool.kind or name)
            if pool.kind not in ("", name) and _is_kind(name):
                raise ValueError(f"has the name of another kind than its own, {pool.kind}: name it otherwise")
        except (UnknownName, ValueError) as error:
            raise InvalidPool(f"pool {name!r}: {error}") from error
        return pool


def as_json(lending: Lending) -> dict[str, JsonValue]:
    """Plain values, as `read_lending` reads them."""
    return dataclasses.asdict(lending)


def read_lending(given: Mapping[str, JsonValue]) -> Lending:
    """Of plain values, as `as_json` makes them.

    Raises:
        InvalidPool: something of it is refused; says what and why.
    """
    try:
        values: dict[str, Any] = {**_mapping(given, "these")}
        _mapping(values.get("pools", {}), "pools")
        for name, record in (("terms", LeaseTerms), ("deadlines", Deadlines)):
            if name in values:
                values[name] = _record(record, values[name], f"setting of {name}")
        return _record(Lending, values, "setting of sandboxes")
    except (UnknownName, ValueError) as error:
        raise InvalidPool(str(error)) from error


def _record(record: type[T], values: Mapping[str, Any], what: str) -> T:
    """
    Raises:
        UnknownName: a field it does not have, with the nearest it has.
        ValueError: a value it refuses.
    """
    _mapping(values, "they")
    known = [each.name for each in dataclasses.fields(cast("Any", record))]
    for name in values:
        if name not in known:
            raise UnknownName(what, name, known)
    return record(**values)


def _mapping(value: Mapping[str, T], what: str) -> Mapping[str, T]:
    if isinstance(cast("object", value), Mapping):
        return value
    raise ValueError(f"{what} must be a mapping of settings, not {value!r}")


def _is_kind(name: str) -> bool:
    try:
        check_kind(name)
    except UnknownName:
        return False
    return True
