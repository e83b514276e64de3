"""The records of a sandbox as msgpack: tagged, versioned, checked field by field when they come in.

A record is a map of its fields with its name under "". Only the records in `RECORDS` exist on the wire; a
field that is missing takes its default, an unknown one is refused. Bytes stay bytes. `VERSION` goes up with
every change that an older reader cannot read; both ends say theirs when a channel opens (`PROTOCOL`).
"""

from __future__ import annotations

import ast
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Any, TypeAlias, cast

import msgpack

from deskhand_sandbox import errors
from deskhand_sandbox import types as words
from deskhand_sandbox.manager.extras import EXTRAS, RecordedFile
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.vnc import VncAddress

VERSION = 1
PROTOCOL = f"deskhand-io-{VERSION}"
"""WebSocket subprotocol of a lease's channel."""

TAG = ""
"""Key of a record's name: no field is called so."""

RECORDS: dict[str, type[Any]] = {
    record.__name__: record
    for record in (
        *typing.get_args(words.DeviceAction),
        *typing.get_args(words.ControlAction),
        words.Image,
        words.Observation,
        words.Start,
        words.StepReward,
        words.Outcome,
        words.Limits,
        words.EnvironmentSpec,
        words.VerifierSpec,
        words.Task,
        *EXTRAS,
        RecordedFile,
        VncAddress,
    )
}
"""Everything that may travel, by its name on the wire."""

BIG_INTEGER = 1
"""msgpack extension: an integer beyond 64 bits, as decimal text."""
MAX_DEPTH = 64
"""Nesting of a JSON value that is carried."""

Plain: TypeAlias = (
    "bool | int | float | str | bytes | list[Plain] | dict[str, Plain] | msgpack.ExtType | None"
)
"""What msgpack packs."""
Reader = Callable[[object, str], Any]
"""Checks a plain value and makes the field's value of it; the text says where, for the error."""


class WireError(errors.SandboxError):
    """Bytes that are no message of this format, or a value that cannot be carried."""


# ---- bytes ------------------------------------------------------------------------------------------


def pack(value: Plain) -> bytes:
    """Plain values as bytes.

    Raises:
        WireError: the value is nested too deeply.
    """
    try:
        return msgpack.packb(value, unicode_errors="surrogatepass")
    except (ValueError, TypeError, OverflowError) as error:
        raise WireError(f"this cannot be sent: {error}") from error


def unpack(data: bytes) -> Any:
    """Bytes as plain values.

    Raises:
        WireError: they are not msgpack.
    """
    try:
        return msgpack.unpackb(data, unicode_errors="surrogatepass", ext_hook=_extension)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise WireError(f"not a message of {PROTOCOL}: {error or type(error).__name__}") from error


def _extension(code: int, data: bytes) -> int:
    if code != BIG_INTEGER or len(data) > 4000:
        raise WireError(f"unknown extension {code} of {len(data)} bytes")
    return int(data)


# ---- records ----------------------------------------------------------------------------------------


def encode(record: object) -> dict[str, Plain]:
    """A record as plain values.

    Raises:
        WireError: it is none of `RECORDS`, or holds something that cannot be carried.
    """
    name = type(record).__name__
    if RECORDS.get(name) is not type(record):
        raise WireError(f"a {name} cannot be sent")
    plain: dict[str, Plain] = {TAG: name}
    for field in _fields(type(record)):
        value = getattr(record, field.name)
        if not field.optional or value != field.default:
            plain[field.name] = _encode_value(value, 0)
    return plain


def decode(plain: object, *expected: type[Any]) -> Any:
    """The record in plain values, checked.

    Args:
        expected: the records that are welcome here; any when none is named.

    Raises:
        WireError: it is not such a record; says which field is wrong.
    """
    if not isinstance(plain, dict):
        raise WireError(f"a record is a map, not {type(plain).__name__}")
    values = dict(cast("dict[str, object]", plain))
    name = values.pop(TAG, None)
    record = RECORDS.get(name) if isinstance(name, str) else None
    if record is None or (expected and record not in expected):
        wanted = " or ".join(each.__name__ for each in expected[:6]) if expected else "a known record"
        raise WireError(f"expected {wanted}, not {name!r}")
    arguments: dict[str, Any] = {}
    for field in _fields(record):
        if field.name in values:
            arguments[field.name] = field.read(values.pop(field.name), f"{name}.{field.name}")
        elif not field.optional:
            raise WireError(f"{name}.{field.name} is missing")
    if values:
        raise WireError(f"{name} has no field {', '.join(map(repr, list(values)[:3]))}")
    return record(**arguments)


def encode_value(value: object) -> Plain:
    """A record, a plain value, or several of them, as plain values.

    Raises:
        WireError: it holds something that cannot be carried.
    """
    return _encode_value(value, 0)


