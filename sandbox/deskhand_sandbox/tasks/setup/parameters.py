"""What the parameters of set-up steps may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of parameter."""

    wanted: str
    """In words, for an error."""
    fits: Callable[[object], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and "\0" not in value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, cast("list[object]", value)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 600


def files(*names: str) -> Kind:
    """A list of files, each with these texts."""

    def fits(value: object) -> bool:
        return isinstance(value, list) and all(map(_is_file, cast("Sequence[object]", value)))

    def _is_file(value: object) -> bool:
        return isinstance(value, Mapping) and all(
            _is_text(cast("Mapping[str, object]", value).get(name)) for name in names
        )

    return Kind(f"a list of mappings with {' and '.join(names)}", fits)


TEXT = Kind("text", _is_text)
TEXTS = Kind("a list of texts", _is_texts)
COMMAND = Kind("a command: text or a list of words", lambda value: _is_text(value) or _is_texts(value))
FLAG = Kind("true or false", lambda value: isinstance(value, bool))
NUMBER = Kind("a number from 0 to 600", _is_number)
MAP = Kind("a mapping", lambda value: isinstance(value, Mapping))
