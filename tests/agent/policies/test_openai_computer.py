"""Against a real HTTP server that holds requests to the Responses API's types and rules."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from openai.types.responses import ToolParam
from openai.types.responses.response_input_param import ResponseInputItemParam
from PIL import Image as Picture
from pydantic import TypeAdapter, ValidationError
from starlette.responses import JSONResponse

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import EndpointError, Trouble
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.openai_computer import OpenAIComputerPolicy
from deskhand_agent.prompt import SUMMARISE
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Failure, Fault, StopReason
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import (
    Action,
    AskUser,
    Click,
    Fail,
    Finish,
    Navigate,
    Press,
    Split,
    TypeText,
    Wait,
)

ITEMS, TOOLS = TypeAdapter(list[ResponseInputItemParam]), TypeAdapter(list[ToolParam])
CLICK = {"type": "click", "x": 10, "y": 10, "button": "left"}
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "It is there."}],
    "encrypted_content": "gAAA",
}


def complaint(body: dict[str, Any]) -> str | None:
    """What the API would refuse: items of no type, calls without output, outputs without call."""
    try:
        ITEMS.validate_python(body["input"])
        TOOLS.validate_python(body["tools"])
    except ValidationError as error:
        return str(error)[:500]
    open_calls: dict[str, dict[str, Any]] = {}
    for item in body["input"]:
        if item["type"] in ("computer_call", "function_call"):
            open_calls[item["call_id"]] = item
        elif item["type"].endswith("_call_output"):
            call = open_calls.pop(item["call_id"], None)
            if call is None or item["type"] != f"{call['type']}_output":
                return f"No tool call found for output {item['call_id']}"
            asked = [check["id"] for check in call.get("pending_safety_checks", [])]
            if asked != [check["id"] for check in item.get("acknowledged_safety_checks", [])]:
                return "Computer call has pending safety checks that have not been acknowledged"
        elif open_calls and item["type"] == "message":
            return f"No tool output found for {sorted(open_calls)}"
    return f"No tool output found for {sorted(open_calls)}" if open_calls else None


def response(*items: dict[str, Any], **fields: Any) -> JSONResponse:
    return JSONResponse(
        {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": list(items),
            "usage": {
                "input_tokens": 1000,
                "input_tokens_details": {"cached_tokens": 600},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 1020,
            },
            **fields,
        }
    )


def call(*actions: dict[str, Any], id_: str = "call_a", **fields: Any) -> dict[str, Any]:
    return {
        "type": "computer_call",
        "id": f"cu_{id_}",
        "call_id": id_,
        "status": "completed",
        "pending_safety_checks": [],
        "actions": list(actions),
        **fields,
    }


def act(calls: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_f",
        "name": "act",
        "arguments": json.dumps({"calls": calls}),
    }


def message(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    endpoint.complaint = complaint
    endpoint.reply = lambda: response(REASONING, call(CLICK))
    return endpoint


@pytest.fixture
async def policy(endpoint: Any) -> AsyncIterator[OpenAIComputerPolicy]:
    policy = create_policy(
        "openai_computer",
        model="m",
        base_url=endpoint.url,
        api_key="secret",
        retries=1,
        timeout_s=5,
        usd_per_million_prompt_tokens=2.0,
        usd_per_million_cached_tokens=1.0,
        usd_per_million_completion_tokens=10.0,
    )
    assert isinstance(policy, OpenAIComputerPolicy)
    yield policy
    await policy.close()


@pytest.fixture
def context(stub: SimpleNamespace) -> Context:
    return Context(task=stub.task(), instruction="Click it.", steps=(), observation=stub.observation("now"))


async def test_a_call_becomes_a_decision(policy: OpenAIComputerPolicy, context: Context) -> None:
    decision = await policy.act(context)
    assert (decision.actions, decision.thought, decision.error) == (
        (Click(x=10, y=10),),
        "It is there.",
        None,
    )
    assert json.loads(decision.text) == [REASONING, call(CLICK)]
    assert (decision.trainable, decision.request, decision.completion) == (False, None, None)
    assert decision.cost == {
        "prompt_tokens": 1000.0,
        "cached_tokens": 600.0,
        "completion_tokens": 20.0,
        "usd": pytest.approx(0.0016),
    }


async def test_what_the_api_is_sent(policy: OpenAIComputerPolicy, endpoint: Any, context: Context) -> None:
    await policy.act(context)
    (sent,) = endpoint.sent
    assert (endpoint.paths, endpoint.keys) == (["/v1/responses"], ["Bearer secret"])
    assert (sent["store"], sent["include"]) == (False, ["reasoning.encrypted_content"])
    assert [tool["type"] for tool in sent["tools"]] == ["computer", "function"]
    (shown,) = sent["input"]
    assert [part["type"] for part in shown["content"]] == ["input_text", "input_image"]
    assert shown["content"][0]["text"] == "Click it.\n"


async def test_near_misses_in_our_grammar_are_counted(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context
) -> None:
    endpoint.queue = [response(act("goto('https://a.test')"), call(CLICK))]
    decision = await policy.act(context)
    assert decision.actions == (Navigate(url="https://a.test"), Click(x=10, y=10))
    assert decision.repairs == ("name", "argument")


@pytest.mark.parametrize(
    ("items", "actions"),
    [
        ([call(CLICK, {"type": "type", "text": "a"})], (Click(x=10, y=10), TypeText(text="a"))),
        ([call({"type": "keypress", "keys": ["CTRL", "L"]})], (Press(keys=("Control", "l")),)),
        ([call({"type": "screenshot"})], (Wait(seconds=0.0),)),
        ([{**call(), "action": CLICK, "actions": None}], (Click(x=10, y=10),)),
        ([act("navigate(url='https://a.test')")], (Navigate(url="https://a.test"),)),
        ([act("fail(reason='no')")], (Fail(reason="no"),)),
        ([call(CLICK), act("call_user(content='?')")], (Click(x=10, y=10), AskUser(question="?"))),
        ([REASONING, message("It is 42.")], (Finish(text="It is 42."),)),
        ([], (Finish(text=""),)),
    ],
)
async def test_what_replies_mean(
    policy: OpenAIComputerPolicy,
    endpoint: Any,
    context: Context,
    items: list[dict[str, Any]],
    actions: tuple[Action, ...],
) -> None:
    endpoint.queue = [response(*items)]
    assert (await policy.act(context)).actions == actions


@pytest.mark.parametrize(
    ("reply", "fault", "said"),
    [
        (response(call({"type": "teleport", "x": 1})), Fault.UNKNOWN_ACTION, "teleport"),
        (response(call({"type": "click", "x": 1})), Fault.UNKNOWN_ACTION, "y of"),
        (response(call()), Fault.UNKNOWN_ACTION, "type"),
        (response({**act(""), "name": "fly"}), Fault.UNKNOWN_ACTION, "fly"),
        (response({**act(""), "arguments": "{"}), Fault.UNKNOWN_ACTION, "act"),
        (response(act("teleport()")), Fault.UNKNOWN_ACTION, "teleport"),
        (response(status="incomplete"), Fault.CUT_OFF, "too long"),
        (
            response(status="incomplete", incomplete_details={"reason": "content_filter"}),
            Fault.REFUSED,
            "refused",
        ),
        (
            response({**message(""), "content": [{"type": "refusal", "refusal": "No."}]}),
            Fault.REFUSED,
            "refused: No.",
        ),
    ],
)
async def test_what_is_no_action_is_a_void_turn_of_its_kind(
    policy: OpenAIComputerPolicy,
    endpoint: Any,
    context: Context,
    reply: JSONResponse,
    fault: Fault,
    said: str,
) -> None:
    endpoint.queue = [reply]
    decision = await policy.act(context)
    assert (decision.actions, decision.fault, decision.void) == ((), fault, True)
    assert said in str(decision.error)
    assert decision.cost["prompt_tokens"] == 1000.0


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"output": None},
        {"output": [1]},
        {"output": [{"type": "computer_call", "actions": [CLICK]}]},
        {"output": [{"type": "computer_call", "call_id": 7, "actions": [CLICK]}]},
        {"output": [{"type": "message"}]},
        {"output": [], "status": "failed", "error": {"code": "server_error", "message": "broke"}},
    ],
)
async def test_nonsense_is_asked_again_and_then_an_error(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context, body: Any
) -> None:
    endpoint.queue = [JSONResponse(body)]
    assert (await policy.act(context)).cost["nonsense"] == 1.0
    endpoint.queue = [JSONResponse(body)] * 2
    with pytest.raises(EndpointError) as caught:
        await policy.act(context)
    assert (caught.value.trouble, len(endpoint.sent)) == (Trouble.NONSENSE, 4)


async def test_history_is_sent_as_it_came_with_the_screens_after_it(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    unknown = call({"type": "teleport"}, id_="call_b")
    steps = (
        stub.past(0, Decision(actions=(Click(x=10, y=10),), text=json.dumps([REASONING, call(CLICK)]))),
        stub.past(1, Decision(actions=(), text=json.dumps([unknown]), error="no such action")),
    )
    await policy.act(replace(context, steps=steps))
    (sent,) = endpoint.sent
    items = sent["input"]
    assert [item["type"] for item in items] == [
        "message",
        "reasoning",
        "computer_call",
        "computer_call_output",
        "message",
        "message",
    ]
    assert items[1:3] == [REASONING, call(CLICK)]
    text, image = items[-1]["content"]
    assert text == {"type": "input_text", "text": "error: no such action\n"}
    assert (
        len({items[0]["content"][1]["image_url"], items[3]["output"]["image_url"], image["image_url"]}) == 3
    )


async def test_a_function_that_failed_is_not_reported_as_done(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    go, both = Navigate(url="https://a.test"), [call(CLICK), act("navigate(url='https://a.test')")]
    steps = (
        stub.past(0, Decision(actions=(go,), text=json.dumps([act("navigate(url='https://a.test')")]))),
        stub.past(1, Decision(actions=(go,), text="a person's"), action_error="no such host"),
        stub.past(2, Decision(actions=(Click(x=10, y=10), go), text=json.dumps(both)), action_error="no"),
    )
    await policy.act(replace(context, steps=steps))
    outputs = [each["output"] for each in endpoint.sent[0]["input"] if each["type"] == "function_call_output"]
    assert outputs[:2] == ["Done.", "Failed."] and "before it were carried out" in outputs[2]


async def test_turns_that_others_decided_are_shown_as_the_models_own(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    steps = (
        stub.past(0, Decision(actions=(Click(x=1, y=2, count=2),), text="a person's")),
        stub.past(1, Decision(actions=(Navigate(url="https://a.test"),), text="navigate(…)")),
        stub.past(2, Decision(actions=(), text="hm", error="nothing said")),
    )
    await policy.act(replace(context, steps=steps))
    (sent,) = endpoint.sent
    calls = [item for item in sent["input"] if item["type"] in ("computer_call", "function_call")]
    assert calls[0]["actions"] == [{"type": "double_click", "x": 1, "y": 2, "keys": None}]
    assert json.loads(calls[1]["arguments"]) == {"calls": "navigate(url='https://a.test')"}
    assert {"type": "message", "role": "assistant", "content": "(no action)"} in sent["input"]


async def test_older_turns_are_lines_and_pictures_are_bounded(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    memory = WindowMemory(n_screenshots=2)
    policy = OpenAIComputerPolicy(model="m", base_url=endpoint.url, memory=memory)
    turn = Decision(actions=(Click(x=10, y=10),), text=json.dumps([call(CLICK)]))
    await policy.act(replace(context, steps=tuple(stub.past(n, turn) for n in range(4))))
    (sent,) = endpoint.sent
    assert json.dumps(sent).count("data:image") == 2
    assert "3. click(point=" in sent["input"][0]["content"][0]["text"]
    await policy.close()


async def test_a_large_screen_is_shown_smaller_and_clicks_land_where_they_should(
    endpoint: Any, context: Context
) -> None:
    policy = OpenAIComputerPolicy(
        model="m", base_url=endpoint.url, tool="computer_use_preview", longest_px=100, environment="ubuntu"
    )
    screen = encoded(Picture.new("RGB", (400, 200)))
    seen = replace(context.observation, screenshot=screen)
    decision = await policy.act(replace(context, observation=seen))
    assert decision.actions == (Click(x=40, y=40),)
    tool = endpoint.sent[0]["tools"][0]
    assert (tool["display_width"], tool["display_height"], tool["environment"]) == (100, 50, "ubuntu")
    await policy.close()


async def test_a_tree_is_told_in_pixels_of_what_is_shown(endpoint: Any, context: Context) -> None:
    memory = WindowMemory(screens="tree_and_picture")
    policy = OpenAIComputerPolicy(model="m", base_url=endpoint.url, longest_px=100, memory=memory)
    screen = encoded(Picture.new("RGB", (400, 200)))
    seen = replace(context.observation, screenshot=screen, text_tree='button "go" (160, 80)')
    await policy.act(replace(context, observation=seen))
    told, picture = endpoint.sent[0]["input"][0]["content"]
    assert told["text"].endswith('On the screen:\nbutton "go" (40, 20)\n')
    assert picture["type"] == "input_image"
    await policy.close()


async def test_a_safety_check_stops_unless_told_otherwise(
    policy: OpenAIComputerPolicy, endpoint: Any, stub: SimpleNamespace, context: Context
) -> None:
    checks = [{"id": "cu_sc_1", "code": "malicious_instructions", "message": "The page gives orders."}]
    asked = call(CLICK, pending_safety_checks=checks)
    endpoint.queue = [response(asked)]
    with pytest.raises(EndpointError, match=r"The page gives orders\..*acknowledge_safety_checks") as caught:
        await policy.act(context)
    assert "spent: 1000 prompt_tokens, 20 completion_tokens, 0.0016 usd" in str(caught.value)
    trusting = OpenAIComputerPolicy(model="m", base_url=endpoint.url, acknowledge_safety_checks=True)
    endpoint.queue = [response(asked)]
    decision = await trusting.act(context)
    await trusting.act(replace(context, steps=(stub.past(0, decision),)))
    await trusting.close()


async def test_a_response_that_failed_is_paid_for(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context
) -> None:
    endpoint.queue = [response(status="failed", error={"code": "server_error", "message": "broke"})]
    cost = (await policy.act(context)).cost
    assert (cost["prompt_tokens"], cost["nonsense"], cost["usd"]) == (2000.0, 1.0, pytest.approx(0.0032))


@pytest.mark.parametrize("odd", [5, ["look"], {"message": "look"}])
async def test_only_calls_have_safety_checks(
    policy: OpenAIComputerPolicy, endpoint: Any, context: Context, odd: object
) -> None:
    endpoint.queue = [response({**message("Well."), "pending_safety_checks": odd}, call(CLICK))]
    assert (await policy.act(context)).actions == (Click(x=10, y=10),)


async def test_earlier_turns_are_told_in_the_pixels_of_what_is_shown(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    policy = OpenAIComputerPolicy(model="m", base_url=endpoint.url, memory=WindowMemory(n_screenshots=1))
    seen = replace(context.observation, screenshot=encoded(Picture.new("RGB", (3136, 400))))
    past = replace(stub.past(0, Decision(actions=(Click(x=20, y=20),), text="[]")), observation=seen)
    await policy.act(replace(context, observation=seen, steps=(past,)))
    assert "<point>10 10</point>" in json.dumps(endpoint.sent[0])
    await policy.close()


async def test_it_is_asked_for_summaries_where_its_memory_wants_them(
    endpoint: Any, context: Context, stub: SimpleNamespace
) -> None:
    policy = OpenAIComputerPolicy(model="m", base_url=endpoint.url, memory=WindowMemory(summary_after=1))
    endpoint.queue = [response(message(" clicked once \n"))]
    turn = Decision(actions=(Click(x=10, y=10),), text=json.dumps([call(CLICK)]))
    decision = await policy.act(replace(context, steps=(stub.past(0, turn),)))
    assert (decision.summary, decision.actions) == ("clicked once", ())
    (sent,) = endpoint.sent
    assert (sent["tool_choice"], SUMMARISE in json.dumps(sent)) == ("none", True)
    await policy.close()


async def test_a_whole_episode_over_the_wire(
    policy: OpenAIComputerPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    slow = JSONResponse({"error": {"message": "slow"}}, status_code=429, headers={"retry-after-ms": "1"})
    endpoint.queue = [
        response(call({"type": "screenshot"}, id_="call_0")),
        response(REASONING, call(CLICK, id_="call_1")),
        response(call({"type": "teleport"}, id_="call_2")),
        slow,
        response(call({"type": "click", "x": 500, "y": 10, "button": "left"}, id_="call_3")),
        response(call(CLICK, id_="call_4")),
        response(message("Done.")),
    ]
    episode = {"sandbox": stub.Sandbox(), "policy": policy, "verifier": stub.Verifier(), "sink": MemorySink()}
    played = await run_episode(stub.task(2), split=Split.TRAIN, **episode)
    assert played.end
    assert (played.end.stop_reason, played.end.outcome and played.end.outcome.success) == (
        StopReason.FINISHED,
        True,
    )
    assert [step.decision.fault for step in played.steps] == [None, None, Fault.UNKNOWN_ACTION, *[None] * 3]
    assert played.steps[3].decision.cost["rate_limited"] == 1.0
    assert "off the screen" in str(played.steps[3].action_error)
    assert "off the screen" in json.dumps(endpoint.sent[5]["input"])

    broken = JSONResponse({"error": {"message": "broken"}}, status_code=500, headers={"retry-after-ms": "1"})
    endpoint.queue = [response(call(CLICK)), broken, broken]
    played = await run_episode(stub.task(3), split=Split.TRAIN, **episode | {"sink": MemorySink()})
    assert played.end and (played.end.failure, len(played.steps)) == (Failure.MODEL_ERROR, 1)
    assert "2 requests: server_error 2" in played.end.failure_detail
