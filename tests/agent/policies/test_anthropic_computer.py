"""Against a real HTTP server that holds requests to the rules of the Messages API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Picture
from starlette.responses import JSONResponse

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import EndpointError, InferenceTimeout, Trouble
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.anthropic_computer import AnthropicComputerPolicy
from deskhand_agent.prompt import SUMMARISE
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Fault, StopReason, Trajectory
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Action,
    Click,
    Fail,
    Finish,
    KeyDown,
    KeyUp,
    Navigate,
    Observation,
    Press,
    Scroll,
    Split,
    Start,
    Task,
    TypeText,
    Wait,
    Zoom,
)
from deskhand_sandbox.verifiers.none import Unverified

FIELDS = {
    "text": {"type", "text"},
    "thinking": {"type", "thinking", "signature"},
    "image": {"type", "source"},
    "tool_use": {"type", "id", "name", "input", "toolset_name"},
    "tool_result": {"type", "tool_use_id", "content", "is_error", "toolset_name"},
}
"""Block -> the fields of the published types that are used here."""
ROLES = {"user": {"text", "image", "tool_result"}, "assistant": {"text", "thinking", "tool_use"}}
THINKING = {"type": "thinking", "thinking": "It is there.", "signature": "sig"}


def complaint(body: dict[str, Any]) -> str | None:
    """What the API would refuse: roles out of turn, odd blocks, tools not answered, errors with pictures."""
    waiting: dict[str, str | None] = {}
    for number, message in enumerate(body["messages"]):
        role, blocks = message["role"], message["content"]
        if role != ("user", "assistant")[number % 2] or not blocks:
            return f"messages.{number}: roles must alternate, and content not be empty"
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        first = [block["type"] for block in blocks[: len(answered)]]
        if sorted(answered) != sorted(waiting) or set(first) - {"tool_result"}:
            return f"messages.{number}: `tool_use` ids without `tool_result` blocks right after: {waiting}"
        for block in blocks:
            if block["type"] not in ROLES[role] or set(block) - FIELDS[block["type"]]:
                return f"messages.{number}: unexpected {block}"
            if block["type"] == "text" and not block["text"].strip():
                return "text content blocks must contain non-whitespace text"
            if block["type"] == "tool_result" and block.get("toolset_name") != waiting[block["tool_use_id"]]:
                return "the toolset of a result is that of its use"
            if block.get("is_error") and '"image"' in json.dumps(block["content"]):
                return "all content must be type `text` if `is_error` is true"
        waiting = {b["id"]: b.get("toolset_name") for b in blocks if b["type"] == "tool_use"}
    if body["messages"][-1]["role"] != "user" or body["max_tokens"] < 1:
        return "the last message must be the user's"
    return None


def reply(*blocks: dict[str, Any], stop: str = "tool_use", **fields: Any) -> JSONResponse:
    return JSONResponse(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": list(blocks),
            "stop_reason": stop,
            "usage": {
                "input_tokens": 300,
                "cache_read_input_tokens": 600,
                "cache_creation_input_tokens": 100,
                "output_tokens": 20,
            },
            **fields,
        }
    )


def use(action: str, *, id_: str = "toolu_a", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "computer", "input": {"action": action, **fields}}


def act(calls: str, *, id_: str = "toolu_f") -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": "act", "input": {"calls": calls}}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


CLICK = use("left_click", coordinate=[10, 10])


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    endpoint.complaint = complaint
    endpoint.reply = lambda: reply(THINKING, text("I click it."), CLICK)
    endpoint.root = endpoint.url.removesuffix("/v1")
    return endpoint


@pytest.fixture
async def policy(endpoint: Any) -> AsyncIterator[AnthropicComputerPolicy]:
    policy = create_policy(
        "anthropic_computer",
        model="m",
        base_url=endpoint.root,
        api_key="secret",
        retries=1,
        timeout_s=5,
        usd_per_million_prompt_tokens=2.0,
        usd_per_million_cached_tokens=1.0,
        usd_per_million_completion_tokens=10.0,
    )
    assert isinstance(policy, AnthropicComputerPolicy)
    yield policy
    await policy.close()


@pytest.fixture
def context(stub: SimpleNamespace) -> Context:
    return Context(task=stub.task(), instruction="Click it.", steps=(), observation=stub.observation("now"))


async def test_a_call_becomes_a_decision(policy: AnthropicComputerPolicy, context: Context) -> None:
    decision = await policy.act(context)
    assert (decision.actions, decision.error) == ((Click(x=10, y=10),), None)
    assert decision.thought == "It is there.\nI click it."
    assert json.loads(decision.text) == [THINKING, text("I click it."), CLICK]
    assert decision.cost == {
        "prompt_tokens": 1000.0,
        "cached_tokens": 600.0,
        "completion_tokens": 20.0,
        "usd": pytest.approx(0.0016),
    }


@pytest.mark.parametrize(
    ("tool", "beta"),
    [
        ("20250124", "computer-use-2025-01-24"),
        ("20251124", "computer-use-2025-11-24"),
        ("20260801", None),
    ],
)
async def test_what_the_api_is_sent(endpoint: Any, context: Context, tool: Any, beta: str | None) -> None:
    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, api_key="secret", tool=tool)
    await policy.act(context)
    (sent,), (headers,) = endpoint.sent, endpoint.headers
    assert endpoint.paths == ["/v1/messages"]
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("secret", "2023-06-01")
    assert headers.get("anthropic-beta") == beta
    computer, other = sent["tools"]
    if beta:
        assert (computer["type"], computer["display_width_px"], computer["display_height_px"]) == (
            f"computer_{tool}",
            100,
            80,
        )
        # the first has no zoom, and refuses the field
        assert computer.get("enable_zoom") == (True if tool == "20251124" else None)
    else:
        assert (computer["type"], computer["configs"]) == (
            f"computer_toolset_{tool}",
            {"cursor_position": {"enabled": False}},
        )
    assert other["input_schema"]["required"] == ["calls"]
    (shown,) = sent["messages"]
    assert [part["type"] for part in shown["content"]] == ["text", "image"]
    await policy.close()


@pytest.mark.parametrize(
    ("blocks", "stop", "actions"),
    [
        ([use("screenshot")], "tool_use", (Wait(seconds=0.0),)),
        (
            [use("left_click", coordinate=[1, 2], text="shift")],
            "tool_use",
            (KeyDown(key="Shift"), Click(x=1, y=2), KeyUp(key="Shift")),
        ),
        (
            [use("mouse_move", coordinate=[5, 6]), use("scroll", scroll_direction="down", scroll_amount=2)],
            "tool_use",
            None,
        ),
        ([act("navigate(url='https://a.test')")], "tool_use", (Navigate(url="https://a.test"),)),
        ([text("No way."), act("fail(reason='no')")], "tool_use", (Fail(reason="no"),)),
        ([THINKING, text("It is 42.")], "end_turn", (Finish(text="It is 42."),)),
        ([], "end_turn", (Finish(text=""),)),
        (
            [
                {
                    "type": "tool_use",
                    "id": "t",
                    "name": "left_click",
                    "toolset_name": "computer",
                    "input": {"coordinate": [1, 2]},
                }
            ],
            "tool_use",
            (Click(x=1, y=2),),
        ),
    ],
)
async def test_what_replies_mean(
    policy: AnthropicComputerPolicy,
    endpoint: Any,
    context: Context,
    blocks: list[dict[str, Any]],
    stop: str,
    actions: tuple[Action, ...] | None,
) -> None:
    endpoint.queue = [reply(*blocks, stop=stop)]
    decision = await policy.act(context)
    if actions is None:
        # the wheel turns where the call before it left the pointer
        assert decision.actions[1] == Scroll(x=5, y=6, dy_px=200)
    else:
        assert decision.actions == actions


@pytest.mark.parametrize(
    ("answer", "fault", "said"),
    [
        (reply(use("teleport")), Fault.UNKNOWN_ACTION, "teleport"),
        (reply(use("left_click", coordinate=[1])), Fault.UNKNOWN_ACTION, "coordinate"),
        (reply({**CLICK, "name": "fly"}), Fault.UNKNOWN_ACTION, "fly"),
        (reply({**CLICK, "input": None}), Fault.UNKNOWN_ACTION, "input"),
        (reply(act("teleport()")), Fault.UNKNOWN_ACTION, "teleport"),
        (reply(act("I open the address first.")), Fault.SYNTAX, "expected"),
        (reply(act("navigate(url=")), Fault.SYNTAX, "expected"),
        (reply({**act(""), "input": {}}), Fault.UNKNOWN_ACTION, "act"),
        (reply(use("zoom")), Fault.UNKNOWN_ACTION, "region"),
        (reply(use("zoom", region=[8, 8, 4, 4])), Fault.UNKNOWN_ACTION, "not empty"),
        (reply(use("zoom", region=[0, 0, 9, 9], scale=2)), Fault.UNKNOWN_ACTION, "scale"),
        (reply(text("so"), stop="max_tokens"), Fault.CUT_OFF, "too long"),
        (reply(text("No."), stop="refusal"), Fault.REFUSED, "refused: No."),
    ],
)
async def test_what_is_no_action_is_a_void_turn_of_its_kind(
    policy: AnthropicComputerPolicy,
    endpoint: Any,
    context: Context,
    answer: JSONResponse,
    fault: Fault,
    said: str,
) -> None:
    endpoint.queue = [answer]
    decision = await policy.act(context)
    assert (decision.actions, decision.fault, decision.void) == ((), fault, True)
    assert said in str(decision.error)
    assert decision.cost["completion_tokens"] == 20.0


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        7,
        {"content": "text"},
        {"content": [None]},
        {"content": [{"type": "tool_use", "name": "computer", "input": {}}]},
        {"content": [{**CLICK, "id": 3}]},
    ],
)
async def test_nonsense_is_asked_again_and_then_an_error(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, body: Any
) -> None:
    endpoint.queue = [JSONResponse(body)]
    assert (await policy.act(context)).cost["nonsense"] == 1.0
    endpoint.queue = [JSONResponse(body)] * 2
    with pytest.raises(EndpointError) as caught:
        await policy.act(context)
    assert (caught.value.trouble, len(endpoint.sent)) == (Trouble.NONSENSE, 4)


async def test_a_message_that_cannot_be_read_is_paid_for(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context
) -> None:
    endpoint.queue = [reply({**CLICK, "id": 3})]
    cost = (await policy.act(context)).cost
    assert (cost["prompt_tokens"], cost["nonsense"], cost["usd"]) == (2000.0, 1.0, pytest.approx(0.0032))


async def test_a_usage_of_no_size_is_none(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context
) -> None:
    endpoint.queue = [reply(CLICK, usage={"input_tokens": 10**400, "output_tokens": 1})]
    decision = await policy.act(context)
    assert (decision.actions, decision.cost) == ((Click(x=10, y=10),), {})


async def test_history_is_sent_as_it_came_with_the_screens_after_it(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    several = [THINKING, text(""), CLICK, use("wait", id_="toolu_b", duration=1)]
    steps = (
        stub.past(0, Decision(actions=(Click(x=10, y=10), Wait()), text=json.dumps(several))),
        stub.past(1, Decision(actions=(Click(x=1, y=1),), text=json.dumps([CLICK])), action_error="off"),
        stub.past(2, Decision(actions=(), text=json.dumps([use("teleport")]), error="no such action")),
    )
    await policy.act(replace(context, steps=steps))
    (sent,) = endpoint.sent
    first, said, results, again, failed, void, last = sent["messages"]
    assert said["content"] == [several[0], *several[2:]]
    assert [block["tool_use_id"] for block in results["content"]] == ["toolu_a", "toolu_b"]
    assert results["content"][0]["content"] == "Done."
    assert results["content"][1]["content"][0]["type"] == "image"
    assert again["content"] == [CLICK]
    assert (failed["content"][0]["is_error"], failed["content"][1]) == (True, text("error: off\n"))
    assert [block["type"] for block in failed["content"]] == ["tool_result", "text", "image"]
    assert failed["content"][0]["content"] == "Failed."
    assert void["content"] == [text("(no action)")]
    assert [block["type"] for block in last["content"]] == ["text", "image"]
    assert json.dumps(first).count('"image"') == 1


async def test_a_turn_of_which_an_action_failed_says_that_those_before_it_were_done(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    theirs = [CLICK, use("type", id_="toolu_b", text="hi")]
    turn = Decision(actions=(Click(x=10, y=10), TypeText(text="hi")), text=json.dumps(theirs))
    step = stub.past(0, turn, action_error="nothing has the focus")
    await policy.act(replace(context, steps=(step,)))
    first, second, told, _ = endpoint.sent[0]["messages"][2]["content"]
    assert first["content"] == second["content"] and "before it were carried out" in first["content"]
    assert told == text("error: nothing has the focus\n")


@pytest.mark.parametrize("said", ["", " \n"])
async def test_a_past_reply_of_white_space_is_sent_as_no_action(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace, said: str
) -> None:
    empty, acted = [text(said)], [text(said), CLICK]
    steps = (
        stub.past(0, Decision(actions=(Finish(text=said),), text=json.dumps(empty)), answer="Not done."),
        stub.past(1, Decision(actions=(Click(x=10, y=10),), text=json.dumps(acted))),
    )
    await policy.act(replace(context, steps=steps))
    replies = [each["content"] for each in endpoint.sent[0]["messages"] if each["role"] == "assistant"]
    assert replies == [[text("(no action)")], [CLICK]]


WIDE = (3136, 400)
"""Shown at half of it."""


def zoom(*region: int, id_: str = "toolu_z") -> dict[str, Any]:
    return use("zoom", id_=id_, region=list(region))


async def played_on_a_wide_screen(
    policy: AnthropicComputerPolicy, stub: SimpleNamespace
) -> tuple[Trajectory, list[Action]]:
    wide = encoded(Picture.new("RGB", WIDE))

    class Wide(stub.Sandbox):
        async def act(self, action: Any) -> Observation:
            self.actions.append(action)
            return Observation(screenshot=wide, captured_at_s=1.0, settled_ms=1.0)

        async def reset(self, task: Task) -> Start:
            return Start(instruction="Look.", observation=replace(stub.observation(), screenshot=wide))

    sandbox = Wide()
    played = await run_episode(
        stub.task(),
        sandbox=sandbox,
        policy=policy,
        verifier=Unverified(),
        sink=MemorySink(),
        split=Split.TRAIN,
    )
    return played, sandbox.actions


async def test_their_zoom_shows_a_part_and_coordinates_stay_those_of_the_whole_screen(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    endpoint.queue = [
        reply(zoom(100, 50, 140, 70)),
        reply(zoom(110, 55, 130, 65, id_="toolu_y")),
        reply(use("left_click", coordinate=[120, 60])),
        reply(text("Done."), stop="end_turn"),
    ]
    played, acted = await played_on_a_wide_screen(policy, stub)
    regions = [step.observation.region for step in played.steps]
    assert regions == [None, (200, 100, 280, 140), (220, 110, 260, 130), None]
    assert acted == [Click(x=240, y=120)]
    assert [body["tools"][0]["display_width_px"] for body in endpoint.sent] == [1568] * 4
    (result,) = [b for b in endpoint.sent[1]["messages"][2]["content"] if b["type"] == "tool_result"]
    told, picture = result["content"]
    assert (result["tool_use_id"], picture["type"]) == ("toolu_z", "image")
    assert "those of the whole screen" in told["text"]


async def test_what_lies_beyond_a_part_is_refused_until_the_whole_is_seen_again(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    beyond = use("left_click", coordinate=[700, 60])
    endpoint.queue = [
        reply(zoom(100, 50, 140, 70)),
        reply({**beyond, "id": "toolu_b"}),
        reply(use("screenshot", id_="toolu_s")),
        reply(beyond),
        reply(text("Done."), stop="end_turn"),
    ]
    played, acted = await played_on_a_wide_screen(policy, stub)
    assert "beyond the part of the screen shown" in str(played.steps[1].action_error)
    assert acted == [Wait(seconds=0.0), Click(x=1400, y=120)]


async def test_the_pointer_of_the_whole_screen_is_kept_while_a_part_is_shown(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    endpoint.queue = [
        reply(use("mouse_move", coordinate=[120, 60])),
        reply(zoom(100, 50, 140, 70)),
        reply(use("left_click", id_="toolu_c")),
        reply(text("Done."), stop="end_turn"),
    ]
    _, acted = await played_on_a_wide_screen(policy, stub)
    assert acted[-1] == Click(x=240, y=120)


async def test_a_zoom_that_another_call_follows_is_answered_without_a_picture(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    endpoint.queue = [
        reply(zoom(100, 50, 140, 70), CLICK, zoom(0, 0, 40, 20, id_="toolu_y")),
        reply(text("Done."), stop="end_turn"),
    ]
    await played_on_a_wide_screen(policy, stub)
    results = [b for b in endpoint.sent[1]["messages"][2]["content"] if b["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in results] == ["toolu_z", "toolu_a", "toolu_y"]
    assert "Not shown" in results[0]["content"] and results[1]["content"] == "Done."
    assert [part["type"] for part in results[2]["content"]] == ["text", "image"]


async def test_a_zoom_after_which_a_person_took_over_is_answered_with_the_whole_screen(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    look = Zoom(start=(10, 5), end=(13, 8))
    steps = (
        stub.past(0, Decision(actions=(look,), text=json.dumps([zoom(10, 5, 14, 9)]))),
        stub.past(1, Decision(actions=(Click(x=1, y=2),), text="a person's")),
    )
    await policy.act(replace(context, steps=steps))
    (result,) = [b for b in endpoint.sent[0]["messages"][2]["content"] if b["type"] == "tool_result"]
    assert (result["tool_use_id"], [part["type"] for part in result["content"]]) == ("toolu_z", ["image"])


async def test_after_a_zoom_by_our_grammar_coordinates_are_those_of_the_part(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    look = "zoom(start_point='<point>100 50</point>', end_point='<point>139 69</point>')"
    endpoint.queue = [
        reply(act(look)),
        reply(use("left_click", coordinate=[0, 0])),
        reply(text("Done."), stop="end_turn"),
    ]
    played, acted = await played_on_a_wide_screen(policy, stub)
    region = played.steps[1].observation.region
    assert region is not None and acted == [Click(x=region[0], y=region[1])]
    assert played.steps[1].observation.size_px[0] == endpoint.sent[1]["tools"][0]["display_width_px"]


async def test_the_results_of_several_calls_stand_in_their_order_and_a_click_with_a_key_has_one(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    held = (KeyDown(key="Shift"), Click(x=1, y=2), KeyUp(key="Shift"))
    theirs = [
        use("key", id_="toolu_z", text="a"),
        act("wait()", id_="toolu_m"),
        use("screenshot", id_="toolu_a"),
    ]
    steps = (
        stub.past(0, Decision(actions=held, text="a person's")),
        stub.past(1, Decision(actions=(Press(keys=("a",)), Wait(), Wait()), text=json.dumps(theirs))),
    )
    await policy.act(replace(context, steps=steps))
    (sent,) = endpoint.sent
    _, click, clicked, said, results = sent["messages"]
    (call,) = click["content"]
    assert (call["input"]["action"], call["input"]["text"]) == ("left_click", "shift")
    assert [block["tool_use_id"] for block in clicked["content"] if block["type"] == "tool_result"] == [
        call["id"]
    ]
    assert said["content"] == theirs
    answered = [block for block in results["content"] if block["type"] == "tool_result"]
    assert [block["tool_use_id"] for block in answered] == ["toolu_z", "toolu_m", "toolu_a"]
    assert [json.dumps(block["content"]).count('"image"') for block in answered] == [0, 0, 1]


async def test_turns_that_others_decided_are_shown_as_the_models_own(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    steps = (
        stub.past(0, Decision(actions=(Scroll(x=1, y=2, dx_px=100, dy_px=-300),), text="a person's")),
        stub.past(1, Decision(actions=(Navigate(url="https://a.test"),), text="[]")),
    )
    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, tool="20260801")
    await policy.act(replace(context, steps=steps))
    (sent,) = endpoint.sent
    up, right = sent["messages"][1]["content"]
    assert (up["name"], up["toolset_name"], up["input"]) == (
        "scroll",
        "computer",
        {"coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 3},
    )
    assert right["input"]["scroll_direction"] == "right"
    (other,) = sent["messages"][3]["content"]
    assert (other["name"], other["input"]) == ("act", {"calls": "navigate(url='https://a.test')"})
    await policy.close()


async def test_a_large_screen_is_shown_smaller_and_clicks_land_where_they_should(
    policy: AnthropicComputerPolicy, endpoint: Any, context: Context
) -> None:
    seen = replace(context.observation, screenshot=encoded(Picture.new("RGB", (3136, 400))))
    decision = await policy.act(replace(context, observation=seen))
    assert decision.actions == (Click(x=20, y=20),)
    assert endpoint.sent[0]["tools"][0]["display_width_px"] == 1568


async def test_earlier_turns_are_told_in_the_pixels_of_what_is_shown(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, memory=WindowMemory(n_screenshots=1))
    seen = replace(context.observation, screenshot=encoded(Picture.new("RGB", (3136, 400))))
    past = replace(stub.past(0, Decision(actions=(Click(x=20, y=20),), text="[]")), observation=seen)
    await policy.act(replace(context, observation=seen, steps=(past,)))
    assert "<point>10 10</point>" in json.dumps(endpoint.sent[0])
    await policy.close()


async def test_it_is_asked_for_summaries_where_its_memory_wants_them(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    memory = WindowMemory(summary_after=1, n_screenshots=3)
    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, memory=memory)
    endpoint.queue = [reply(text(" clicked once \n"), stop="end_turn")]
    turn = Decision(actions=(Click(x=10, y=10),), text=json.dumps([CLICK]))
    decision = await policy.act(replace(context, steps=(stub.past(0, turn),)))
    assert (decision.summary, decision.actions) == ("clicked once", ())
    (sent,) = endpoint.sent
    assert (sent["tool_choice"], SUMMARISE in json.dumps(sent)) == ({"type": "none"}, True)
    await policy.close()


async def test_thinking_is_asked_for_as_the_api_has_it(endpoint: Any, context: Context) -> None:
    wish = {"type": "enabled", "budget_tokens": 1024}
    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, thinking=wish)
    await policy.act(context)
    assert endpoint.sent[0]["thinking"] == wish
    await policy.close()


async def test_silence_is_a_timeout(endpoint: Any, context: Context) -> None:
    silent = asyncio.Event()

    async def hang() -> JSONResponse:
        await silent.wait()
        return reply()

    policy = AnthropicComputerPolicy(model="m", base_url=endpoint.root, timeout_s=0.1, retries=0)
    endpoint.queue = [hang]
    with pytest.raises(InferenceTimeout, match=r"within 0\.1 s"):
        await policy.act(context)
    silent.set()
    await policy.close()


async def test_a_key_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(EndpointError, match="ANTHROPIC_API_KEY"):
        AnthropicComputerPolicy(model="m")


async def test_a_whole_episode_over_the_wire(
    policy: AnthropicComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    overloaded = JSONResponse(
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, status_code=529
    )
    endpoint.queue = [
        reply(use("screenshot")),
        reply(CLICK),
        overloaded,
        reply(use("teleport", id_="toolu_c")),
        reply(use("left_click", id_="toolu_d", coordinate=[500, 10])),
        reply(THINKING, {**CLICK, "id": "toolu_e"}),
        reply(text("Done."), stop="end_turn"),
    ]
    episode = {"sandbox": stub.Sandbox(), "policy": policy, "verifier": stub.Verifier(), "sink": MemorySink()}
    played = await run_episode(stub.task(2), split=Split.TRAIN, **episode)
    assert played.end is not None
    assert (played.end.stop_reason, played.end.outcome and played.end.outcome.success) == (
        StopReason.FINISHED,
        True,
    )
    assert [step.decision.fault for step in played.steps] == [None, None, Fault.UNKNOWN_ACTION, *[None] * 3]
    assert played.steps[2].decision.cost["server_error"] == 1.0
    assert "off the screen" in str(played.steps[3].action_error)
