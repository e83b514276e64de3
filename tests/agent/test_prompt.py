from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.formats import system_prompt
from deskhand_agent.grammar import parse_reply
from deskhand_agent.memory import WindowMemory
from deskhand_agent.memory.episodic import NOTE
from deskhand_agent.memory.operations import OPERATE
from deskhand_agent.prompt import (
    PLAN,
    SUMMARISE,
    ImageSegment,
    PromptMessage,
    Text,
    build_prompt,
    summary_due,
)
from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.types import Action, Click, TypeText

PIXEL = CoordinateSystem()


def step(stub: SimpleNamespace, index: int, *actions: Action, **fields: Any) -> Step:
    decision = fields.pop("decision", Decision(actions=actions, text="raw", thought=f"thought {index}"))
    return Step(
        index=index,
        observation=stub.observation(f"s{index}", output=fields.pop("output", None)),
        decision=decision,
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
        **fields,
    )


def context(stub: SimpleNamespace, *steps: Step, output: str | None = None) -> Context:
    now = stub.observation("now", output=output)
    return Context(task=stub.task(), instruction="Click it.", steps=steps, observation=now)


def shown(messages: tuple[PromptMessage, ...]) -> list[tuple[str, list[str]]]:
    """Role and parts of each message, pictures as <name>."""
    return [
        (
            message.role,
            [
                segment.text
                if isinstance(segment, Text)
                else f"<{(segment.image.data or b'').decode().removeprefix('picture of ')}>"
                for segment in message.segments
            ],
        )
        for message in messages
    ]


def three_steps(stub: SimpleNamespace) -> tuple[Step, ...]:
    return (
        step(stub, 0, Click(x=1, y=2)),
        step(stub, 1, Click(x=900, y=2), action_error="off the screen"),
        step(stub, 2, TypeText(text="a"), Click(x=3, y=4)),
    )


def test_the_first_turn_is_instruction_and_screenshot(stub: SimpleNamespace) -> None:
    messages = build_prompt(context(stub), memory=WindowMemory(), coordinates=PIXEL)
    assert shown(messages) == [("user", ["Click it.\n", "<now>"])]


def test_one_screenshot_and_all_actions_as_text(stub: SimpleNamespace) -> None:
    messages = build_prompt(
        context(stub, *three_steps(stub)), memory=WindowMemory(), coordinates=PIXEL, system="S"
    )
    text = (
        "Click it.\nDone so far:\n"
        "1. click(point='<point>1 2</point>')\n"
        "2. click(point='<point>900 2</point>') -> error: off the screen\n"
        "3. type(content='a')\nclick(point='<point>3 4</point>')\n"
    )
    assert shown(messages) == [("system", ["S"]), ("user", [text, "<now>"])]


def test_the_last_screenshots_come_with_their_replies(stub: SimpleNamespace) -> None:
    memory = WindowMemory(n_screenshots=3)
    messages = build_prompt(
        context(stub, *three_steps(stub)), memory=memory, coordinates=PIXEL, thoughts=True
    )
    assert shown(messages) == [
        ("user", ["Click it.\nDone so far:\n1. click(point='<point>1 2</point>')\n", "<s1>"]),
        ("assistant", ["<think>thought 1</think>\nclick(point='<point>900 2</point>')"]),
        ("user", ["error: off the screen\n", "<s2>"]),
        ("assistant", ["<think>thought 2</think>\ntype(content='a')\nclick(point='<point>3 4</point>')"]),
        ("user", ["<now>"]),
    ]


@pytest.mark.parametrize("n_screenshots", [1, 2, 3, 4, 5])
def test_no_more_pictures_than_asked_for_and_the_current_one_last(
    stub: SimpleNamespace, n_screenshots: int
) -> None:
    messages = build_prompt(
        context(stub, *three_steps(stub)), memory=WindowMemory(n_screenshots=n_screenshots), coordinates=PIXEL
    )
    pictures = [
        each.image for message in messages for each in message.segments if isinstance(each, ImageSegment)
    ]
    assert len(pictures) == min(n_screenshots, 4)
    assert pictures[-1] == stub.picture("now")


