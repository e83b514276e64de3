"""The whole grammar: what is written reads back exactly, and no text breaks the reader."""

from __future__ import annotations

import dataclasses
import re
import string
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import ACTION_NAMES, GRAMMAR, format_reply, parse_reply
from deskhand_sandbox import types
from deskhand_sandbox.types import Action, Click, Finish, Press, TypeText

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
COORDINATE = st.integers(-999_999_999, 999_999_999)
WHOLE = st.integers(0, 10**9)
SECONDS = st.floats(0, 1e9, allow_nan=False)
BUTTON = st.sampled_from(["left", "middle", "right"])
PATH = st.lists(st.tuples(COORDINATE, COORDINATE), min_size=2, max_size=5).map(tuple)
KEY = st.one_of(st.sampled_from(["Control", "Shift", "a", "A", "+", " ", "ArrowDown", "F5", "ctrl"]), TEXT)
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**15), 10**15),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXT,
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=8,
)
POINT = {"x": COORDINATE, "y": COORDINATE}
FIELDS: dict[str, dict[str, st.SearchStrategy]] = {
    "Click": POINT | {"button": BUTTON, "count": st.integers(1, 5)},
    "MovePointer": POINT,
    "PointerDown": {"button": BUTTON},
    "PointerUp": {"button": BUTTON},
    "Drag": {"path": PATH, "button": BUTTON},
    "Scroll": POINT | {"dx_px": COORDINATE, "dy_px": st.one_of(st.just(300), st.just(-300), COORDINATE)},
    "Touch": POINT | {"hold_ms": st.one_of(st.just(50), st.just(800), WHOLE)},
    "Swipe": {"path": PATH, "duration_ms": WHOLE},
    "TypeText": {"text": TEXT},
    "Press": {"keys": st.lists(KEY, min_size=1, max_size=4).map(tuple)},
    "KeyDown": {"key": KEY},
    "KeyUp": {"key": KEY},
    "Wait": {"seconds": SECONDS},
    "Navigate": {"url": TEXT},
    "History": {"to": st.sampled_from(["back", "forward", "reload", "home"])},
    "Tab": {"do": st.sampled_from(["open", "focus", "close"]), "index": st.one_of(st.none(), WHOLE)},
    "Upload": POINT | {"paths": st.lists(TEXT, min_size=1, max_size=3).map(tuple)},
    "AnswerDialog": {"accept": st.just(True), "text": TEXT},
    "OpenApp": {"name": TEXT},
    "Run": {"command": TEXT, "timeout_s": SECONDS},
    "ReadFile": {"path": TEXT},
    "WriteFile": {"path": TEXT, "content": TEXT},
    "EditFile": {"path": TEXT, "old": TEXT, "new": TEXT},
    "Fetch": {
        "url": TEXT,
        "method": st.sampled_from(["GET", "POST", "HEAD"]),
        "headers": st.dictionaries(TEXT, TEXT, max_size=3),
        "body": TEXT,
    },
    "CallTool": {"name": TEXT, "arguments": st.dictionaries(TEXT, JSON, max_size=4)},
    "Answer": {"text": TEXT},
    "Finish": {"text": TEXT},
    "Fail": {"reason": TEXT},
    "AskUser": {"question": TEXT},
    "Zoom": {"start": st.tuples(COORDINATE, COORDINATE), "end": st.tuples(COORDINATE, COORDINATE)},
}
ACTION = st.one_of([st.builds(getattr(types, name), **fields) for name, fields in FIELDS.items()])


def test_the_strategies_cover_every_action_and_every_field() -> None:
    kinds = {kind.__name__: {field.name for field in dataclasses.fields(kind)} for kind in get_args(Action)}
    assert {name: set(fields) for name, fields in FIELDS.items()} == kinds


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_each_action_reads_back_exactly(name: str) -> None:
    @settings(max_examples=60)
    @given(st.builds(getattr(types, name), **FIELDS[name]))
    def check(action: Action) -> None:
        assert parse_reply(format_reply(None, (action,))).actions == (action,)

    check()


@settings(max_examples=200)
@given(st.one_of(st.none(), TEXT), st.lists(ACTION, min_size=1, max_size=4))
@example("a </think> b <\\/think> <\\\\/think>", [TypeText(text="</think>\nAction: \\' \" \u2028 \x00")])
@example("", [Finish()])
@example("Thought: x\nAction: finished()", [Press(keys=("ctrl c", "+"))])
def test_replies_read_back_exactly(thought: str | None, actions: list[Action]) -> None:
    reply = parse_reply(format_reply(thought, actions))
    assert (reply.thought, list(reply.actions)) == (thought, actions)


