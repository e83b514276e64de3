"""UI-TARS's way to be asked and to reply, over real HTTP and by itself."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starlette.responses import JSONResponse

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.formats import find_format
from deskhand_agent.grammar import Repair
from deskhand_agent.policies.openai import OpenAIPolicy
from deskhand_agent.types import Context, Decision, Fault, Step, StepTimings
from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import Answer, Click, Finish, Navigate, Observation, Scroll, Touch, TypeText

FORMATS = ("ui_tars", "ui_tars_1_0", "ui_tars_mobile", "ui_tars_mobile_1_0")
PIXELS = CoordinateSystem()
SEEN = Observation(screenshot=as_image(b"picture", (100, 80)), captured_at_s=1.0, settled_ms=1.0)
REPLY = "Thought: It is there.\nAction: click(point='<point>10 10</point>')"


def said(text: str) -> JSONResponse:
    return JSONResponse({"choices": [{"message": {"content": text}}]})


@pytest.fixture
def context(stub: SimpleNamespace) -> Context:
    return Context(task=stub.task(), instruction="Click it.", steps=(), observation=stub.observation("now"))


def step(seen: Observation, decision: Decision) -> Step:
    return Step(
        index=0,
        observation=seen,
        decision=decision,
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
    )


@pytest.mark.parametrize(
    "calls",
    [
        "type(content='Action: bought milk')",
        "finished(content='The log says: Thought: none. Action: none.')",
        "click(point='<point>10 10</point>')",
    ],
)
def test_a_thought_ends_where_the_calls_begin(calls: str) -> None:
    form = find_format("ui_tars", PIXELS)
    for label in ("Thought: It is there.\nAction: ", "It is there.\n Action:"):
        decision = form.decision(f"{label}{calls}", SEEN, {})
        assert decision.actions and decision.thought == "It is there."
    assert form.decision(calls, SEEN, {}).thought is None
    assert form.decision(f"Action: {calls}", SEEN, {}).thought is None


async def test_it_is_asked_in_its_words_and_read_in_them(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    endpoint.reply = lambda: said(REPLY)
    policy = OpenAIPolicy(model="m", base_url=endpoint.url, format="ui_tars", coordinates=PIXELS)
    first = await policy.act(context)
    assert (first.actions, first.thought, first.text) == ((Click(x=10, y=10),), "It is there.", REPLY)
    await policy.act(replace(context, steps=(step(context.observation, first),)))
    opening, answer, now = endpoint.sent[1]["messages"]
    told = opening["content"][0]["text"]
    assert [part["type"] for part in opening["content"]] == ["text", "image_url"]
    assert "## Action Space\n\nclick(point='<point>x1 y1</point>')\n" in told
    assert told.endswith("## User Instruction\nClick it.\n")
    assert answer == {"role": "assistant", "content": REPLY}
    assert [part["type"] for part in now["content"]] == ["image_url"]
    await policy.close()


@pytest.mark.parametrize(
    ("name", "written", "action"),
    [
        ("ui_tars", "click(point='<point>140 112</point>')", Click(x=42, y=36)),
        ("ui_tars_1_0", "click(start_box='<|box_start|>(500,500)<|box_end|>')", Click(x=50, y=40)),
        ("ui_tars_mobile_1_0", "click(start_box='<|box_start|>(500,500)<|box_end|>')", Touch(x=50, y=40)),
    ],
)
def test_each_has_its_own_frame(name: str, written: str, action: object) -> None:
    """A screenshot of 100 by 80 is shown to UI-TARS 1.5 at 336 by 252, the least area its processor makes."""
    assert find_format(name, None).decision(f"Action: {written}", SEEN, {}).actions == (action,)


@pytest.mark.parametrize("name", FORMATS)
def test_what_it_is_told_it_may_write_can_be_read(name: str, context: Context) -> None:
    form = find_format(name, PIXELS)
    told = form.told(context).instruction
    calls = told.split("## Action Space\n\n")[1].split("\n\n## Note")[0]
    for line in calls.splitlines():
        call = line.partition("  #")[0].replace("down or up or right or left", "down")
        for letters, digits in (("x1", "1"), ("y1", "2"), ("x2", "3"), ("y2", "4")):
            call = call.replace(letters, digits)
        assert form.decision(f"Action: {call}", context.observation, {}).actions, call


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Thought: hm", Fault.SYNTAX),
        ("", Fault.SYNTAX),
        ("Action: click(", Fault.SYNTAX),
        ("Action: teleport()", Fault.UNKNOWN_ACTION),
        ("Action: click(point='here')", Fault.UNKNOWN_ACTION),
        ("Action: type(content='a', submit='b')", Fault.UNKNOWN_ACTION),
    ],
)
def test_what_is_no_action_is_a_void_turn_of_its_kind(text: str, fault: Fault, stub: SimpleNamespace) -> None:
    decision = find_format("ui_tars", None).decision(text, stub.observation(), {"usd": 1.0})
    assert (decision.actions, decision.fault, decision.cost) == ((), fault, {"usd": 1.0})
    assert decision.error


@pytest.mark.parametrize(
    ("text", "repair"),
    [
        ("Thought: why\n```\nAction: click(point='<point>14 28</point>')\n```", Repair.FENCE),
        ("Thought: why\nAction: click(point=“<point>14 28</point>”)", Repair.QUOTES),
        ("Thought: why\nAction: click(point='<point>14 28</point>", Repair.CLOSING),
    ],
)
def test_a_near_miss_is_mended_and_counted(text: str, repair: Repair, stub: SimpleNamespace) -> None:
    decision = find_format("ui_tars", PIXELS).decision(text, stub.observation(), {})
    assert (decision.actions, decision.repairs) == ((Click(x=14, y=28),), (repair,))
    assert decision.text == text


@pytest.mark.parametrize(
    ("text", "typed", "repairs"),
    [
        ("Thought: why\nAction: type(content='it's so')", "it's so", (Repair.ESCAPES,)),
        ('Action: type(content="say "hi" to `her`")[EOS]', 'say "hi" to `her`', (Repair.ESCAPES,)),
        (
            "Thought: why\n```\nAction: type(content='it's so')\n```",
            "it's so",
            (Repair.FENCE, Repair.ESCAPES),
        ),
        ("Thought: why\nAction: type(content='it\\'s so')", "it's so", ()),
    ],
)
def test_quotes_that_are_not_escaped_are_mended_and_counted(
    text: str, typed: str, repairs: tuple[Repair, ...]
) -> None:
    form = find_format("ui_tars", PIXELS)
    decision = form.decision(text, SEEN, {})
    assert (decision.actions, decision.repairs, decision.text) == ((TypeText(text=typed),), repairs, text)
    assert form.decision(text, SEEN, {}, mending=False).void is bool(repairs)
    # it is shown how it should have said it
    shown = form.reply(step(SEEN, decision), "as we say it")
    assert form.decision(shown, SEEN, {}, mending=False).actions == decision.actions


@settings(max_examples=200)
@given(st.sampled_from(("deskhand", *FORMATS)), st.text())
@example("ui_tars", "Action: type(content='" + "\\" * 5000)
@example("deskhand", "```" * 2000)
def test_no_reply_breaks_a_format(name: str, text: str) -> None:
    decision = find_format(name, None).decision(text, SEEN, {})
    assert bool(decision.actions) is (decision.error is None) is (decision.fault is None)
    assert decision.text == text


@pytest.mark.parametrize(
    ("decision", "shown"),
    [
        (
            Decision(actions=(TypeText(text="it's"),), text="a person's", thought="why"),
            "Thought: why\nAction: type(content='it\\'s')",
        ),
        (
            Decision(actions=(Scroll(x=1, y=2, dy_px=1000),), text="a person's"),
            "Thought: \nAction: " + "\n\n".join(["scroll(point='<point>1 2</point>', direction='down')"] * 2),
        ),
        (
            Decision(actions=(Finish(text="42"),), text="finished()"),
            "Thought: \nAction: finished(content='42')",
        ),
        (Decision(actions=(Navigate(url="https://a.test"),), text="x"), "as we say it"),
        (Decision(actions=(), text="x", error="no"), "as we say it"),
    ],
)
def test_turns_that_others_decided_are_shown_in_its_words(
    decision: Decision, shown: str, stub: SimpleNamespace
) -> None:
    form = find_format("ui_tars", PIXELS)
    assert form.reply(step(stub.observation(), decision), "as we say it") == shown


@pytest.mark.parametrize("name", ["deskhand", *FORMATS])
@given(
    answer=st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable() and text == text.strip())
)
def test_an_answer_is_said_in_its_words(name: str, answer: str) -> None:
    form = find_format(name, None)
    said = form.answering(answer)
    decision = form.decision(said, SEEN, {}, mending=False)
    assert decision.error is None and not decision.thought
    (action,) = decision.actions
    assert isinstance(action, Answer | Finish) and action.text == answer


def test_an_unknown_format_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean ui_tars"):
        find_format("uitars", None)


async def test_a_near_miss_is_read_and_counted(endpoint: Any, context: Context) -> None:
    endpoint.reply = lambda: said("I click it.\n```\nclick(10, 20)\n```")
    policy = OpenAIPolicy(model="m", base_url=endpoint.url)
    decision = await policy.act(context)
    assert (decision.actions, decision.repairs) == ((Click(x=10, y=20),), ("fence", "point", "prose"))
    await policy.close()