def decode_value(plain: object, depth: int = 0) -> object:
    """What `encode_value` was given: records as they were, several as a tuple.

    Raises:
        WireError: it holds something that is not carried, or is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise WireError(f"values nested deeper than {MAX_DEPTH}")
    match plain:
        case None | bool() | int() | float() | str() | bytes():
            return plain
        case list():
            return tuple(decode_value(each, depth + 1) for each in cast("list[object]", plain))
        case _:
            return decode(plain)


def _encode_value(value: object, depth: int) -> Plain:
    if depth > MAX_DEPTH:
        raise WireError(f"values nested deeper than {MAX_DEPTH} cannot be sent")
    match value:
        case None | bool() | float() | str() | bytes():
            return value
        case int():
            return value if -(2**63) <= value < 2**64 else msgpack.ExtType(BIG_INTEGER, str(value).encode())
        case list() | tuple():
            return [_encode_value(each, depth + 1) for each in cast("list[object]", value)]
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {_text(key, "a key"): _encode_value(each, depth + 1) for key, each in items}
        case _:
            return encode(value)


def encode_json(value: JsonValue) -> Plain:
    """A JSON value as plain values.

    Raises:
        WireError: nested too deeply.
    """
    return _encode_value(value, 0)


def decode_json(plain: object, where: str = "value", depth: int = 0) -> JsonValue:
    """A JSON value in plain values, checked.

    Raises:
        WireError: it holds something that JSON has not, or is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise WireError(f"{where} is nested deeper than {MAX_DEPTH}")
    match plain:
        case None | bool() | int() | float() | str():
            return plain
        case list():
            return [decode_json(each, where, depth + 1) for each in cast("list[object]", plain)]
        case dict():
            items = cast("dict[object, object]", plain).items()
            return {_text(key, where): decode_json(each, where, depth + 1) for key, each in items}
        case _:
            raise WireError(f"{where} holds a {type(plain).__name__}, which JSON has not")


# ---- fields -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    read: Reader
    optional: bool
    default: object


@cache
def _fields(record: type[Any]) -> tuple[_Field, ...]:
    made: list[_Field] = []
    for field in fields(record):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        made.append(_Field(field.name, _reader(str(field.type)), default is not MISSING, default))
    return tuple(made)


def _reader(annotation: str) -> Reader:
    """How a field is checked that is annotated so in `types.py`."""
    if annotation in RECORDS:
        return lambda plain, where: decode(plain, RECORDS[annotation])
    if annotation.startswith("Literal["):
        return _one_of(ast.literal_eval(f"({annotation[len('Literal[') : -1]},)"))
    if annotation not in READERS:
        raise TypeError(f"no reader for a field of type {annotation!r}: add one to READERS")
    return READERS[annotation]


def _wrong(plain: object, where: str, wanted: str) -> WireError:
    return WireError(f"{where} must be {wanted}, not {str(plain)[:40]!r}")


def _integer(plain: object, where: str) -> int:
    if isinstance(plain, bool) or not isinstance(plain, int):
        raise _wrong(plain, where, "a whole number")
    return plain


def _number(plain: object, where: str) -> float:
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise _wrong(plain, where, "a number")
    try:
        return float(plain)
    except OverflowError as error:
        raise _wrong("an integer beyond any float", where, "a number") from error


def _truth(plain: object, where: str) -> bool:
    if not isinstance(plain, bool):
        raise _wrong(plain, where, "true or false")
    return plain


def _text(plain: object, where: str) -> str:
    if not isinstance(plain, str):
        raise _wrong(plain, where, "text")
    return plain


def _bytes(plain: object, where: str) -> bytes:
    if not isinstance(plain, bytes):
        raise _wrong(type(plain).__name__, where, "bytes")
    return plain


def _list(plain: object, where: str) -> list[object]:
    if not isinstance(plain, list):
        raise _wrong(plain, where, "a list")
    return cast("list[object]", plain)


def _map(plain: object, where: str) -> dict[object, object]:
    if not isinstance(plain, dict):
        raise _wrong(plain, where, "a map")
    return cast("dict[object, object]", plain)


def _integers(count: int) -> Reader:
    def read(plain: object, where: str) -> tuple[int, ...]:
        numbers = tuple(_integer(each, where) for each in _list(plain, where))
        if len(numbers) != count:
            raise _wrong(plain, where, f"a list of {count} whole numbers")
        return numbers

    return read


def _points(plain: object, where: str) -> tuple[words.Point, ...]:
    points = [_list(each, where) for each in _list(plain, where)]
    if any(len(each) != 2 for each in points):
        raise _wrong(plain, where, "a list of points [x, y]")
    return tuple((_integer(x, where), _integer(y, where)) for x, y in points)


def _texts(plain: object, where: str) -> tuple[str, ...]:
    return tuple(_text(each, where) for each in _list(plain, where))


def _json_map(plain: object, where: str) -> dict[str, JsonValue]:
    return {_text(key, where): decode_json(value, where) for key, value in _map(plain, where).items()}


def _text_map(plain: object, where: str) -> dict[str, str]:
    return {_text(key, where): _text(value, where) for key, value in _map(plain, where).items()}


def _one_of(choices: tuple[object, ...]) -> Reader:
    def read(plain: object, where: str) -> object:
        if plain not in choices:
            raise _wrong(plain, where, f"one of {', '.join(map(str, choices))}")
        return plain

    return read


def _or_none(read: Reader) -> Reader:
    return lambda plain, where: None if plain is None else read(plain, where)


READERS: dict[str, Reader] = {
    "int": _integer,
    "float": _number,
    "bool": _truth,
    "str": _text,
    "int | None": _or_none(_integer),
    "str | None": _or_none(_text),
    "bytes | None": _or_none(_bytes),
    "Button": _one_of(typing.get_args(words.Button)),
    "Point": _integers(2),
    "Region | None": _or_none(_integers(4)),
    "tuple[Point, ...]": _points,
    "tuple[str, ...]": _texts,
    "Mapping[str, JsonValue]": _json_map,
    "Mapping[str, str]": _text_map,
}
"""By the annotation in `types.py`."""
