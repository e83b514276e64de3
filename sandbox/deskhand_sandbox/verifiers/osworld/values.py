"""What getters give and metrics take."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar, cast

from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue


@dataclass(frozen=True, slots=True)
class File:
    """A file by its content."""

    name: str
    data: bytes = field(repr=False)


Value: TypeAlias = "JsonValue | File | list[File | None]"
"""None: there is no such thing in the sandbox."""


class Unusable(Exception):
    """What the agent left cannot be compared: it is missing, or no file of its kind. It scores 0."""


def text_of(value: Value) -> str:
    """The text of a value, a file read as UTF-8.

    Raises:
        Unusable: there is none.
    """
    if value is None:
        raise Unusable("there is nothing")
    if isinstance(value, File):
        try:
            return value.data.decode()
        except UnicodeDecodeError as error:
            raise Unusable(f"{value.name} is no text") from error
    if isinstance(value, list | dict):
        raise Unusable(f"there is a {type(value).__name__} where text is wanted")
    return value if isinstance(value, str) else str(value)


def file_of(value: Value) -> File:
    """The file, of several the first.

    Raises:
        Unusable: there is none.
    """
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, File):
        raise Unusable("there is no file")
    return first


def files_of(value: Value) -> list[File]:
    """The files there are.

    Raises:
        Unusable: the first is missing.
    """
    first = file_of(value)
    others = cast("list[object]", value)[1:] if isinstance(value, list) else []
    return [first, *(each for each in others if isinstance(each, File))]


def mapping_of(value: Value, what: str) -> dict[str, JsonValue]:
    """A mapping of the task.

    Raises:
        VerifierError: it is none.
    """
    if not isinstance(value, dict):
        raise VerifierError(f"{what} must be a mapping, not {value!r}")
    return value


def number_of(value: JsonValue, what: str) -> float:
    """A number of the task; tasks write it as text, too.

    Raises:
        VerifierError: it is none.
    """
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise VerifierError(f"{what} must be a number, not {value!r}")
    return number


T = TypeVar("T")


def gold(read: Callable[[Value], T], expected: Value) -> T:
    """What the task brings for comparison, read.

    Raises:
        VerifierError: it cannot be: the task's fault, not the agent's.
    """
    try:
        return read(expected)
    except Unusable as error:
        raise VerifierError(f"what the task expects cannot be used: {error}") from error
