"""Reading a config record from a mapping (JSON, YAML): every mistake is named with its field.

A record is a frozen dataclass. Its annotations are the types; `field(metadata=bounds(low, high))` is the
range. Numbers are not taken from strings, nor booleans for numbers.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import types
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from deskhand_trainer.errors import ConfigError

T = TypeVar("T")


def bounds(low: float | None = None, high: float | None = None) -> dict[str, float | None]:
    """Metadata of a field whose number (or the numbers of whose tuple) must lie in [low, high]."""
    return {"low": low, "high": high}


def parse_config(cls: type[T], given: Mapping[str, Any], *, path: str = "") -> T:
    """Make the config record `cls` from a mapping of its fields.

    Args:
        cls: a dataclass.
        given: field name to value; fields left out keep their defaults.
        path: where in a larger tree the record stands, for messages ("ppo.").

    Raises:
        ConfigError: an unknown field (with the nearest known one), a missing one, a wrong type, a value
            out of range, or a combination the record itself refuses.
    """
    fields = {f.name: f for f in dataclasses.fields(cast(Any, cls)) if f.init}
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in fields:
            said = f"unknown field {path + str(name)!r}{nearest(str(name), fields)}"
            raise ConfigError(said, path + str(name))
        values[name] = _coerce(hints[name], value, path + name)
        _check_range(fields[name], values[name], path + name)
    for name, f in fields.items():
        required = f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        if required and name not in values:
            raise ConfigError(f"field {path + name!r} is missing", path + name)
    try:
        return cls(**values)
    except ValueError as error:
        where = f"field {path.rstrip('.')!r}: " if path else ""
        raise ConfigError(f"{where}{error}", _blamed(path, str(error), fields)) from error


def changed(record: Any) -> frozenset[str]:
    """Fields of a config record, each with a default, that have another value than that."""
    usual = {
        f.name: f.default if f.default_factory is dataclasses.MISSING else f.default_factory()
        for f in dataclasses.fields(record)
    }
    return frozenset(name for name, value in usual.items() if getattr(record, name) != value)


def _blamed(path: str, said: str, fields: Iterable[str]) -> str:
    """The field that a record's own refusal begins with, else the record."""
    first = said.replace(":", " ").split(maxsplit=1)[0]
    return path + first if first in fields else path.rstrip(".")


def nearest(name: str, fields: Iterable[str]) -> str:
    """What follows a name that is not there: those that come near, else all."""
    fields = sorted(fields)
    near = difflib.get_close_matches(name, fields, n=2, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are: {', '.join(fields)}"


def _coerce(hint: Any, value: Any, path: str) -> Any:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _coerce_union(get_args(hint), value, path)
    if origin is Literal:
        if value not in get_args(hint) or isinstance(value, bool):
            raise _wrong(path, " or ".join(repr(a) for a in get_args(hint)), value)
        return value
    if origin is tuple:
        return _coerce_tuple(get_args(hint), value, path)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise _wrong(path, "a mapping", value)
        item = get_args(hint)[1]
        pairs = cast("Mapping[str, Any]", value)
        return {str(k): _coerce(item, v, f"{path}.{k}") for k, v in pairs.items()}
    if dataclasses.is_dataclass(hint):
        if isinstance(value, cast(type, hint)):
            return value
        if not isinstance(value, Mapping):
            raise _wrong(path, "a mapping of fields", value)
        return parse_config(cast("type[Any]", hint), cast("Mapping[str, Any]", value), path=path + ".")
    return _coerce_scalar(hint, value, path)


def _coerce_union(options: tuple[Any, ...], value: Any, path: str) -> Any:
    if value is None and type(None) in options:
        return None
    wanted: list[str] = []
    for option in options:
        if option is type(None):
            continue
        try:
            return _coerce(option, value, path)
        except ConfigError as error:
            wanted.append(str(error).split("must be ", 1)[-1].split(", got", 1)[0])
    raise _wrong(path, " or ".join(wanted), value)


def _coerce_tuple(args: tuple[Any, ...], value: Any, path: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(path, "a list", value)
    items = list(cast("list[Any]", value))
    if len(args) == 2 and args[1] is Ellipsis:
        return tuple(_coerce(args[0], v, f"{path}[{i}]") for i, v in enumerate(items))
    if len(items) != len(args):
        raise _wrong(path, f"a list of {len(args)}", value)
    return tuple(_coerce(a, v, f"{path}[{i}]") for i, (a, v) in enumerate(zip(args, items, strict=True)))


def _coerce_scalar(hint: Any, value: Any, path: str) -> Any:
    if hint is bool:
        ok = isinstance(value, bool)
    elif hint is int:
        ok = isinstance(value, int) and not isinstance(value, bool)
    elif hint is float:
        ok = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        value = float(value) if ok else value
    elif hint is str:
        ok = isinstance(value, str)
    else:
        raise TypeError(f"config field {path} has a type this parser does not know: {hint}")
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a string"}
    if not ok:
        raise _wrong(path, names[hint], value)
    return value


def _check_range(field: dataclasses.Field[Any], value: Any, path: str) -> None:
    low, high = field.metadata.get("low"), field.metadata.get("high")
    numbers = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        if (low is not None and number < low) or (high is not None and number > high):
            raise ConfigError(f"field {path!r} must be {_span(low, high)}, got {number}", path)


def _span(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}"


def _wrong(path: str, wanted: str, value: Any) -> ConfigError:
    return ConfigError(f"field {path!r} must be {wanted}, got {value!r}", path)