def test_old_actions_are_dropped_and_counted_beyond_the_budget(stub: SimpleNamespace) -> None:
    memory = WindowMemory(action_chars=61)
    messages = build_prompt(context(stub, *three_steps(stub)), memory=memory, coordinates=PIXEL)
    assert messages[0].text == (
        "Click it.\nDone so far:\n(2 earlier left out)\n"
        "3. type(content='a')\nclick(point='<point>3 4</point>')\n"
    )


def test_an_action_longer_than_the_budget_hides_neither_itself_nor_those_before(
    stub: SimpleNamespace,
) -> None:
    long = step(stub, 2, TypeText(text="a" * 600))
    steps = (*three_steps(stub)[:2], long, step(stub, 3, Click(x=3, y=4)))
    memory = WindowMemory(action_chars=600)
    for past in (steps[:3], steps):
        text = build_prompt(context(stub, *past), memory=memory, coordinates=PIXEL)[0].text
        lines = text.splitlines()[2:]
        assert [line[:2] for line in lines] == ["1.", "2.", "3.", "4."][: len(past)]
        assert lines[2] == "3. type(content='aaaaaaaaaa (shortened from 616 bytes) aaaaaaaaaaaaaaaaaaaaa')"


def test_past_actions_are_written_in_the_models_own_frame(stub: SimpleNamespace) -> None:
    messages = build_prompt(
        context(stub, step(stub, 0, Click(x=50, y=40))),
        memory=WindowMemory(),
        coordinates=CoordinateSystem(kind="normalised"),
    )
    assert "<point>500 500</point>" in messages[0].text


def test_outputs_and_replies_of_the_user_are_told(stub: SimpleNamespace) -> None:
    steps = (
        step(stub, 0, Click(x=1, y=2), answer="blue"),
        step(stub, 1, Click(x=1, y=2), output="first output"),
    )
    for n_screenshots in (1, 2, 3):
        messages = build_prompt(
            context(stub, *steps, output="x" * 5000),
            memory=WindowMemory(n_screenshots=n_screenshots),
            coordinates=PIXEL,
        )
        text = "".join(message.text for message in messages)
        assert text.count("user: blue") == 1
        assert ("first output" in text) == (n_screenshots > 1)
        assert "(1000 characters left out)" in messages[-1].text


def test_a_dialog_that_no_picture_shows_is_told(stub: SimpleNamespace) -> None:
    asked = replace(context(stub), observation=stub.observation("now", dialog="confirm: Delete it?"))
    messages = build_prompt(asked, memory=WindowMemory(), coordinates=PIXEL)
    assert shown(messages) == [("user", ["Click it.\nDialog: confirm: Delete it?\n", "<now>"])]


def test_a_void_turn_is_told_as_such(stub: SimpleNamespace) -> None:
    void = step(stub, 0, decision=Decision(actions=(), text="blah" * 999, error="expected an action"))
    messages = build_prompt(context(stub, void), memory=WindowMemory(), coordinates=PIXEL)
    assert "1. (no action) -> error: expected an action\n" in messages[0].text
    assert "blah" not in messages[0].text


def test_the_same_context_gives_the_same_prompt(stub: SimpleNamespace) -> None:
    one, other = (
        build_prompt(
            context(stub, *three_steps(stub)), memory=WindowMemory(n_screenshots=2), coordinates=PIXEL
        )
        for _ in range(2)
    )
    assert one == other


@pytest.mark.parametrize("kind", ["pixel", "grid", "normalised", "resized"])
def test_the_system_prompt_shows_a_reply_that_can_be_read(kind: Any) -> None:
    text = system_prompt(CoordinateSystem(kind=kind))
    assert "<think>why</think>" in text
    assert ("1000" in text) == (kind == "normalised")
    example = "<think>why</think>\nclick(point='<point>x y</point>')".replace("x y", "1 2")
    assert parse_reply(example).actions == (Click(x=1, y=2),)


