"""An example of a field, from the API's own description: what an error about it shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

Json = Mapping[str, Any]
_PLAIN: Mapping[str, Any] = {"string": "text", "integer": 1, "number": 0.5, "boolean": True, "null": None}
_KINDS = ((str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object"))
_DEEPEST = 6
_TELLING = frozenset({"type", "example", "examples", "const", "enum"})


def example_at(description: Json, method: str, path: str, where: Sequence[object]) -> str | None:
    """A value as JSON that the field may have.

    Args:
        description: the OpenAPI document.
        path: of the route, with its parameters in braces.
        where: "body", "query", "path", "header" or "cookie", then the way to the field in it.

    Returns:
        None where there is no such field.
    """
    schema = _schema_at(description, method, path, where)
    if schema is None or not _says_anything(description, schema):
        return None
    return json.dumps(value_of(description, schema), ensure_ascii=False)


def fields_at(description: Json, method: str, path: str, where: Sequence[object]) -> tuple[str, ...]:
    """Names of the fields that a part of a request may have; none where it may have any, or there is no such.

    Args:
        where: as `example_at`.
    """
    schema = _schema_at(description, method, path, where)
    forms = () if schema is None else _forms(description, schema)
    return tuple(dict.fromkeys(name for form in forms for name in form.get("properties", ())))


def _schema_at(description: Json, method: str, path: str, where: Sequence[object]) -> Json | None:
    operation: Json = description["paths"].get(path, {}).get(method.lower(), {})
    part, *way = where
    if part == "body":
        content: Json = operation.get("requestBody", {}).get("content", {})
        schema: Json | None = next(iter(content.values()), {}).get("schema")
    else:
        named = [one for one in operation.get("parameters", ()) if way[:1] == [one["name"]]]
        schema, way = (named[0]["schema"] if named else None), way[1:]
    for step in way:
        schema = None if schema is None else _inside(description, schema, step)
    return schema


def _says_anything(description: Json, schema: Json) -> bool:
    """It is not whatever JSON there is."""
    return any(form.keys() & _TELLING for form in (schema, *_forms(description, schema)))


def _forms(description: Json, schema: Json) -> list[Json]:
    """The schema's alternatives, references followed."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        return _forms(description, description["components"]["schemas"][name])
    found = schema.get("anyOf") or schema.get("oneOf")
    if found is None:
        return [schema]
    return [form for one in cast("list[Json]", found) for form in _forms(description, one)]


def _inside(description: Json, schema: Json, step: object) -> Json | None:
    for form in _forms(description, schema):
        if isinstance(step, int) and "items" in form:
            return form["items"]
        if step in form.get("properties", {}):
            return form["properties"][step]
        if isinstance(form.get("additionalProperties"), Mapping) and isinstance(step, str):
            return form["additionalProperties"]
    forms = _forms(description, schema)
    if not isinstance(step, str) or len(forms) < 2:
        return None
    # a step that only says which of several forms was tried
    return next((form for form in forms if _is_called(form, step)), schema)


def _is_called(form: Json, name: str) -> bool:
    return any(each.get("const") == name for each in form.get("properties", {}).values())


def takes(description: Json, schema: Json, value: Any) -> bool:
    """Whether a value is of a type that the schema says, and of none of a few."""
    forms = _forms(description, schema)
    if any(form.keys() & {"const", "enum", "example", "examples"} for form in (schema, *forms)):
        return False
    kind = next(name for kind, name in _KINDS if isinstance(value, kind))
    fitting = [form for form in forms if form.get("type") == kind]
    # of what it holds, each has to be as the schema says, too
    inside = "items" if kind == "array" else "additionalProperties"
    held = [*_held(value)]
    return any(all(takes(description, form.get(inside) or {}, each) for each in held) for form in fitting)


def _held(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def value_of(description: Json, schema: Json, depth: int = 0) -> Any:
    """A value that the schema takes."""
    for form in (schema, *_forms(description, schema)):
        if "example" in form:
            return form["example"]
        if form.get("examples"):
            return form["examples"][0]
        if "const" in form:
            return form["const"]
        if form.get("enum"):
            return form["enum"][0]
    form = next((one for one in _forms(description, schema) if one.get("type") != "null"), schema)
    match form.get("type"):
        case "object":
            needed = form.get("required", ()) if depth < _DEEPEST else ()
            return {name: value_of(description, form["properties"][name], depth + 1) for name in needed}
        case "array":
            few = form.get("minItems", 1) if depth + 1 < _DEEPEST else 0
            return [value_of(description, form.get("items", {}), depth + 1)] * min(few, 1)
        case "integer" | "number":
            least, most = form.get("minimum"), form.get("maximum")
            return least if least is not None else most if most is not None else _PLAIN[form["type"]]
        case kind:
            return _PLAIN.get(str(kind), "text")
