"""Against a real HTTP server that speaks the protocol, and speaks it wrongly when told to."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import run_episode
from deskhand_agent.errors import EndpointError, InferenceTimeout
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies import create_policy
from deskhand_agent.policies.openai import OpenAIPolicy
from deskhand_agent.prompt import SUMMARISE
from deskhand_agent.sinks import MemorySink
from deskhand_agent.test_time.checking import Answering, AskedModel
from deskhand_agent.types import Context, Decision, Failure, Fault
from deskhand_sandbox.types import Click, Finish, Split

CLICK = "<think>there</think>\nclick(point='<point>10 10</point>')"


def reply(text: str | None = CLICK, *, ended: str = "stop", refusal: str | None = None) -> JSONResponse:
    return JSONResponse(
        {
            "id": "chat-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": ended,
                    "message": {"role": "assistant", "content": text, "refusal": refusal},
                }
            ],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020},
        }
    )


def refusal(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": {"message": message}}, status_code=status, headers={"retry-after-ms": "1"})


@pytest.fixture
def endpoint(endpoint: Any) -> Any:
    endpoint.reply = reply
    return endpoint


@pytest.fixture
async def policy(endpoint: Any) -> AsyncIterator[OpenAIPolicy]:
    policy = create_policy(
        "openai", model="m", base_url=endpoint.url, api_key="secret", retries=1, timeout_s=5
    )
    assert isinstance(policy, OpenAIPolicy)
    yield policy
    await policy.close()


@pytest.fixture
def context(stub: SimpleNamespace) -> Context:
    return Context(task=stub.task(), instruction="Click it.", steps=(), observation=stub.observation("now"))


async def test_a_screen_may_be_its_tree_alone(endpoint: Any, context: Context) -> None:
    policy = OpenAIPolicy(
        model="m", base_url=endpoint.url, coordinates={"kind": "normalised"}, memory={"screens": "tree"}
    )
    seen = replace(context.observation, text_tree='button "go" (50, 40)')
    await policy.act(replace(context, observation=seen))
    shown = endpoint.sent[0]["messages"][-1]["content"]
    assert shown == [{"type": "text", "text": 'Click it.\nOn the screen:\nbutton "go" (500, 500)\n'}]
    await policy.close()


async def test_the_text_of_a_prompt_is_bounded_unless_its_memory_says_otherwise(
    policy: OpenAIPolicy, endpoint: Any, context: Context
) -> None:
    unbounded = OpenAIPolicy(model="m", base_url=endpoint.url, memory={"text_bytes": 0})
    said = replace(context, notes="ä" * 40_000)
    for each in (policy, unbounded):
        await each.act(said)
    bounded, whole = (len(sent["messages"][-1]["content"][0]["text"].encode()) for sent in endpoint.sent)
    assert 30_000 < bounded <= 32_768 and whole > 80_000
    await unbounded.close()


async def test_a_reply_becomes_a_decision(policy: OpenAIPolicy, context: Context) -> None:
    decision = await policy.act(context)
    assert (decision.actions, decision.thought, decision.text) == ((Click(x=10, y=10),), "there", CLICK)
    assert (decision.trainable, decision.request, decision.completion, decision.error) == (
        False,
        None,
        None,
        None,
    )
    assert decision.cost == {"prompt_tokens": 1000.0, "completion_tokens": 20.0, "usd": 0.0}


async def test_what_the_endpoint_is_sent(policy: OpenAIPolicy, endpoint: Any, context: Context) -> None:
    await policy.act(context)
    (sent,), (key,) = endpoint.sent, endpoint.keys
    assert (sent["model"], key) == ("m", "Bearer secret")
    system, user = sent["messages"]
    assert "click(point=" in system["content"]
    text, image = user["content"]
    assert text == {"type": "text", "text": "Click it.\n"}
    head, data = image["image_url"]["url"].split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data) == context.observation.screenshot.data


async def test_coordinates_of_the_models_frame_become_pixels(endpoint: Any, context: Context) -> None:
    policy = OpenAIPolicy(model="m", base_url=endpoint.url, coordinates=CoordinateSystem(kind="normalised"))
    endpoint.queue = [reply("click(point='<point>500 500</point>')")]
    assert (await policy.act(context)).actions == (Click(x=50, y=40),)
    await policy.close()


async def test_prices_are_counted(endpoint: Any, context: Context) -> None:
    policy = OpenAIPolicy(
        model="m",
        base_url=endpoint.url,
        usd_per_million_prompt_tokens=2.0,
        usd_per_million_completion_tokens=10.0,
    )
    assert (await policy.act(context)).cost["usd"] == pytest.approx(0.0022)
    await policy.close()


async def test_it_can_be_asked_something_else(policy: OpenAIPolicy, endpoint: Any, context: Context) -> None:
    assert isinstance(policy, Answering)
    endpoint.queue = [reply("No, not yet.")]
    said = await policy.ask(context, "Is it done?")
    assert (said.text, said.actions, said.cost["completion_tokens"]) == ("No, not yet.", (), 20.0)
    *_, asked = endpoint.sent[0]["messages"][-1]["content"]
    assert asked == {"type": "text", "text": "Is it done?"}


@pytest.mark.parametrize(
    ("answer", "done"),
    [
        (reply(None, refusal="No, I can't help with that."), True),
        (reply("No. Let me look again at", ended="length"), True),
        (reply("No, I can't see that it is."), False),
    ],
)
async def test_a_refusal_is_no_opinion_on_whether_it_is_done(
    policy: OpenAIPolicy, endpoint: Any, context: Context, stub: SimpleNamespace, answer: Any, done: bool
) -> None:
    endpoint.queue = [answer]
    step = stub.past(0, Decision(actions=(Finish(),), text="finished()"))
    check = await AskedModel(model=policy).check(context, step, context.observation)
    assert (check.done, check.cost["completion_tokens"]) == (done, 20.0)


@pytest.mark.parametrize("cut_off", [None, "clicked twice, and the next"])
async def test_a_summary_that_did_not_come_is_asked_for_again(
    endpoint: Any, stub: SimpleNamespace, cut_off: str | None
) -> None:
    memory = WindowMemory(summary_after=2, n_screenshots=9)
    policy = OpenAIPolicy(model="m", base_url=endpoint.url, memory=memory)
    refused = reply(None, refusal="I may not.")
    half = reply(cut_off, ended="length" if cut_off else "stop")
    endpoint.queue = [reply(), reply(), half, refused, reply("clicked twice")]
    played = await run_episode(
        stub.task(3), sandbox=stub.Sandbox(), policy=policy, verifier=stub.Rewards(), sink=MemorySink(),
        split=Split.TRAIN,
    )  # fmt: skip
    decided = [step.decision for step in played.steps]
    assert [(each.summary, each.fault) for each in decided[2:5]] == [
        (None, Fault.CUT_OFF), (None, Fault.REFUSED), ("clicked twice", None),
    ]  # fmt: skip
    assert decided[2].void and "too long, reasoning included" in (decided[2].error or "")
    assert SUMMARISE in json.dumps(endpoint.sent[4])
    _, *shown = endpoint.sent[4]["messages"]
    assert json.dumps(shown).count("click(point") == 2  # what is to be summed up is still there
    await policy.close()


async def test_it_is_asked_for_summaries_where_its_memory_wants_them(
    endpoint: Any, stub: SimpleNamespace
) -> None:
    memory = WindowMemory(summary_after=1, summary_tokens=9)
    policy = OpenAIPolicy(model="m", base_url=endpoint.url, memory=memory)
    endpoint.queue = [reply(), reply(" clicked once \n"), reply(), reply("clicked twice " * 20)]
    played = await run_episode(
        stub.task(3), sandbox=stub.Sandbox(), policy=policy, verifier=stub.Rewards(), sink=MemorySink(),
        split=Split.TRAIN,
    )  # fmt: skip
    first, second, third, fourth, _ = played.steps
    assert [first.decision.summary, second.decision.summary] == [None, "clicked once"]
    assert third.decision.actions == (Click(x=10, y=10),)
    # a summary that is whole is shortened in the middle; with less room it would end anywhere
    assert "(shortened from 279 bytes)" in (fourth.decision.summary or "")
    assert {sent["max_tokens"] for sent in endpoint.sent} == {1024}
    assert SUMMARISE in json.dumps(endpoint.sent[1]) and "clicked once" in json.dumps(endpoint.sent[2])
    await policy.close()


@pytest.mark.parametrize("text", ["I cannot help with that.", "", None, "click(somewhere)"])
async def test_a_reply_without_an_action_is_a_void_turn(
    policy: OpenAIPolicy, endpoint: Any, context: Context, text: str | None
) -> None:
    endpoint.queue = [reply(text)]
    decision = await policy.act(context)
    assert (decision.actions, decision.text) == ((), text or "")
    assert "expected" in str(decision.error)
    assert decision.cost["completion_tokens"] == 20.0


@pytest.mark.parametrize(
    ("came", "fault", "says"),
    [
        (reply("<think>I could now\nfinished()", ended="length"), Fault.CUT_OFF, "before the action"),
        (reply("wait(time=1", ended="length"), Fault.CUT_OFF, "before the action"),
        (reply(None, refusal="I can't do that."), Fault.REFUSED, "refused: I can't do that."),
        (reply("", ended="content_filter"), Fault.REFUSED, "refused"),
    ],
)
async def test_what_was_cut_off_or_refused_is_not_acted_on(
    policy: OpenAIPolicy, endpoint: Any, context: Context, came: JSONResponse, fault: Fault, says: str
) -> None:
    endpoint.queue = [came]
    decision = await policy.act(context)
    assert (decision.actions, decision.fault, decision.cost["completion_tokens"]) == ((), fault, 20.0)
    assert says in str(decision.error)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_passing_trouble_is_tried_again(
    policy: OpenAIPolicy, endpoint: Any, context: Context, status: int
) -> None:
    endpoint.queue = [refusal(status, "busy")]
    assert (await policy.act(context)).actions
    assert len(endpoint.sent) == 2


@pytest.mark.parametrize(("status", "requests"), [(429, 2), (500, 2), (401, 1), (400, 1)])
async def test_lasting_trouble_is_an_endpoint_error_with_its_status(
    policy: OpenAIPolicy, endpoint: Any, context: Context, status: int, requests: int
) -> None:
    answer = JSONResponse(
        {"error": {"message": "no more"}}, status_code=status, headers={"retry-after-ms": "1"}
    )
    endpoint.queue = [answer] * 9
    with pytest.raises(EndpointError, match="no more") as caught:
        await policy.act(context)
    assert (caught.value.status, len(endpoint.sent)) == (status, requests)


@pytest.mark.parametrize(
    "garbage",
    [
        PlainTextResponse("<html>proxy</html>"),
        Response(b"{not json", media_type="application/json"),
        JSONResponse({}),
        JSONResponse([]),
        JSONResponse("hello"),
        JSONResponse({"choices": []}),
        JSONResponse({"choices": [None]}),
        JSONResponse({"choices": [{"message": None}]}),
        JSONResponse({"choices": [{"message": {"content": [1]}}]}),
        JSONResponse({"choices": 3}),
    ],
)
async def test_garbage_is_an_endpoint_error(
    policy: OpenAIPolicy, endpoint: Any, context: Context, garbage: Response
) -> None:
    endpoint.queue = [garbage] * 3
    with pytest.raises(EndpointError):
        await policy.act(context)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": "many", "completion_tokens": 1}])
async def test_counts_that_are_not_reported_are_not_made_up(
    policy: OpenAIPolicy, endpoint: Any, context: Context, usage: Any
) -> None:
    endpoint.queue = [JSONResponse({"choices": [{"message": {"content": CLICK}}], "usage": usage})]
    decision = await policy.act(context)
    assert (len(decision.actions), decision.cost) == (1, {})


async def test_silence_is_a_timeout(endpoint: Any, context: Context) -> None:
    policy = OpenAIPolicy(model="m", base_url=endpoint.url, timeout_s=0.1, retries=0)
    silent = asyncio.Event()

    async def hang() -> Response:
        await silent.wait()
        return reply()

    endpoint.queue = [hang]
    with pytest.raises(InferenceTimeout, match=r"within 0\.1 s"):
        await policy.act(context)
    silent.set()
    await policy.close()


async def test_nobody_there_is_an_endpoint_error(context: Context) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        policy = OpenAIPolicy(model="m", base_url=f"http://127.0.0.1:{closed.getsockname()[1]}/v1", retries=0)
        with pytest.raises(EndpointError, match="could not be asked"):
            await policy.act(context)
        await policy.close()


async def test_a_key_is_taken_from_the_environment_or_asked_for(
    endpoint: Any, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    policy = OpenAIPolicy(model="m", base_url=endpoint.url)
    await policy.act(context)
    await policy.close()
    assert endpoint.keys == ["Bearer from-env"]
    assert "from-env" not in repr(policy.settings)
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(EndpointError, match="OPENAI_API_KEY"):
        OpenAIPolicy(model="m")


async def test_a_picture_without_bytes_is_refused(policy: OpenAIPolicy, stub: SimpleNamespace) -> None:
    from dataclasses import replace

    seen = stub.observation()
    bare = replace(seen, screenshot=replace(seen.screenshot, data=None))
    with pytest.raises(EndpointError, match="has no bytes"):
        await policy.act(Context(task=stub.task(), instruction="x", steps=(), observation=bare))


async def test_a_whole_episode_over_the_wire(
    policy: OpenAIPolicy, endpoint: Any, stub: SimpleNamespace
) -> None:
    endpoint.queue = [reply(), reply("hm"), refusal(500, "once"), reply()]
    episode = {"sandbox": stub.Sandbox(), "policy": policy, "verifier": stub.Rewards(), "sink": MemorySink()}
    trajectory = await run_episode(stub.task(3), split=Split.TRAIN, **episode)
    assert trajectory.end is not None
    assert trajectory.end.outcome is not None
    assert trajectory.end.outcome.success
    assert len(trajectory.steps) == 4
    assert len(endpoint.sent[-1]["messages"]) == 6

    endpoint.queue = [
        JSONResponse({"error": {"message": "broken"}}, status_code=500, headers={"retry-after-ms": "1"})
    ] * 2
    trajectory = await run_episode(stub.task(3), split=Split.TRAIN, **episode | {"sink": MemorySink()})
    assert trajectory.end is not None
    assert (trajectory.end.failure, trajectory.end.outcome) == (Failure.MODEL_ERROR, None)
