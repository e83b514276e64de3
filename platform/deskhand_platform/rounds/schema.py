"""The JSON schema of a round's config: what its form is drawn from, and where examples of values come from.

Types, defaults, bounds and help are those of the config records themselves; a field's help is the text that
stands under it in the source.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter

from deskhand_platform.rounds.config import RUN_FIELDS, PromoteConfig, RoundConfig, run_record
from deskhand_sandbox.types import JsonValue

Schema = dict[str, Any]


@cache
def round_schema() -> Schema:
    """JSON schema (draft 2020-12, without references) of `RoundConfig`, its phases' settings in place.

    A phase may be null, which leaves it out.
    """
    told = _help_of(RoundConfig)
    parts: dict[str, Schema] = {}
    for field in dataclasses.fields(RoundConfig):
        if field.name in RUN_FIELDS:
            parts[field.name] = {**_record(run_record(field.name)), "type": ["object", "null"]}
        elif field.name == "promote":
            parts[field.name] = _record(PromoteConfig)
        elif field.name == "routes":
            parts[field.name] = {"type": "object", "default": {}}
        else:
            parts[field.name] = {"type": "string", "default": field.default}
        parts[field.name]["description"] = told.get(field.name, "What decides about promotion.")
    return {"type": "object", "properties": parts, "additionalProperties": False}


def example_of(field: str) -> str | None:
    """A value that the field would take, as `ppo.iterations=50`; None where there is no such field."""
    found: Schema = round_schema()
    for part in field.split("[")[0].split("."):
        found = found.get("properties", {}).get(part, {})
    values = _examples(field, found)
    return None if values is None else f"{field.split('[')[0]}={json.dumps(values)}"


def _examples(field: str, found: Schema) -> JsonValue:
    default = found.get("default")
    if default not in (None, "", [], {}):
        return cast(JsonValue, default)
    for option in (found, *found.get("anyOf", ())):
        if option.get("enum"):
            return option["enum"][0]
        if option.get("type") in ("integer", "number"):
            return option.get("minimum", 1)
        if option.get("type") == "boolean":
            return not default
    if found.get("type") == "array":
        items = cast(Schema, found.get("items", {}))
        named = "round-3-explore" if field.endswith("runs") else "miniwob/click-test"
        return [named if items.get("type") == "string" else _examples(field, items)]
    return {} if "properties" in found else None


def _record(record: type[Any]) -> Schema:
    """Schema of a config record and of those within it."""
    schema = TypeAdapter(record).json_schema()
    return _described(_inlined(schema, schema.get("$defs", {})), record)


def _inlined(part: Any, defs: Mapping[str, Schema]) -> Any:
    """The schema with what it refers to in place."""
    if isinstance(part, list):
        return [_inlined(one, defs) for one in cast("list[Any]", part)]
    if not isinstance(part, dict):
        return part
    values = cast(Schema, part)
    reference = values.get("$ref")
    if reference is not None:
        rest = {name: value for name, value in values.items() if name != "$ref"}
        return {**_inlined(defs[reference.rsplit("/", 1)[1]], defs), **rest}
    return {name: _inlined(value, defs) for name, value in values.items() if name != "$defs"}


def _described(schema: Schema, record: type[Any]) -> Schema:
    """With the help under each field, and its bounds."""
    help_texts = _help_of(record)
    for field in dataclasses.fields(record):
        found: Schema = schema["properties"][field.name]
        found.pop("title", None)
        if field.name in help_texts:
            found["description"] = help_texts[field.name]
        default = found.get("default")
        if dataclasses.is_dataclass(field.default_factory):
            schema["properties"][field.name] = _described(found, field.default_factory)
        elif field.default_factory is not dataclasses.MISSING and default is None:
            found["default"] = field.default_factory()
        _bound(found, field.metadata)
    schema["additionalProperties"] = False
    return schema


def _bound(found: Schema, bounds: Mapping[str, Any]) -> None:
    """The ends of a number's range, wherever in the field's type numbers stand."""
    if found.get("type") in ("integer", "number"):
        ends = {"minimum": bounds.get("low"), "maximum": bounds.get("high")}
        found |= {name: end for name, end in ends.items() if end is not None}
    within = [*found.get("anyOf", ()), *found.get("prefixItems", ()), found.get("items")]
    for part in within:
        if isinstance(part, dict):
            _bound(cast(Schema, part), bounds)


def _help_of(record: type[Any]) -> dict[str, str]:
    """The strings that stand under fields, by the fields' names."""
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(record))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for above, below in zip(tree.body, tree.body[1:], strict=False):
        if not isinstance(below, ast.Expr) or not isinstance(below.value, ast.Constant):
            continue
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name):
            found[above.target.id] = " ".join(str(below.value.value).split())
    return found
