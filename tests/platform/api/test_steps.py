"""One step in full, and one figure of every step."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import httpx
import pytest

from deskhand_agent.ids import new_id
from deskhand_agent.inference import Completion, CompletionRequest, FinishReason, Sampling
from deskhand_agent.types import Candidate, Decision, Step, StepTimings
from deskhand_flywheel.replay import render_replay
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, StepValue
from deskhand_platform.services import Services
from deskhand_platform.settings import TransferSettings
from deskhand_sandbox.types import Click


async def test_a_step_is_told_to_the_token(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    plain = await record_episode(store)
    recorded = await store.trajectory(plain, images=True)
    trajectory, look = new_id(), recorded.steps[0].observation
    await store.begin(replace(recorded.start, id=trajectory))
    request = CompletionRequest(
        prompt_ids=(5, 6, 7),
        images=(look.screenshot,),
        processor_hash="p",
        sampling=Sampling(temperature=0.5),
    )
    done = Completion(
        ids=(8, 9),
        logprobs=(-0.5, -1.0),
        finish_reason=FinishReason.STOP,
        policy_id="nobody",
        policy_update=0,
        value=0.25,
    )
    decision = Decision(
        actions=(Click(x=1, y=2),),
        text="click",
        request=request,
        completion=done,
        others=(Candidate(actions=(), text="another"),),
        cost={"usd": 0.5},
    )
    observation = replace(look, text_tree="button <b>Go</b>", terminal="$ ls", output="a.txt")
    step = Step(
        index=0,
        observation=observation,
        decision=decision,
        reward=0.5,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=time.time(),
    )
    await store.step(trajectory, step)
    await store.add_scores([StepScore(trajectory_id=trajectory, step_index=0, score=0.75, scorer="prm:a")])
    value = StepValue(
        trajectory_id=trajectory,
        step_index=0,
        labeller="mc1:x:4",
        before=0.25,
        before_error=0.1,
        after=0.75,
        after_error=0.1,
        continuations=4,
        exact=True,
    )
    await store.add_step_values([value])
    told = (await client.get(f"/v1/trajectories/{trajectory}/steps/0/inside")).json()
    assert (told["prompt_ids"], told["prompt"], told["temperature"]) == ([5, 6, 7], None, 0.5)
    assert told["tokens"] == [
        {"id": 8, "text": None, "logprob": -0.5},
        {"id": 9, "text": None, "logprob": -1.0},
    ]
    assert [one["digest"] for one in told["pictures"]] == [look.screenshot.digest]
    assert (told["text_tree"], told["terminal"], told["output"]) == ("button <b>Go</b>", "$ ls", "a.txt")
    assert told["others"] == [{"text": "another", "actions": [], "rating": None}]
    assert (await client.get(f"/v1/trajectories/{trajectory}/steps/1/inside")).status_code == 404
    curves = (await client.get(f"/v1/trajectories/{trajectory}/curves")).json()
    assert curves == {
        "rewards": [0.5],
        "values": [0.25],
        "scores": {"prm:a": [0.75]},
        "advantages": {"mc1:x:4": [0.5]},
    }
    bare = (await client.get(f"/v1/trajectories/{plain}/curves")).json()
    assert (bare["rewards"], bare["values"], bare["scores"]) == ([0.0, 1.0], [None, None], {})
    assert (await client.get(f"/v1/trajectories/{new_id()}/curves")).status_code == 404


async def test_half_a_character_breaks_no_answer(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    plain = await store.trajectory(await record_episode(store))
    odd = new_id()
    await store.begin(replace(plain.start, id=odd, instruction="Open \ud800"))
    said = replace(plain.steps[0].decision, text="<think>\ud83d</think>", thought="\ud83d")
    await store.step(odd, replace(plain.steps[0], decision=said))
    for path in ("", f"/{odd}", f"/{odd}/steps", f"/{odd}/replay.txt", f"/{odd}/replay.html"):
        answer = await client.get(f"/v1/trajectories{path}")
        assert answer.status_code == 200, path
    listed = (await client.get("/v1/trajectories")).json()["items"]
    assert [one["instruction"] for one in listed] == ["Open \ufffd", "Open the door"]
    lines = (await client.get(f"/v1/trajectories/{odd}/replay.txt")).text.splitlines()
    assert lines == ["fake/door seed 3: Open ?", "  0  +0.000  <think>?</think>"]


async def test_a_replay_holds_so_many_bytes_and_its_making_holds_up_nobody(
    client: httpx.AsyncClient, services: Services, record_episode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = await services.store.trajectory(id := await record_episode(services.store), images=True)
    assert episode.end is not None and episode.end.final_observation is not None
    seen = [*(step.observation for step in episode.steps), episode.end.final_observation]
    exact = sum(len(each.screenshot.data or b"") for each in seen)
    threads: list[threading.Thread] = []

    def rendered(*given: Any) -> str:
        threads.append(threading.current_thread())
        return render_replay(*given)

    monkeypatch.setattr("deskhand_flywheel.replay.render_replay", rendered)
    path = f"/v1/trajectories/{id}/replay.html"
    services.transfers._limits = TransferSettings(replay_bytes=exact)
    whole = await client.get(path)
    assert whole.status_code == 200 and whole.text == render_replay(episode)
    assert threads and threading.main_thread() not in threads
    services.transfers._limits = TransferSettings(replay_bytes=exact - 1)
    refused = await client.get(path)
    assert refused.status_code == 413 and "transfers.replay_bytes" in refused.json()["error"]["message"]
