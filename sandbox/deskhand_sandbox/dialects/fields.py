"""The fields of an object somebody else wrote, taken one by one; what is left over at the end is an error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from deskhand_sandbox.dialects.coordinates import Position
from deskhand_sandbox.errors import InvalidAction, UnknownName

T = TypeVar("T")

MAX_NUMBER = 10**9
"""Nothing on a screen or a clock is larger."""


def as_object(source: object) -> object:
    """What a source says: JSON is read where it is text.

    Raises:
        InvalidAction: the text is no JSON.
    """
    if not isinstance(source, str | bytes):
        return source
    try:
        return cast("object", json.loads(source))
    except (ValueError, RecursionError) as error:
        raise InvalidAction(f"the action is no JSON: {error}") from None


class Fields:
    """The fields of one object; None counts as absent."""

    def __init__(self, what: str, values: object) -> None:
        """
        Args:
            what: the object's kind, for messages.

        Raises:
            InvalidAction: it is no object.
        """
        self.what = what
        if not isinstance(values, Mapping):
            raise InvalidAction(f"{what} must be an object with fields, not {shown(values)}")
        given = cast("Mapping[object, object]", values)
        if not all(isinstance(name, str) for name in given):
            raise InvalidAction(f"the fields of {what} must have texts for names")
        self._left = {
            name: value for name, value in cast("Mapping[str, object]", given).items() if value is not None
        }
        self._asked: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether the field is there and not taken yet."""
        self._asked.add(name)
        return name in self._left

    def take(self, name: str) -> object:
        """The field's value, whatever it is; None when absent."""
        self._asked.add(name)
        return self._left.pop(name, None)

    def text(self, name: str, default: str | None = None) -> str:
        """A text."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.fail(name, "a text", value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; empty when absent."""
        value = self.take(name)
        items = cast("list[object]", value) if isinstance(value, list | tuple) else [value]
        if value is None:
            return ()
        if not all(isinstance(item, str) for item in items):
            raise self.fail(name, "a list of texts", value)
        return tuple(cast("list[str]", items))

    def number(self, name: str, default: float | None = None) -> float:
        """A number."""
        value = self.take(name)
        if value is None and default is not None:
            return default
        return self._number(name, value)

    def whole(self, name: str, default: int | None = None, *, least: int = -MAX_NUMBER) -> int:
        """A whole number of at least `least`."""
        value = self.number(name, default)
        if value != int(value) or value < least:
            limit = f" of at least {least}" if least > -MAX_NUMBER else ""
            raise self.fail(name, f"a whole number{limit}", value)
        return int(value)

    def choice(self, name: str, choices: Mapping[str, T], default: str | None = None) -> T:
        """What one of several words stands for.

        Raises:
            InvalidAction: another word; says the nearest.
        """
        word = self.text(name, default)
        if word not in choices:
            raise InvalidAction(f"{self.what}: {UnknownName(name, word, choices)}")
        return choices[word]

    def position(self, name: str) -> Position:
        """A point, written [x, y] or {"x": x, "y": y}."""
        x, y = self.numbers(name, 2)
        return x, y

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """A list of so many numbers."""
        value = self.take(name)
        if isinstance(value, Mapping):
            point = cast("Mapping[object, object]", value)
            value = [point.get("x"), point.get("y")] if set(point) == {"x", "y"} else None
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            raise self.fail(name, f"a list of {count} numbers", value)
        items = cast("Sequence[object]", value)
        if len(items) != count:
            raise self.fail(name, f"a list of {count} numbers", items)
        return tuple(self._number(name, item) for item in items)

    def done(self) -> None:
        """Nothing is left.

        Raises:
            InvalidAction: a field nobody asked for; says the nearest that exist.
        """
        for name in self._left:
            raise InvalidAction(f"{self.what}: {UnknownName('field', name[:60], self._asked)}")

    def fail(self, name: str, wanted: str, value: object) -> InvalidAction:
        """The error that says what a field should have been."""
        return InvalidAction(f"{name} of {self.what} must be {wanted}, not {shown(value)}")

    def _number(self, name: str, value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.fail(name, "a number", value)
        if not -MAX_NUMBER <= value <= MAX_NUMBER:
            raise InvalidAction(f"{name} of {self.what} must be a number up to {MAX_NUMBER}")
        return value


def shown(value: object) -> str:
    """A value for a message: in short, and whatever it is."""
    if value is None:
        return "nothing"
    # the digits of a whole number may be too many to write
    return (
        f"{value!r:.60}"
        if isinstance(value, str | float | bool)
        else f"a value of type {type(value).__name__}"
    )
