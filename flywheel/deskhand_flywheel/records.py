"""Dataclasses to JSON and back, exactly, driven by their annotations.

A union of dataclasses carries the member's name in "type". Enums are their values, tuples are lists, mappings
are objects. `Image.data` is never written: a picture is referred to by its digest.

What is written with `dumps` carries the schema version; `loads` refuses another one. A field added later with
a default reads old rows; anything else is a new version with a converter here.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from deskhand_agent.types import SCHEMA_VERSION
from deskhand_flywheel.errors import MalformedRecord, UnknownSchemaVersion
from deskhand_sandbox.types import Image, JsonValue

T = TypeVar("T")
Encode = Callable[[Any], JsonValue]
Decode = Callable[[Any], Any]
Codec = tuple[Encode, Decode]

_NOT_WRITTEN: Mapping[type, frozenset[str]] = {Image: frozenset({"data"})}


def dumps(record: object) -> str:
    """A record as JSON text with its schema version; ASCII, so that any text survives any database."""
    envelope = {"schema_version": SCHEMA_VERSION, "record": encode(record)}
    return json.dumps(envelope, separators=(",", ":"))


def loads(kind: type[T], text: str) -> T:
    """The record `dumps` wrote.

    Raises:
        UnknownSchemaVersion: it was written in a form this version cannot read.
        MalformedRecord: the text does not hold a `kind`.
    """
    try:
        envelope = json.loads(text)
        version = envelope["schema_version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise MalformedRecord(f"a stored {kind.__name__} is not readable: {error!r}") from error
    if version != SCHEMA_VERSION:
        raise UnknownSchemaVersion(kind.__name__, version, SCHEMA_VERSION)
    return decode(kind, envelope.get("record"))


def encode(record: object) -> JsonValue:
    """A dataclass as a JSON value, without schema version."""
    return _codec(type(record))[0](record)


def decode(kind: type[T], value: JsonValue) -> T:
    """The dataclass, or the union of dataclasses (`Action`), that `encode` wrote.

    Raises:
        MalformedRecord: the value does not have the shape of `kind`; says where.
    """
    try:
        return cast(T, _codec(kind)[1](value))
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise MalformedRecord(f"not a {name}: {error!r}") from error


def encode_action(action: object) -> JsonValue:
    """An action with its name in "type", as it stands inside a decision."""
    return {"type": _tag(type(action)), **cast(dict[str, JsonValue], encode(action))}


def finite(value: JsonValue) -> JsonValue:
    """A JSON value with None for the figures that only Python takes for JSON: NaN and infinities."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [finite(item) for item in value]
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return value


@cache
def _codec(kind: Any) -> Codec:
    if kind is JsonValue or kind is Any:
        return _plain, _plain
    if is_dataclass(kind):
        return _record_codec(cast(type, kind))
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_codec(arguments)
    if origin is tuple:
        return _tuple_codec(arguments)
    if origin in (Mapping, dict):
        return _mapping_codec(_value_type(arguments))
    if origin is Literal:
        return _plain, _choice(arguments)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return (lambda value: value.value), kind
    return _scalar_codec(kind)


def _plain(value: Any) -> Any:
    return value


def _scalar_codec(kind: Any) -> Codec:
    if kind is str:
        return str, _checked(str)
    if kind is bool:
        return bool, _checked(bool)
    if kind is int:
        return int, _checked(int)
    if kind is float:
        return float, _number
    raise TypeError(f"records cannot hold a {kind}")


def _checked(kind: type) -> Decode:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"expected {kind.__name__}, found {value!r:.80}")
        return value

    return check


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise TypeError(f"expected a number, found {value!r:.80}")
    return float(value)


def _choice(allowed: tuple[Any, ...]) -> Decode:
    def check(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"expected one of {allowed}, found {value!r:.80}")
        return value

    return check


def _tuple_codec(arguments: tuple[Any, ...]) -> Codec:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        put, get = _codec(arguments[0])

        def check(value: Any) -> tuple[Any, ...]:
            if not isinstance(value, list):
                raise TypeError(f"expected a list, found {value!r:.80}")
            return tuple(map(get, cast("list[Any]", value)))

        return (lambda values: list(map(put, values))), check
    parts = [_codec(argument) for argument in arguments]

    def encode_fixed(values: Any) -> JsonValue:
        return [put(value) for (put, _), value in zip(parts, values, strict=True)]

    def decode_fixed(values: Any) -> tuple[Any, ...]:
        return tuple(get(value) for (_, get), value in zip(parts, values, strict=True))

    return encode_fixed, decode_fixed


def _value_type(arguments: tuple[Any, ...]) -> Any:
    value = arguments[1]
    # `JsonValue` names itself, so its evaluated form is never one of the simple types
    return value if value in (str, int, float, bool) else Any


def _mapping_codec(value: Any) -> Codec:
    put, get = _codec(value)

    def encode_mapping(mapping: Any) -> JsonValue:
        return {str(key): put(item) for key, item in mapping.items()}

    def decode_mapping(mapping: Any) -> dict[str, Any]:
        return {key: get(item) for key, item in mapping.items()}

    return encode_mapping, decode_mapping


def _union_codec(members: tuple[Any, ...]) -> Codec:
    present = [member for member in members if member is not type(None)]
    put, get = _codec(present[0]) if len(present) == 1 else _tagged_codec(present)
    if len(present) == len(members):
        return put, get
    return (
        lambda value: None if value is None else put(value),
        lambda value: None if value is None else get(value),
    )


def _tagged_codec(members: list[Any]) -> Codec:
    by_tag = {_tag(member): member for member in members}

    def get(value: Any) -> Any:
        content = dict(value)
        tag = content.pop("type", None)
        if tag not in by_tag:
            raise ValueError(f"no {tag!r} among {', '.join(sorted(by_tag))}")
        return _codec(by_tag[tag])[1](content)

    return encode_action, get


def _tag(member: type) -> str:
    """`TypeText` is "type_text"."""
    name = member.__name__
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _record_codec(kind: type) -> Codec:
    hints = get_type_hints(kind)
    skipped = _NOT_WRITTEN.get(kind, frozenset())
    members: list[tuple[str, Codec]] = []
    required: set[str] = set()
    for member in fields(cast(Any, kind)):
        if member.name in skipped:
            continue
        members.append((member.name, _codec(hints[member.name])))
        if _required(member):
            required.add(member.name)
    names = frozenset(name for name, _ in members)

    def put(record: Any) -> JsonValue:
        return {name: codec[0](getattr(record, name)) for name, codec in members}

    def get(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"expected a {kind.__name__}, found {value!r:.80}")
        found = set(cast("dict[str, Any]", value))
        if found - names or required - found:
            wrong = sorted(found - names) or sorted(required - found)
            raise KeyError(f"{kind.__name__}: unknown or missing {', '.join(wrong)}")
        return kind(**{name: codec[1](value[name]) for name, codec in members if name in value})

    return put, get


def _required(member: Field[Any]) -> bool:
    return member.default is MISSING and member.default_factory is MISSING
