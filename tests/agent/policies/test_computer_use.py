"""Replies of either API are read purely: whatever comes is a turn or the one error there is for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deskhand_agent.apis import Nonsense
from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.anthropic_computer import read_message
from deskhand_agent.policies.computer_use import ComputerUseSettings, decide, items_of, pointer_at
from deskhand_agent.policies.conversation import summed_up
from deskhand_agent.policies.openai_computer import read_response
from deskhand_agent.types import Context, Decision, Fault, Step, StepTimings
from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.types import Click, Point, TypeText

FRAME = pixels((100, 80))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
KINDS = (
    "computer_call",
    "function_call",
    "message",
    "reasoning",
    "text",
    "thinking",
    "tool_use",
    "output_text",
)
NAMES = ("act", "computer", "left_click", "click", "scroll", "refusal", "key", "keypress", "a")
WORDS = st.sampled_from(KINDS + NAMES)
FIELDS = [
    *(
        "type",
        "id",
        "call_id",
        "name",
        "input",
        "arguments",
        "actions",
        "action",
        "content",
        "summary",
        "text",
    ),
    *("status", "pending_safety_checks", "coordinate", "x", "y", "keys", "calls", "refusal", "thinking"),
]
CALLS = st.sampled_from(['{"calls": "click(1, 2)"}', '{"calls": 1}', "{", "[]", '{"calls": "finished()"}'])


def objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(FIELDS), values, max_size=8)


PIECE = objects(JSON | WORDS | CALLS | st.lists(objects(JSON | WORDS), max_size=2) | objects(JSON | WORDS))
USAGE = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "input_tokens_details", "cache_read_input_tokens"]),
    JSON,
)
BODY = st.one_of(
    JSON,
    st.fixed_dictionaries(
        {
            "output": st.lists(PIECE, max_size=3) | JSON,
            "content": st.lists(PIECE, max_size=3) | JSON,
            "status": st.sampled_from(["completed", "incomplete", "failed"]) | JSON,
            "stop_reason": st.sampled_from(["tool_use", "end_turn", "max_tokens", "refusal"]) | JSON,
            "usage": USAGE | JSON,
            "incomplete_details": JSON,
        }
    ),
)


@pytest.mark.parametrize(
    ("read", "dialect"),
    [(read_response, "openai"), (read_message, "anthropic"), (read_message, "anthropic_20250124")],
)
def test_whatever_comes_is_a_turn_or_nonsense(read: Callable[[object], Any], dialect: str) -> None:
    @settings(max_examples=400)
    @given(BODY)
    @example(
        {"output": [{"type": "computer_call", "call_id": "a", "pending_safety_checks": 7, "actions": [{}]}]}
    )
    @example({"output": [{"type": "message", "content": [{"text": ["a"]}]}], "status": "incomplete"})
    @example({"content": [{"type": "tool_use", "id": "a", "name": 3, "input": {"coordinate": [1e308, 1]}}]})
    @example({"content": [{"type": "tool_use", "id": "a", "name": "computer", "input": {"action": ["x"]}}]})
    def check(body: object) -> None:
        try:
            said, usage = read(body)
        except Nonsense:
            return
        decision = decide(said, dialect, FRAME, None, {})
        assert bool(decision.actions) is (decision.error is None) is (decision.fault is None)
        # a NaN is not itself
        assert json.dumps(json.loads(decision.text)) == json.dumps(list(said.items))
        assert usage is None or 0 <= usage.cached_tokens <= usage.prompt_tokens

    check()


@pytest.mark.parametrize("odd", [["text"], {"text": 1}, None, 3, "other"])
def test_items_of_an_odd_type_are_not_sent_back(stub: SimpleNamespace, odd: object) -> None:
    kinds = frozenset({"text"})
    for kept, items in ((True, [{"type": "text"}]), (False, [{"type": "text"}, {"type": odd}])):
        decision = Decision(actions=(), text=json.dumps(items))
        assert items_of(stub.past(0, decision), kinds) == (items if kept else None)


PART: dict[str, Any] = {"region": (40, 40, 50, 48)}
"""The stub's screen of 100 x 80 enlarged by 10."""


@pytest.mark.parametrize(
    ("seen", "done", "now", "pointer"),
    [
        ({}, {}, {}, (50, 40)),
        (PART, {}, {}, (45, 44)),
        (PART, {}, PART, (50, 40)),
        ({}, {}, PART, (100, 0)),
        ({}, {"action_error": "nothing is there"}, {}, None),
        ({}, {"answer": f"no. {TRY_AGAIN}"}, {}, None),
    ],
)
def test_the_pointer_is_where_the_turns_before_left_it_on_the_screen(
    stub: SimpleNamespace,
    seen: dict[str, Any],
    done: dict[str, Any],
    now: dict[str, Any],
    pointer: Point | None,
) -> None:
    step = Step(
        index=0,
        observation=stub.observation(**seen),
        decision=Decision(actions=(Click(x=50, y=40), TypeText(text="a")), text=""),
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
        **done,
    )
    shown = stub.observation("now", **now)
    context = Context(task=stub.task(), instruction="Do.", steps=(step,), observation=shown)
    assert pointer_at(context) == pointer


@pytest.mark.parametrize("name", ["openai_computer", "anthropic_computer"])
def test_a_bound_that_past_replies_would_pass_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="text_bytes is 8192: it does not bound past replies"):
        create_policy(name, model="m", base_url="http://x", memory={"n_screenshots": 2, "text_bytes": 8192})
    with pytest.raises(TypeError, match="timeout_s is 0"):
        create_policy(name, model="m", base_url="http://x", timeout_s=0)


@pytest.mark.parametrize(
    ("size_px", "shown"),
    [
        ((1024, 768), (1024, 768)),
        ((3136, 400), (1568, 200)),
        ((1920, 1080), (1429, 804)),
        ((1, 9000), (1, 1568)),
    ],
)
def test_screenshots_are_shrunk_to_what_an_api_takes(
    size_px: tuple[int, int], shown: tuple[int, int]
) -> None:
    assert ComputerUseSettings(model="m").shown_px(size_px) == shown


@pytest.mark.parametrize(
    ("text", "fault", "summary", "told"),
    [
        (" clicked once \n", None, "clicked once", None),
        ("a" * 99, None, f"{'a' * 7} (shortened from 99 bytes) {'a' * 6}", None),
        (" ", None, None, Fault.CUT_OFF),
        ("clicked", Fault.CUT_OFF, None, Fault.CUT_OFF),
        ("I may not.", Fault.REFUSED, None, Fault.REFUSED),
    ],
)
def test_a_summary_is_whole_and_short_or_a_void_turn(
    text: str, fault: Fault | None, summary: str | None, told: Fault | None
) -> None:
    memory = WindowMemory(summary_after=1, summary_tokens=5)
    decision = summed_up(text, memory, {"usd": 1.0}, fault=fault)
    assert (decision.summary, decision.fault, decision.text) == (summary, told, text)
    assert decision.void == (decision.error is not None) == (summary is None)
    assert decision.cost == {"usd": 1.0}
