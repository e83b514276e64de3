"""The bare syntax of action calls: `name(key='text', other=5)`, without their meaning.

A value is a quoted string with backslash escapes, a number, or a JSON list or object. Scanning is linear and
raises nothing but `CallSyntaxError`. The agent's own grammar and UI-TARS's are written in it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import JsonValue

Value: TypeAlias = "str | int | float | list[JsonValue] | dict[str, JsonValue]"

_BLANK = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,30})?(?:[eE][+-]?\d{1,3})?")
_PLAIN = {"'": re.compile(r"[^'\\]*"), '"': re.compile(r'[^"\\]*')}
_HEX_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_SHORT_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": "\n"}
_NEEDS_ESCAPE = re.compile(r"[\\'\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_NO_HALF = "texts without half a surrogate pair"
_WRITTEN = {"\\": r"\\", "'": r"\'", "\n": r"\n", "\t": r"\t", "\r": r"\r"}


class CallSyntaxError(InvalidAction):
    """The text holds no calls; says what was found and what was expected."""

    def __init__(self, message: str, *, position: int = 0, expected: str = "") -> None:
        super().__init__(message)
        self.position = position
        """Index into the text where reading stopped."""
        self.expected = expected
        """What would have been right there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One call as written."""

    name: str
    arguments: Mapping[str, Value]
    position: int
    """Where it begins in the text, for error messages."""


def scan_calls(text: str, start: int = 0) -> list[Call]:
    """Every call from `start` to the end of the text, separated by nothing but white space.

    Raises:
        CallSyntaxError: anything else is there, or no call at all.
    """
    calls: list[Call] = []
    position = _skip(text, start)
    while position < len(text):
        call, position = scan_call(text, position)
        calls.append(call)
        position = _skip(text, position)
    if not calls:
        _expected(text, position, "an action such as click(point='<point>x y</point>')")
    return calls


def write_call(call: str, /, **arguments: Value) -> str:
    """The call as text; `scan_calls` reads exactly this back."""
    return f"{call}({', '.join(f'{key}={_write_value(value)}' for key, value in arguments.items())})"


def _write_value(value: Value) -> str:
    if isinstance(value, str):
        return f"'{_NEEDS_ESCAPE.sub(_escape, value)}'"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _WRITTEN.get(character) or f"\\u{ord(character):04x}"


def scan_call(text: str, position: int) -> tuple[Call, int]:
    """The call that begins at a position, and where the text goes on.

    Raises:
        CallSyntaxError: none begins there, or it is not whole.
    """
    start = position
    name = _NAME.match(text, position)
    if name is None:
        _expected(text, position, "the name of an action")
    position = _token(text, _skip(text, name.end()), "(")
    arguments: dict[str, Value] = {}
    while not text.startswith(")", position):
        key, value, after = _scan_argument(text, position)
        if key in arguments:
            _expected(text, position, f"{key} only once")
        arguments[key] = value
        position = _skip(text, after)
        if text.startswith(",", position):
            position = _skip(text, position + 1)
        elif not text.startswith(")", position):
            _expected(text, position, "',' or ')'")
    return Call(name=name.group(), arguments=arguments, position=start), position + 1


def _scan_argument(text: str, position: int) -> tuple[str, Value, int]:
    key = _NAME.match(text, position)
    if key is None:
        _expected(text, position, "name=value or ')'")
    position = _skip(text, _token(text, _skip(text, key.end()), "="))
    value, position = _scan_value(text, position)
    return key.group(), value, position


def _scan_value(text: str, position: int) -> tuple[Value, int]:
    first = text[position : position + 1]
    if first in ("'", '"'):
        return _scan_string(text, position)
    if first in ("[", "{"):
        return _scan_json(text, position)
    number = _NUMBER.match(text, position)
    if number is None:
        _expected(text, position, "a quoted text, a number, [...] or {...}")
    digits = number.group()
    return (int(digits) if digits.lstrip("-").isdigit() else float(digits)), number.end()


def _scan_string(text: str, position: int) -> tuple[str, int]:
    quote, parts = text[position], list[str]()
    position += 1
    while True:
        plain = _PLAIN[quote].match(text, position)
        assert plain is not None  # the pattern matches the empty text too
        parts.append(plain.group())
        position = plain.end()
        if text.startswith(quote, position):
            return _joined(text, position, parts), position + 1
        if position + 1 >= len(text):
            _expected(text, len(text), f"a closing {quote}")
        escaped, position = _scan_escape(text, position)
        parts.append(escaped)


def _scan_escape(text: str, position: int) -> tuple[str, int]:
    numeric = _HEX_ESCAPE.match(text, position)
    if numeric is not None:
        code = int(next(group for group in numeric.groups() if group), 16)
        if code > 0x10FFFF:
            _expected(text, position, "a code point up to U+10FFFF")
        return chr(code), numeric.end()
    escaped = text[position + 1]
    # an unknown escape is kept as written: models type Windows paths and regular expressions
    return _SHORT_ESCAPES.get(escaped, f"\\{escaped}"), position + 2


def _joined(text: str, position: int, parts: list[str]) -> str:
    """The parts as one text, with surrogate pairs written as two escapes made one character."""
    joined = "".join(parts)
    if joined.isascii():
        return joined
    try:
        return joined.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        _expected(text, position, _NO_HALF)


def _scan_json(text: str, position: int) -> tuple[list[JsonValue] | dict[str, JsonValue], int]:
    try:
        value, end = _DECODER.raw_decode(text, position)
        written = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError) as error:
        where = error.pos if isinstance(error, json.JSONDecodeError) else position
        _expected(text, where, "JSON")
    if _SURROGATE.search(written):
        _expected(text, position, _NO_HALF)
    return value, end


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is beyond every number that JSON's readers know")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def _token(text: str, position: int, token: str) -> int:
    if not text.startswith(token, position):
        _expected(text, position, f"{token!r}")
    return _skip(text, position + len(token))


def _skip(text: str, position: int) -> int:
    blank = _BLANK.match(text, position)
    assert blank is not None  # the pattern matches the empty text too
    return blank.end()


def _expected(text: str, position: int, expected: str) -> NoReturn:
    found = repr(text[position : position + 20]) if position < len(text) else "the end"
    raise CallSyntaxError(
        f"expected {expected} at position {position}, found {found}", position=position, expected=expected
    )
