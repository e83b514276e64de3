"""Metrics of JSON, CSV and SQLite."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import operator
import sqlite3
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import yaml

from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options, wants
from deskhand_sandbox.verifiers.osworld.metrics.patterns import found
from deskhand_sandbox.verifiers.osworld.metrics.texts import rule, rule_list
from deskhand_sandbox.verifiers.osworld.values import Unusable, Value, file_of, gold, mapping_of, text_of

_NO_YAML = (yaml.YAMLError, ArithmeticError, AttributeError, LookupError, RecursionError, ValueError)
"""What PyYAML raises, plain errors where a value is none of its type, such as a 30th of February."""
QUERY_S = 5.0
"""How long a query of SQLite may take."""
QUERY_BYTES = 10_000_000
"""The longest text, blob or row of a query."""
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def holds(value: object, one: Mapping[str, JsonValue]) -> bool:
    """Whether a value is as a rule {method, ref} says.

    Raises:
        VerifierError: there is no such method, or what it compares with cannot be used.
    """
    method, ref = str(one.get("method", "eq")), one.get("ref")
    name, _, flag = method.partition(".")
    if name == "re":
        return found(str(ref), [str(value)], filter(None, flag.split(".")))
    if name == "approx" or method.startswith("approx:"):
        near, wanted = (_number(each) for each in (method.partition(":")[2] or "0", str(ref)))
        return isinstance(value, int | float) and abs(value - wanted) <= near
    if method in ("str_list_eq", "str_list_ne", "str_set_eq", "str_set_ne"):
        return _same_parts(str(value), str(ref), method)
    if name not in _ORDER:
        raise VerifierError(f"there is no method {method!r}: {', '.join(_ORDER)}, re, approx, str_list_eq …")
    try:
        return bool(_ORDER[name](value, ref))
    except TypeError:
        return False


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise VerifierError(f"the rule asks for about {text!r}, which is no number") from error


def _same_parts(value: str, ref: str, method: str) -> bool:
    one, two = value.split(","), ref.split(",")
    same = set(one) == set(two) if "set" in method else one == two
    return same is method.endswith("eq")


def check_json(result: Value, expected: Value, options: Options) -> float:
    """Every rule of `expect` holds of the value under its keys, and none of `unexpect`."""
    text = text_of(file_of(result))
    found = _yaml(text) if options.get("is_yaml") is True else _json(text)
    wanted = [(each, True) for each in rule_list(expected, "expect")]
    wanted += [(each, False) for each in rule_list(expected, "unexpect")]
    for one, held in wanted:
        checked = mapping_of(one, "a rule")
        there, value = _under(found, checked.get("key"))
        if (there and holds(value, checked)) is not held:
            return 0.0
    return 1.0


def _under(value: object, keys: JsonValue) -> tuple[bool, object]:
    for key in keys if isinstance(keys, list) else [keys]:
        if isinstance(value, Mapping) and key in value:
            value = cast("Mapping[object, object]", value)[key]
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = cast("list[object]", value)[key]
        else:
            return False, None
    return True, value


def check_json_settings(result: Value, expected: Value, options: Options) -> float:
    """Every setting that is expected has its value."""
    found, wanted = _mapping_in(result), mapping_of(rule(expected), "expected.rules.expected")
    return float(all(name in found and found[name] == value for name, value in wanted.items()))


def check_json_keybindings(result: Value, expected: Value, options: Options) -> float:
    """The binding that is expected is in the list."""
    found = _json(text_of(file_of(result)))
    return float(isinstance(found, list) and rule(expected) in found)


def check_direct_json_object(result: Value, expected: Value, options: Options) -> float:
    """Every name that is expected has its value; with `expect_in_result` holds it, or is one of several."""
    found = result if isinstance(result, dict) else _json(text_of(result).strip().replace("'", '"'))
    if not isinstance(found, dict):
        return 0.0
    held, wanted = cast("dict[str, JsonValue]", found), mapping_of(rule(expected), "expected.rules.expected")
    if mapping_of(expected, "expected.rules").get("expect_in_result") is not True:
        return float(all(held.get(name) == value for name, value in wanted.items()))
    return float(all(_within(held.get(name), value) for name, value in wanted.items()))


def _within(value: JsonValue, wanted: JsonValue) -> bool:
    if isinstance(wanted, list):
        return any(each in value if isinstance(value, list) else each == value for each in wanted)
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted in value
    return isinstance(value, list) and wanted in value


def is_included_all_json_objects(result: Value, expected: Value, options: Options) -> float:
    """Every name and value there is, and there are some, is among those expected."""
    found, wanted = _mapping_in(result), gold(_mapping_in, expected)
    return float(bool(found) and all(name in wanted and wanted[name] == found[name] for name in found))


def check_csv(result: Value, expected: Value, options: Options) -> float:
    """Each record of `expect` is there, and none of `unexpect`."""
    try:
        rows = list(csv.DictReader(io.StringIO(text_of(file_of(result)))))
    except csv.Error as error:
        raise Unusable(f"it is no CSV: {error}") from error

    def there(one: JsonValue) -> bool:
        wanted = mapping_of(one, "a record")
        return any(all(row.get(name) == str(value) for name, value in wanted.items()) for row in rows)

    held = all(map(there, rule_list(expected, "expect")))
    return float(held and not any(map(there, rule_list(expected, "unexpect"))))


def compare_csv(result: Value, expected: Value, options: Options) -> float:
    """The same lines; with `strict` false, but for blanks around them and their order."""
    ignore = options.get("ignore_case") is True
    strict = options.get("strict", True) is True

    def read(value: Value) -> list[str]:
        lines = text_of(file_of(value)).strip().splitlines()
        cleaned = [line.rstrip("\r") if strict else line.strip() for line in lines]
        cased = [line.lower() if ignore else line for line in cleaned]
        return cased if strict else sorted(cased)

    return float(read(result) == gold(read, expected))


def run_sqlite3(result: Value, expected: Value, options: Options) -> float:
    """What a query says of a database: its first value, 1 for done.

    Raises:
        VerifierError: the query does not end within `QUERY_S`, whatever it is asked of.
        Unusable: it fails of this database, does not end of it alone, or gives no number.
    """
    sql = str(rule(expected, "sql"))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "result.sqlite")
        place.write_bytes(file_of(result).data)
        try:
            row = _first_row(f"file:{place}?mode=ro", sql)
        except sqlite3.Error as error:
            _refuse_endless(sql, error)
            raise Unusable(f"the query fails: {_why(error)}") from error
    try:
        return float(row[0] or 0) if row else 0.0
    except ValueError as error:
        raise Unusable(f"the query gives no number: {row and row[0]!r:.100}") from error


def _first_row(uri: str, sql: str) -> tuple[Any, ...] | None:
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # VACUUM INTO would write beside it
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, QUERY_BYTES)
        end = time.monotonic() + QUERY_S
        connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        return connection.execute(sql).fetchone()


def _refuse_endless(sql: str, error: sqlite3.Error) -> None:
    """Blames the task for a query that was interrupted, where it does not end of an empty database either."""
    if not _interrupted(error):
        return
    try:
        _first_row("file::memory:", sql)
    except sqlite3.Error as again:
        if _interrupted(again):
            raise VerifierError(f"the query of the task has {_why(again)}") from again


def _interrupted(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT


def _why(error: sqlite3.Error) -> str:
    return f"no end within {QUERY_S:g} s" if _interrupted(error) else str(error)


def _mapping_in(value: Value) -> dict[str, JsonValue]:
    found = _json(text_of(file_of(value)))
    if not isinstance(found, dict):
        raise Unusable("it is no JSON object")
    return cast("dict[str, JsonValue]", found)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable(f"it is no JSON: {error}") from error


def _yaml(text: str) -> object:
    try:
        return yaml.safe_load(text)
    except _NO_YAML as error:
        raise Unusable("it is no YAML") from error


def _sql(rules: JsonValue, options: Options) -> None:
    if isinstance(rules, Mapping) and not isinstance(rules.get("sql"), str):
        raise InvalidTask("evaluator.expected.rules must hold sql: a query")


METRICS: Mapping[str, Metric] = {
    "check_csv": Metric(check_csv, wants("expect", "unexpect")),
    "check_direct_json_object": Metric(check_direct_json_object, wants("expected")),
    "check_json": Metric(check_json, wants("expect", "unexpect")),
    "check_json_keybindings": Metric(check_json_keybindings, wants("expected")),
    "check_json_settings": Metric(check_json_settings, wants("expected")),
    "compare_csv": Metric(compare_csv),
    "is_included_all_json_objects": Metric(is_included_all_json_objects),
    "run_sqlite3": Metric(run_sqlite3, _sql),
}
"""By OSWorld's name."""
