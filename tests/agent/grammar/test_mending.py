"""What is nearly of the grammar: read, and said to be mended; what is not: refused as before."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import format_reply, mend_reply, parse_reply
from deskhand_agent.grammar.mending import REPAIRS, Repair, closed, without_prose
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    Finish,
    Navigate,
    Press,
    TypeText,
    Wait,
    WriteFile,
    Zoom,
)

AT = "point='<point>1 2</point>'"
CLICK = Click(x=1, y=2)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PIXEL = st.integers(-9999, 99999)
ACTION: st.SearchStrategy[Action] = st.one_of(
    st.builds(Click, x=PIXEL, y=PIXEL, count=st.integers(1, 3)),
    st.builds(Drag, path=st.tuples(st.tuples(PIXEL, PIXEL), st.tuples(PIXEL, PIXEL))),
    st.builds(Zoom, start=st.tuples(PIXEL, PIXEL), end=st.tuples(PIXEL, PIXEL)),
    st.builds(TypeText, text=TEXT),
    st.builds(Press, keys=st.just(("Control", "c"))),
    st.builds(Navigate, url=TEXT),
    st.builds(Finish, text=TEXT),
    st.builds(Wait, seconds=st.integers(0, 9).map(float)),
)


PIECES = (
    *("click", "Click", "type", "(", ")", "1, 2", "point=", "'<point>1", "2</point>'", "content=", "'a'"),
    *("```", "\n", "<think>", "</think>", "Action:", ",", "'", "“", "text=", "[1, 2]", "x=1, y=2", "wait"),
)


@pytest.mark.parametrize(
    ("text", "action", "repairs"),
    [
        (f"```python\nclick({AT})\n```", CLICK, "fence"),
        (f"`click({AT})`", CLICK, "fence"),
        (f"why</think>click({AT})", CLICK, "thought"),
        (f"<think>why\nclick({AT})", CLICK, "thought"),
        ("click(point=“<point>1 2</point>”)", CLICK, "quotes"),
        ("type(content=‘a “b” c’)", TypeText(text="a “b” c"), "quotes"),
        (f"Click({AT})", CLICK, "name"),
        (f"left_click({AT})", CLICK, "name"),
        (f"clik({AT})", CLICK, "name"),
        ("click(1, 2)", CLICK, "point"),
        ("click([1, 2])", CLICK, "point"),
        ("click((1,2), count=2)", Click(x=1, y=2, count=2), "point"),
        ("click(x=1, y=2)", CLICK, "point"),
        ("click(point=[1.4, 1.6])", CLICK, "point"),
        ("click(point='<point>1.4 1.6</point>')", CLICK, "point"),
        ("drag(start_point=[1, 2], end_point=(3, 4))", Drag(path=((1, 2), (3, 4))), "point"),
        ("zoom(region=[1, 2, 30, 40])", Zoom(start=(1, 2), end=(30, 40)), "point"),
        ("zoom(1, 2, 30.0, 40.2)", Zoom(start=(1, 2), end=(30, 40)), "point"),
        ("zoom(0.0, 0.0, 30.0, 40.2)", Zoom(start=(0, 0), end=(30, 40)), "point"),
        ("click(0.5, 12.6)", Click(x=0, y=13), "point"),
        (
            "crop(start_point='<point>1 2</point>', end_point='<point>3 4</point>')",
            Zoom(start=(1, 2), end=(3, 4)),
            "name",
        ),
        ("type('a')", TypeText(text="a"), "argument"),
        ('type(text="click(1, 2)")', TypeText(text="click(1, 2)"), "argument"),
        ("hotkey('ctrl c')", Press(keys=("Control", "c")), "argument"),
        ("wait(2)", Wait(seconds=2.0), "argument"),
        (f"click({AT}", CLICK, "closing"),
        ("click(point='<point>1 2</point>", CLICK, "closing"),
        (f"I click it.\nclick({AT})", CLICK, "prose"),
        (f"Thought: why\nAction: click({AT})\nThen it is done.", CLICK, "prose"),
        (f"- click({AT}).", CLICK, "prose"),
        ("left_click(coordinate=[1, 2])", CLICK, "name point"),
        ("So:\n```\nClick(1, 2)\n```\nDone.", CLICK, "fence name point prose"),
    ],
)
def test_near_misses_are_read_and_named(text: str, action: Action, repairs: str) -> None:
    with pytest.raises(ActionSyntaxError):
        parse_reply(text)
    reply = mend_reply(text)
    assert (reply.actions, " ".join(reply.repairs)) == ((action,), repairs)


def test_every_repair_has_an_example() -> None:
    named = {repair for repair, _ in REPAIRS} | {Repair.CLOSING, Repair.PROSE}
    assert named == set(Repair) - {Repair.ESCAPES}  # of UI-TARS's grammar, see `test_formats`


def test_all_calls_behind_a_thought_without_an_end_are_taken() -> None:
    reply = mend_reply(f"<think>why\nclick({AT})\nwait()")
    assert (reply.thought, reply.actions) == ("why\n", (CLICK, Wait()))


def test_words_before_the_calls_are_the_thought() -> None:
    assert mend_reply(f"I see it.\n\nclick({AT})\nwait()\n\nDone.").thought == "I see it."
    assert mend_reply(f"I see it.\n\nclick({AT})\nwait()\n\nDone.").actions == (CLICK, Wait())
    assert mend_reply(f"Thought: because\nAction: click({AT})\nDone.").thought == "because"


@pytest.mark.parametrize(
    "text",
    [
        "type(content='rm -rf /tmp/a",
        "click(point='<point>1 2",
        f"First click({AT}) then wait() I think.",
        f"click({AT})\nor rather\nclick(point='<point>3 4</point>')",
        f"<think>\nclick({AT})\nor rather\nclick(point='<point>3 4</point>')",
        f"click({AT}) to focus the field, then\ntype(content='a')",
        f"I do it.\nclick({AT})\ntype(content='it's')\nhotkey(key='enter')",
        f"<think>One way:\n- run(command='rm -r old')\n- click({AT})\nThe first would lose",
        "I could click(1, 2) but will not.",
        "teleport(1, 2)",
        "click(1)",
        "scroll(0, 500)",
        "click(here)",
        "click(0.42, 0.37)",
        "left_click(x=0.5, y=1.0)",
        "click(point='<point>0.42 0.37</point>')",
        "drag(start_point=[0.1, 0.2], end_point=[0.9, 0.8])",
        "zoom(0.1, 0.2, 0.3, 0.4)",
        "I cannot help with that.",
        "",
        "<think>",
    ],
)
def test_what_leaves_doubt_is_refused(text: str) -> None:
    with pytest.raises(ActionSyntaxError) as plain:
        parse_reply(text)
    with pytest.raises(ActionSyntaxError) as caught:
        mend_reply(text)
    assert str(caught.value) == str(plain.value)


@settings(max_examples=200)
@given(st.one_of(st.none(), TEXT), st.lists(ACTION, min_size=1, max_size=3))
def test_what_is_right_is_never_mended(thought: str | None, actions: list[Action]) -> None:
    text = format_reply(thought, actions)
    assert mend_reply(text) == parse_reply(text)
    assert mend_reply(text).repairs == ()


AROUND = (
    *("```\n{}\n```", "{}\nDone.", "I do it.\n{}", "Why</think>{}", "Action: {}."),
    *("I'll do it.\n{}", "Let's go: it's time.\n```\n{}\n```", "{}\nThat's it, isn't it?"),
)


@settings(max_examples=300)
@given(ACTION, st.sampled_from(AROUND))
@example(TypeText(text="```\nclick(1, 2)\n```"), "```\n{}\n```")
@example(TypeText(text="“a” `b` <point>1.5 2</point>"), "I do it.\n{}")
@example(TypeText(text="f(“a”) `date` key(1) goto(10, 20)"), "I'll do it.\n{}")
@example(TypeText(text="'f(x=1, y=2)' \"done(2)\""), "{}\nThat's it, isn't it?")
def test_what_stands_around_a_call_never_changes_it(action: Action, around: str) -> None:
    reply = mend_reply(around.format(format_reply(None, [action])))
    assert reply.actions == (action,)
    assert reply.repairs


@pytest.mark.parametrize("prose", ["Here is it.", "I'll write it.", "So ('a' or \"b\"), they're all:"])
@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_text_over_several_lines_is_kept_as_it_was_typed(prose: str, quote: str) -> None:
    content = "# Run\n```sh\nmake `all`\n```\ndone(x=1, y=2)\n"
    reply = mend_reply(f"{prose}\nWrite_file(path='a', content={quote}{content}{quote})")
    assert reply.actions == (WriteFile(path="a", content=content),)


@pytest.mark.parametrize(
    "text", ["I'll type.\ntype(content='`a", "type(content=\"it's `a", "Run(command='`a\\"]
)
def test_a_text_that_nothing_closes_is_quoted_to_the_end(text: str) -> None:
    for _, mend in REPAIRS:
        assert mend(text).endswith(text[text.index("`") :])


@settings(max_examples=400)
@given(
    st.one_of(
        st.text(),
        st.text(alphabet="click(point='<>/ 12)\n\"`“”\\{[]},=:think\ue000", max_size=60),
        st.lists(st.sampled_from(PIECES)).map("".join),
    )
)
@example("click(" * 3000)
@example("<think>" * 3000)
@example("click(point='" * 500)
@example("`" * 5000)
@example("\nclick(1" * 2000)
@example(f"hotkey(key='{'+' * 5000}')")
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        reply = mend_reply(text)
    except ActionSyntaxError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert parse_reply(format_reply(reply.thought, reply.actions)).actions == reply.actions
    for _, mend in REPAIRS:
        mend(text)
    closed(text)
    without_prose(text)


LONG = 30_000


@pytest.mark.parametrize(
    "text",
    [
        f"x\n{' ' * LONG}x",
        f"x\n{'* ' * LONG}x",
        "Thought:" + "\n" * LONG,
        "type(content='" + "\\'" * LONG,
        f"zoom({' ' * LONG}",
        f"zoom(1, 2, 3, 4{' ' * LONG}",
        f"zoom([1, 2, 3, 4{' ' * LONG}]",
    ],
)
def test_a_long_text_is_read_or_refused_at_once(text: str) -> None:
    began_s = time.process_time()
    with pytest.raises(ActionSyntaxError):
        mend_reply(text)
    assert time.process_time() - began_s < 1


@settings(max_examples=150)
@given(st.lists(ACTION, min_size=1, max_size=3), st.data())
def test_a_damaged_reply_is_read_or_refused(actions: list[Action], data: st.DataObject) -> None:
    text = format_reply(None, actions)
    at = data.draw(st.integers(0, len(text)))
    damage = data.draw(st.text(string.printable, max_size=3))
    try:
        mend_reply(text[:at] + damage + text[at + data.draw(st.integers(0, 3)) :])
    except ActionSyntaxError as error:
        assert error.expected
