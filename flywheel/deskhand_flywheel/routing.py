"""Routes as data: which episodes become which dataset.

    sft:
      outcome: success
      unique: true            # of episodes that did the same on the same screens the oldest alone
    pool:
      outcome: all
      least_success: 0.1      # tasks that succeed now and then
      most_success: 0.9

What a file says is laid on `routes.yaml` beside this one; `sft: null` leaves a route out.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

import yaml

from deskhand_flywheel.errors import InvalidRoutes, RecordError
from deskhand_flywheel.records import decode
from deskhand_flywheel.types import SelectionRule, Sieve
from deskhand_sandbox.types import JsonValue

OUTCOME = "outcome"
_FIELDS = (OUTCOME, *(field.name for field in fields(Sieve)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One dataset to be made of what is routed."""

    name: str
    """What the dataset is called after its prefix: "round-3/sft"."""
    rule: SelectionRule
    sieve: Sieve


def read_routes(values: Mapping[str, object]) -> tuple[Route, ...]:
    """The routes that come of values laid on the default ones.

    Raises:
        InvalidRoutes: a route is not as routes are; names it and the field.
    """
    routes: dict[str, object] = {**_defaults()}
    for name, value in values.items():
        below = routes.get(name)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            value = {**cast("Mapping[str, object]", below), **cast("Mapping[str, object]", value)}
        routes[name] = value
    return tuple(_route(name, value) for name, value in routes.items() if value is not None)


def load_routes(path: Path) -> tuple[Route, ...]:
    """The routes of a YAML file.

    Raises:
        InvalidRoutes: it cannot be read, is no YAML, or holds something else than routes.
    """
    try:
        return read_routes(_mapping(path.read_text(encoding="utf-8"), str(path)))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRoutes(f"{path} cannot be read: {error}") from error


@cache
def _defaults() -> Mapping[str, object]:
    return _mapping(files("deskhand_flywheel").joinpath("routes.yaml").read_text(), "routes.yaml")


def _mapping(text: str, name: str) -> Mapping[str, object]:
    try:
        value: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidRoutes(f"{name} is no YAML: {error}") from error
    if not isinstance(value, Mapping):
        raise InvalidRoutes(f"{name}: expected a mapping of routes by name")
    return cast("Mapping[str, object]", value)


def _route(name: str, value: object) -> Route:
    if not isinstance(value, Mapping):
        raise InvalidRoutes(f"route {name}: expected a mapping with {', '.join(_FIELDS)}")
    given = dict(cast("Mapping[str, JsonValue]", value))
    for field in given:
        _known(f"route {name}", field, _FIELDS)
    outcome = given.pop(OUTCOME, None)
    _known(f"route {name}.{OUTCOME}", outcome, [rule.value for rule in SelectionRule])
    try:
        sieve = decode(Sieve, given)
    except RecordError as error:
        raise InvalidRoutes(f"route {name}: {error}") from error
    if not 0 <= sieve.least_success <= sieve.most_success <= 1:
        raise InvalidRoutes(f"route {name}: least_success and most_success go from 0 to 1, the least first")
    if not 0 <= sieve.thin_above <= 1 or sieve.thin_to < 0:
        raise InvalidRoutes(f"route {name}: thin_above goes from 0 to 1, thin_to from 0")
    return Route(name=name, rule=SelectionRule(outcome), sieve=sieve)


def _known(where: str, name: object, known: Collection[str]) -> None:
    if name in known:
        return
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    raise InvalidRoutes(f"{where}: no {name!r}; {_hint(near, known)}")


def _hint(near: Iterable[str], known: Iterable[str]) -> str:
    found = " or ".join(near)
    return f"did you mean {found}?" if found else f"there are {', '.join(known)}"