def terminal_context(stub: SimpleNamespace, terminal: str | None) -> Context:
    def shows(name: str, text: str | None) -> Any:
        return replace(stub.observation(name), terminal=text)

    first = replace(step(stub, 0, TypeText(text="a")), observation=shows("s0", "before"))
    return Context(
        task=stub.task(), instruction="Type it.", steps=(first,), observation=shows("now", terminal)
    )


@pytest.mark.parametrize(
    ("screens", "expected"),
    [
        ("picture", ["Type it.\nDone so far:\n1. type(content='a')\n", "<now>"]),
        ("text", ["Type it.\nDone so far:\n1. type(content='a')\n>_\n"]),
        ("both", ["Type it.\nDone so far:\n1. type(content='a')\n>_\n", "<now>"]),
    ],
)
def test_a_screen_is_a_picture_or_what_its_terminal_says(
    stub: SimpleNamespace, screens: Any, expected: list[str]
) -> None:
    memory = WindowMemory(screens=screens)
    messages = build_prompt(terminal_context(stub, ">_"), memory=memory, coordinates=PIXEL)
    assert shown(messages) == [("user", expected)]


def test_a_window_of_terminals_is_text_alone(stub: SimpleNamespace) -> None:
    memory = WindowMemory(n_screenshots=2, screens="text")
    messages = build_prompt(terminal_context(stub, "after"), memory=memory, coordinates=PIXEL)
    assert shown(messages) == [
        ("user", ["Type it.\nbefore\n"]),
        ("assistant", ["type(content='a')"]),
        ("user", ["after\n"]),
    ]


def test_a_screen_without_a_terminal_stays_a_picture(stub: SimpleNamespace) -> None:
    memory = WindowMemory(screens="text")
    messages = build_prompt(terminal_context(stub, None), memory=memory, coordinates=PIXEL)
    assert shown(messages)[-1][1][-1] == "<now>"


WRITTEN = {"summary": SUMMARISE, "episodic": NOTE, "operations": OPERATE}


@pytest.mark.parametrize("strategy", WRITTEN)
def test_a_memory_is_asked_for_in_its_own_words(stub: SimpleNamespace, strategy: Any) -> None:
    memory = WindowMemory(strategy=strategy, summary_after=3)
    now = context(stub, *three_steps(stub))
    assert summary_due(now, memory)
    asked = build_prompt(now, memory=memory, coordinates=PIXEL, asking=SUMMARISE)
    assert asked[-1].text.endswith(WRITTEN[strategy])
    assert not build_prompt(now, memory=memory, coordinates=PIXEL)[-1].text.endswith(WRITTEN[strategy])


def test_text_beyond_its_bytes_is_cut_where_it_is_longest(stub: SimpleNamespace) -> None:
    steps = [step(stub, n, TypeText(text=f"{n} " + "x" * 50)) for n in range(30)]
    steps += [step(stub, 30, Click(x=1, y=2), output="begin " + "漢" * 900 + " end")]
    memory = WindowMemory(n_screenshots=2, text_bytes=2048)
    now = context(stub, *steps, output="O" * 3000)
    messages = build_prompt(now, memory=memory, coordinates=PIXEL, system="S", asking=PLAN)
    said = [message.text for message in messages[1:]]
    total = sum(len(text.encode()) for text in said) - len(PLAN)
    assert 1900 < total <= 2048
    assert (
        said[0].startswith("Click it.\nDone so far:\n(")
        and "30. type(" in said[0]
        and "1. type(" not in said[0]
    )
    assert "begin 漢" in said[0] and "漢 end\n" in said[0] and "(shortened from 2710 bytes)" in said[0]
    assert said[1] == "click(point='<point>1 2</point>')"
    assert messages[0].text == "S" and said[2].endswith(PLAN)


def test_a_bound_that_is_kept_changes_nothing(stub: SimpleNamespace) -> None:
    now = context(stub, *three_steps(stub))
    free, bound = (
        build_prompt(now, memory=WindowMemory(text_bytes=room), coordinates=PIXEL) for room in (0, 1024)
    )
    assert free == bound
