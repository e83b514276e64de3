"""Parameters of a template: drawn from the seed, filled in where a text says {name}."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from deskhand_sandbox.tasks.written.located import Reader, short
from deskhand_sandbox.types import JsonValue

Value: TypeAlias = "str | int | float | Mapping[str, Value]"

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HOLE = re.compile(r"\{([a-z][a-z0-9_]*)(?:\.([a-z][a-z0-9_]*))?\}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One thing that is drawn."""

    name: str
    choices: Sequence[Value]
    """One of them is taken."""
    unlike: tuple[str, ...] = ()
    """Parameters drawn before, whose values are not taken again."""


def read_parameters(reader: Reader) -> tuple[Parameter, ...]:
    """The parameters of a task: lists to choose from, `{from: 1, to: 9}`, `{of: [...], unlike: other}`.

    Raises:
        InvalidTask: one is none of these; says where.
    """
    made: list[Parameter] = []
    for name, value in reader.mapping("parameters").items():
        if not _NAME.fullmatch(name):
            raise _wrong(reader, name, "a parameter's name has small letters, digits and _")
        made.append(_read(reader, name, value, [each.name for each in made]))
    return tuple(made)


def _read(reader: Reader, name: str, value: object, before: Sequence[str]) -> Parameter:
    if isinstance(value, list):
        return Parameter(name=name, choices=_choices(reader, name, cast("list[object]", value)))
    fields = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    if set(fields) == {"from", "to"}:
        first, last = fields["from"], fields["to"]
        if type(first) is not int or type(last) is not int or not first <= last:
            raise _wrong(reader, name, "from and to must be whole numbers, from not above to")
        return Parameter(name=name, choices=range(first, last + 1))
    if set(fields) == {"of", "unlike"} and isinstance(fields["of"], list):
        others = fields["unlike"]
        unlike = (
            [str(each) for each in cast("list[object]", others)]
            if isinstance(others, list)
            else [str(others)]
        )
        if missing := [each for each in unlike if each not in before]:
            raise _wrong(reader, name, f"unlike names {missing[0]!r}, which is no parameter above it")
        choices = _choices(reader, name, cast("list[object]", fields["of"]))
        if sum(each not in choices[:at] for at, each in enumerate(choices)) <= len(unlike):
            raise _wrong(reader, name, "there are too few values for one unlike the others")
        return Parameter(name=name, choices=choices, unlike=tuple(unlike))
    raise _wrong(
        reader, name, f"must be a list, {{from, to}} or {{of: [...], unlike: name}}, not {short(value)}"
    )


def _choices(reader: Reader, name: str, values: list[object]) -> list[Value]:
    if not values:
        raise _wrong(reader, name, "there is nothing to choose from")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float | Mapping):
            raise _wrong(
                reader, name, f"a value must be text, a number or a mapping of such, not {short(value)}"
            )
    return cast("list[Value]", values)


def _wrong(reader: Reader, name: str, what: str) -> Exception:
    return reader.document.wrong((*reader.path, "parameters", name), what)


def draw(parameters: Sequence[Parameter], source: random.Random) -> dict[str, Value]:
    """A value for each parameter."""
    drawn: dict[str, Value] = {}
    for parameter in parameters:
        taken = [drawn[name] for name in parameter.unlike]
        # a range may be too long for a list
        free = [each for each in parameter.choices if each not in taken] if taken else parameter.choices
        drawn[parameter.name] = free[int(source.random() * len(free))]
    return drawn


def every_draw(parameters: Sequence[Parameter], at_most: int) -> list[dict[str, Value]] | None:
    """All that `draw` may give; None where that may be more than so many."""
    found: list[dict[str, Value]] = [{}]
    for one in parameters:
        if len(found) * len(one.choices) > at_most:
            return None
        found = [
            {**drawn, one.name: each}
            for drawn in found
            for each in one.choices
            if each not in [drawn[name] for name in one.unlike]
        ]
    return found


def fill(value: object, drawn: Mapping[str, Value]) -> JsonValue:
    """A value with every {name} and {name.part} of a parameter in its texts filled in.

    Other braces stay: scripts are full of them.
    """
    if isinstance(value, str):
        return _HOLE.sub(lambda hole: hole[0] if (own := _value(hole, drawn)) is None else str(own), value)
    if isinstance(value, list | tuple):
        return [fill(each, drawn) for each in cast("Sequence[object]", value)]
    if isinstance(value, Mapping):
        return {
            str(fill(str(key), drawn)): fill(each, drawn)
            for key, each in cast("Mapping[object, object]", value).items()
        }
    return cast("JsonValue", value)


def holes(text: str) -> list[str]:
    """What a text still wants filled in."""
    return [hole[0] for hole in _HOLE.finditer(text)]


def _value(hole: re.Match[str], drawn: Mapping[str, Value]) -> Value | None:
    name, part = hole[1], hole[2]
    value = drawn.get(name)
    if part is None:
        return value if not isinstance(value, Mapping) else None
    return value.get(part) if isinstance(value, Mapping) else None
