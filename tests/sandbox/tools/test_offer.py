"""Tools as text, and the arguments of a call against their schema."""

import pytest

from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.tools.offer import Tool, check_arguments, check_schema, described
from deskhand_sandbox.types import JsonValue


def tool(schema: dict[str, JsonValue], description: str = "") -> Tool:
    return Tool(name="a.b", description=description, schema=schema)


def test_titles_go_and_what_is_called_title_stays() -> None:
    schema: dict[str, JsonValue] = {
        "title": "bArguments",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {"title": {"title": "Title", "type": "string"}, "properties": {"title": "P"}},
        "required": ["title"],
    }
    assert described([tool(schema, "Keep it.\n\n  For long.")]) == (
        "\n\nTools there are beside the screen, for call_tool:\n- a.b: Keep it. For long. Arguments: "
        '{"properties": {"title": {"type": "string"}, "properties": {}}, "required": ["title"]}'
    )
    assert described([]) == ""


def test_a_schema_elsewhere_is_not_fetched() -> None:
    elsewhere = tool({"properties": {"x": {"$ref": "http://127.0.0.1:9/schema.json"}}})
    check_arguments(elsewhere, {"x": 1})


@pytest.mark.parametrize("pattern", [r"^\p{L}+$", r"(?<year>\d{4})"])
def test_a_pattern_of_javascript_is_the_servers_to_check(pattern: str) -> None:
    named = tool({"properties": {"x": {"type": "string", "pattern": pattern}}})
    check_schema(named)
    check_arguments(named, {"x": "é"})


def test_what_is_wrong_is_said() -> None:
    nested = tool({"properties": {"x": {"items": {"maximum": 3}}}, "additionalProperties": False})
    check_arguments(nested, {"x": [1, 2]})
    with pytest.raises(InvalidAction, match=r"x\[1\]: 4 is greater than the maximum of 3"):
        check_arguments(nested, {"x": [1, 4]})
    with pytest.raises(InvalidAction, match="'y' was unexpected"):
        check_arguments(nested, {"y": 1})
    with pytest.raises(InvalidTask, match=r"a\.b has a schema that is none"):
        check_schema(tool({"type": 3}))
