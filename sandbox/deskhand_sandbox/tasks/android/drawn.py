"""What a template draws from a seed, and how an oracle finds things on the screen."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.types import Action, JsonValue, Touch, VerifierSpec

CONTACTS = "content://org.deskhand.contacts/contacts"
NOTES = "content://org.deskhand.notes/notes"
ALARMS = "content://org.deskhand.clock/alarms"
TIMERS = "content://org.deskhand.clock/timers"
SMS = "content://sms"
IMAGES = "content://media/external/images/media"
_LINE = re.compile(r'^\s*- \w+(?: "([^"]*)")?(?: desc="([^"]*)")?(?: id=\S+)? \[(\d+),(\d+)\]\[(\d+),(\d+)\]')
"""A line of an Android device's text tree."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tap:
    """Touch what bears a label."""

    label: str
    share: float = 0.5
    """Where on it, from left (0) to right (1): sliders."""


Step: TypeAlias = Tap | Action


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """One start state, its goal, and a way there."""

    instruction: str
    oracle: tuple[Step, ...]
    verifier: VerifierSpec
    prepare: str = ""
    """Shell script for the device."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Template:
    """A kind of task."""

    description: str
    draw: Callable[[random.Random], Drawn]


def tap(label: str) -> Tap:
    """Touch what bears a label."""
    return Tap(label=label)


def add_row(uri: str, **values: str | int) -> str:
    """A line of a script that adds a row."""
    bound: list[str] = []
    for name, value in values.items():
        bound += ["--bind", f"{name}:{'i' if isinstance(value, int) else 's'}:{value}"]
    return shlex.join(["content", "insert", "--uri", uri, *bound]) + "\n"


def equals(**values: str | int) -> str:
    """An SQL condition: every column has its value."""
    quoted = {
        n: str(v) if isinstance(v, int) else "'" + v.replace("'", "''") + "'" for n, v in values.items()
    }
    return " AND ".join(f"{name} = {value}" for name, value in quoted.items())


def row(uri: str, count: int, **values: str | int) -> JsonValue:
    """A row check of the android verifier: so many rows with these values."""
    return {"uri": uri, "where": equals(**values), "count": count}


def rows(*checks: JsonValue) -> VerifierSpec:
    """The android verifier, looking at rows."""
    return VerifierSpec(name="android", settings={"rows": list(checks)})


def setting(name: str, value: str) -> VerifierSpec:
    """The android verifier, looking at one setting."""
    return VerifierSpec(name="android", settings={"settings": {name: value}})


def find(tree: str, wanted: Tap) -> Touch:
    """A touch of what bears the label; of several, of the one that is whole and the last to be drawn.

    Raises:
        InfrastructureError: nothing on the screen does; says what does.
    """
    found = [match for line in tree.splitlines() if (match := _LINE.match(line)) and (match[1] or match[2])]
    fitting = [match for match in found if wanted.label in (match[1], match[2])]
    if not fitting:
        labels = ", ".join(repr(match[1] or match[2]) for match in found)
        raise InfrastructureError(f"nothing on the screen is called {wanted.label!r}; there are {labels}")
    left, top, right, bottom = (int(number) for number in fitting[-1].groups()[2:])
    # the edge itself belongs to what is beside it
    x = min(max(round(left + (right - left) * wanted.share), left), right - 1)
    return Touch(x=x, y=(top + bottom) // 2)
