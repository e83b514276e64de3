"""Tools as an agent reads of them: what there is, what a call must look like, what came of one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.types import JsonValue

if TYPE_CHECKING:
    from mcp_types import ContentBlock

OUTPUT_CHARS = 64 * 1024
"""Of what a tool returns the beginning is told, no more than this."""
DESCRIPTION_CHARS = 1000
SHOWN_ERRORS = 3
HEADING = "Tools there are beside the screen, for call_tool:"
SCHEMAS_IN = ("properties", "$defs", "definitions", "patternProperties")
"""Keywords whose members are named by whoever wrote the schema."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """A tool an agent may call."""

    name: str
    """SERVER.tool, what `CallTool.name` says."""
    description: str
    schema: Mapping[str, JsonValue]
    """JSON schema of the arguments."""


def described(tools: Iterable[Tool]) -> str:
    """What an agent is told of its tools, to stand after its instruction; empty where there are none."""
    lines = [f"- {each.name}{_description(each)} Arguments: {_schema(each.schema)}" for each in tools]
    return "\n".join([f"\n\n{HEADING}", *lines]) if lines else ""


def check_schema(tool: Tool) -> None:
    """Refuse a tool whose schema is none.

    Raises:
        InvalidTask: says what is wrong with it.
    """
    from jsonschema import Draft202012Validator, FormatChecker
    from jsonschema.exceptions import SchemaError

    # patterns are JavaScript's, and the check of formats would take them for Python's
    formats = FormatChecker(formats=())
    try:
        Draft202012Validator.check_schema(cast("dict[str, object]", tool.schema), format_checker=formats)
    except SchemaError as error:
        raise InvalidTask(f"the tool {tool.name} has a schema that is none: {error.message}") from error


def check_arguments(tool: Tool, arguments: Mapping[str, JsonValue]) -> None:
    """Refuse arguments that the tool does not take.

    Raises:
        InvalidAction: says which, and why.
    """
    from jsonschema import Draft202012Validator
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import EMPTY_REGISTRY

    # of its own a validator fetches schemas that others refer to
    validator = Draft202012Validator(cast("dict[str, object]", tool.schema), registry=EMPTY_REGISTRY)
    try:
        errors = sorted(validator.iter_errors(dict(arguments)), key=lambda error: error.json_path)
    except (Unresolvable, re.error):
        return  # the server itself knows what it means
    wrong = [f"{each.json_path}: {each.message:.300}".removeprefix("$: ") for each in errors[:SHOWN_ERRORS]]
    if wrong:
        raise InvalidAction(f"{tool.name} does not take these arguments: {'; '.join(wrong)}")


def told(content: Sequence[ContentBlock], structured: object, *, failed: bool) -> str:
    """The result of a call as the agent reads it."""
    parts = [_part(each) for each in content]
    if not parts and structured is not None:
        parts = [json.dumps(structured, ensure_ascii=False)]
    text = "\n".join(parts)
    if len(text) > OUTPUT_CHARS:
        text = f"{text[:OUTPUT_CHARS]}\n[cut after {OUTPUT_CHARS} characters]"
    if not failed:
        return text
    return f"{text}\n[the tool failed]" if text else "[the tool failed]"


def _part(block: ContentBlock) -> str:
    match block.type:
        case "text":
            return block.text
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}, {len(block.data) * 3 // 4} bytes]"
        case "resource_link":
            return f"[link: {block.uri}]"
        case "resource":
            text = getattr(block.resource, "text", None)
            return text if isinstance(text, str) else f"[file: {block.resource.uri}]"


def _description(tool: Tool) -> str:
    text = " ".join(tool.description.split())
    if not text:
        return "."
    return f": {text[:DESCRIPTION_CHARS]}{'' if text.endswith('.') else '.'}"


def _schema(schema: Mapping[str, JsonValue]) -> str:
    return json.dumps(_plain(dict(schema)), ensure_ascii=False)


def _plain(value: JsonValue, *, names: bool = False) -> JsonValue:
    """A schema without titles, which repeat the names of what they stand at.

    Args:
        names: the keys are names that somebody gave, not keywords.
    """
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _plain(each, names=not names and key in SCHEMAS_IN)
        for key, each in value.items()
        if names or key not in ("title", "$schema")
    }