@settings(max_examples=400)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="click(point='<>/ 12)\n\"\\{[]},=:think", max_size=60),
        st.lists(
            st.sampled_from(
                [
                    "click",
                    "type",
                    "(",
                    ")",
                    "point=",
                    "'<point>1",
                    "2</point>'",
                    "content=",
                    "'a'",
                    "\\u",
                    "{",
                    "[",
                    "<think>",
                    "</think>",
                    "Action:",
                    "Thought:",
                    ",",
                    "key=",
                    "''",
                    "hotkey",
                    "call_tool",
                    "arguments=",
                    "1e999",
                    "�",
                ]
            )
        ).map("".join),
    )
)
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        reply = parse_reply(text)
    except ActionSyntaxError as error:
        assert 0 <= error.position <= len(text)
        assert error.expected
    else:
        assert reply.actions
        assert parse_reply(format_reply(reply.thought, reply.actions)) == reply


@settings(max_examples=150)
@given(st.lists(ACTION, min_size=1, max_size=3), st.data())
def test_a_damaged_reply_is_read_or_refused(actions: list[Action], data: st.DataObject) -> None:
    text = format_reply(None, actions)
    at = data.draw(st.integers(0, len(text)))
    damaged = (
        text[:at]
        + data.draw(st.text(string.printable, max_size=3))
        + text[at + data.draw(st.integers(0, 3)) :]
    )
    try:
        parse_reply(damaged)
    except ActionSyntaxError as error:
        assert 0 <= error.position <= len(damaged)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "call_tool(name='x', arguments=" + '{"a":' * 50_000,
        "call_tool(name='x', arguments={\"a\": " + "9" * 5000 + "})",
        "call_tool(name='x', arguments={\"a\": NaN})",
        "call_tool(name='x', arguments={\"a\": [-1e999]})",
        "scroll(point='<point>1 2</point>', dx=" + "9" * 5000 + ")",
        "wait(time=1e999)",
        "click(point='<point>" + "9" * 5000 + " 1</point>')",
        "type(content='" + "\\" * 100_001,
        "type(content='\\ud800')",
        "type(content='\\UFFFFFFFF')",
        " " * 100_000,
        "Thought: " + "a" * 100_000,
    ],
)
def test_hostile_texts_are_refused_quickly(text: str) -> None:
    with pytest.raises(ActionSyntaxError):
        parse_reply(text)


def test_the_short_form_is_the_one_the_tiny_model_has_tokens_for() -> None:
    assert format_reply(None, (Click(x=83, y=125),)) == "click(point='<point>83 125</point>')"


@pytest.mark.parametrize("separator", ["\n", "\n\n", " ", "\r\n\t"])
def test_calls_may_be_separated_by_any_white_space(separator: str) -> None:
    text = separator.join(["click(point='<point>1 2</point>')", "type(content='a')", ""])
    assert parse_reply(text).actions == (Click(x=1, y=2), TypeText(text="a"))


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        ("<think>why</think>finished()", "why"),
        ("\n <think>\nwhy\n</think>\n\nfinished()", "\nwhy\n"),
        ("Thought: why\nso\nAction: finished()", "why\nso"),
        ("Thought: mention Action: here\nAction:\nfinished()", "mention Action: here"),
        ("Action: finished()", None),
        ("finished()", None),
    ],
)
def test_thoughts_may_be_written_in_either_manner(text: str, thought: str | None) -> None:
    reply = parse_reply(text)
    assert (reply.thought, reply.actions) == (thought, (Finish(),))


def test_errors_say_where_and_what_was_expected() -> None:
    with pytest.raises(ActionSyntaxError, match=r"expected '\(' at position 5, found '\[1, 2\]'") as caught:
        parse_reply("click[1, 2]")
    assert (caught.value.position, caught.value.expected) == (5, "'('")


def test_a_misspelt_action_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(ActionSyntaxError, match="expected click"):
        parse_reply("clik(point='<point>1 2</point>')")


def test_the_grammar_told_to_models_names_every_action() -> None:
    aliases = {"left_single"}
    assert [name for name in ACTION_NAMES if f"{name}" not in GRAMMAR and name not in aliases] == []


@pytest.mark.parametrize("line", GRAMMAR.splitlines())
def test_the_grammar_is_told_in_calls_it_reads(line: str) -> None:
    call = re.sub(r"x\d? y\d?", "1 2", line.partition("  ")[0]).replace("=…", "='1 2'")
    assert parse_reply(call).actions
