"""Judging and the process reward model, asked for over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import torch
from starlette.responses import JSONResponse

from deskhand_agent.models.bundle import build_tiny, save_bundle
from deskhand_agent.models.tiny import TinyConfig
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.types import StepScore
from deskhand_platform.accounts.access import Role
from deskhand_platform.api.job_models import (
    CalibrateOrder,
    CheckTasksOrder,
    LabelOrder,
    ScoreOrder,
    TrainOrder,
)
from deskhand_platform.client import AsyncDeskhand, InvalidRequest, NotAllowed
from deskhand_platform.jobs.desk import JobDesk, JobRunner
from deskhand_platform.jobs.run import main
from deskhand_platform.services import Services
from deskhand_platform.settings import JobSettings, Settings
from deskhand_platform.states import WorkState
from deskhand_sandbox.host import HostProcess, HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split

torch.set_num_threads(1)
TASK = "worlds/chain"
Record = Callable[..., Awaitable[str]]


class Host:
    def __init__(self, process: HostProcess | None = None) -> None:
        self._process = process

    async def address(self) -> tuple[str, str]:
        return (
            ("http://127.0.0.1:1", "x") if self._process is None else (self._process.url, self._process.token)
        )


@asynccontextmanager
async def worked(settings: Settings, host: Host) -> AsyncIterator[None]:
    async with JobRunner(settings, host).running():
        yield


async def done(client: AsyncDeskhand, order: Any) -> dict[str, Any]:
    over = await client.wait_job((await client.start_job(order)).id, timeout_s=150)
    assert over.state is WorkState.DONE, (over.reason, (await client.job_log(over.id)).text)
    assert over.result is not None
    return over.result


@pytest.mark.slow
async def test_from_episodes_to_a_calibrated_model(client: AsyncDeskhand, services: Services) -> None:
    settings, store = services.settings, services.store
    async with SandboxManager({"world": PoolSettings(max_sandboxes=2)}) as source:
        jobs = [Job(task=make_task(TASK, seed)) for seed in seeds(TASK, Split.TRAIN, 10)]
        await run_episodes(jobs, source=source, policy=ScriptedPolicy(), sink=store)
    tiny = TinyConfig(
        vision_width=32, vision_depth=1, vision_heads=2, text_width=48, text_depth=2, text_heads=2
    )
    save_bundle(build_tiny(tiny), settings.home / "policy")
    policy = (await store.keep_policy(settings.home / "policy", parent_id=None, metadata={})).id
    marks = [
        StepScore(
            trajectory_id=walk.id, step_index=step.index, score=float(step.index % 2), scorer="human:ann"
        )
        async for walk in store.each_trajectory(await store.trajectory_ids())
        for step in walk.steps
    ]
    pools = HostSettings(
        kinds={"world": PoolSettings(max_sandboxes=2)}, state_folder=settings.home / "sandboxes"
    )
    async with start_host(pools) as host, worked(settings, Host(host)):
        labelled = await done(client, LabelOrder(policy="scripted", continuations=1, workers=2))
        assert (labelled["trajectories"], labelled["left_out"]) == (10, {})
        refused = await client.start_job({"kind": "prm-train", "policy": policy})
        over = await client.wait_job(refused.id, 150)
        assert over.state is WorkState.FAILED and "on one side of a half" in (over.reason or "")
        assert (await client.job_log(over.id)).text.count("NoLabels") == 1  # trying again would not help
        await store.add_scores(marks)
        trained = await done(
            client, TrainOrder(policy=policy, settings={"labels": ["human"], "epochs": 2, "lr": 0.01})
        )
        model = trained["model"]
        assert (await store.policy(model)).parent_id == policy
        scored = await done(client, ScoreOrder(model=model, tasks=[TASK]))
        assert scored["scored"] == 10 and scored["scorer"].startswith("prm:")
        assert (await done(client, ScoreOrder(model=model)))["scored"] == 0
        calibrated = await done(client, CalibrateOrder(model=model, sources=["human"]))
        assert calibrated["model"] != model and calibrated["after"]["bins"]
    for name in (model, calibrated["model"]):
        assert (await store.policy(name)).metadata["scorer"]
    listed = await client.get("/v1/calibrations")
    assert [one["policy_id"] for one in listed] == [calibrated["model"]]


def says(text: str) -> JSONResponse:
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return JSONResponse({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})


async def test_a_judge_asks_only_where_the_settings_say(
    services: Services, url: str, token: str, record_episode: Record, endpoint: Any
) -> None:
    ids = [await record_episode(services.store, run=name) for name in "ab"]
    endpoint.reply = lambda: says('{"rationale": "Fine.", "score": "90%"}')
    order = {"kind": "judge", "model": "m", "endpoint": endpoint.url, "labels": {"run": "a"}}
    async with AsyncDeskhand(url, token, patience_s=2) as client:
        with pytest.raises(InvalidRequest, match=r"jobs\.endpoints") as refused:
            await client.start_job(order)
        assert refused.value.field == "endpoint"
        with pytest.raises(InvalidRequest, match=r"api\.openai\.com"):
            await client.start_job({"kind": "judge", "model": "m"})
        object.__setattr__(services.settings, "jobs", JobSettings(endpoints=(endpoint.url,)))
        for settings, said in (
            ({"api_key": "x"}, "OPENAI_API_KEY"),
            ({"base_url": "http://127.0.0.1:1"}, "by `endpoint`"),
            ({"askss": 3}, "askss"),
            ({"asks": 0}, "asks"),
        ):
            with pytest.raises(InvalidRequest, match=said) as wrong:
                await client.start_job({**order, "settings": settings})
            assert wrong.value.field == "settings"
        async with worked(services.settings, Host()):
            first = await done(client, {**order, "rubric": "How kind was it?", "settings": {"asks": 1}})
            assert (first["judged"], first["trajectories"]) == (2, ids[:1])
            whole = await done(client, {**order, "what": "outcomes", "labels": {}})
            assert whole["judged"] == 2
    scores = await services.store.scores(ids[0])
    assert {(one.scorer, one.score) for one in scores} == {(first["scorer"], 0.9)}


async def test_what_cannot_be_done_is_refused_at_once(
    client: AsyncDeskhand, services: Services, url: str, person: Any
) -> None:
    for order in (
        {"kind": "prm-train", "policy": "nobody"},
        {"kind": "prm-score", "model": "nobody"},
        {"kind": "calibrate", "model": "nobody"},
        {"kind": "label", "policy": "nobody"},
    ):
        with pytest.raises(InvalidRequest, match="nobody"):
            await client.start_job(order)
    for order, field in (
        ({"kind": "prm-train", "settings": {"epochs": 0}}, "settings"),
        ({"kind": "prm-train", "settings": {"labels": ["hearsay"]}}, "settings"),
        ({"kind": "calibrate", "model": "m", "sources": ["hearsay"]}, "sources"),
        ({"kind": "calibrate", "model": "m", "judge": "judge:m@1"}, "judge"),
        ({"kind": "calibrate", "model": "m", "sources": ["judge"], "judge": "ann"}, "judge"),
        ({"kind": "label", "continuations": 0}, "continuations"),
        ({"kind": "judge"}, "model"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            await client.start_job(order)
        assert field in (refused.value.field or "")
    assert JobDesk(services.settings).list() == ()
    order = {"kind": "label", "policy": "scripted"}
    async with AsyncDeskhand(url, await person("ann", Role.ANNOTATOR), patience_s=0) as annotator:
        with pytest.raises(NotAllowed):
            await annotator.start_job(order)
    async with AsyncDeskhand(url, await person("res", Role.RESEARCHER)) as researcher:
        job = await researcher.start_job(order)
        await researcher.cancel_job(job.id)


async def test_tasks_are_proved_in_the_sandboxes_of_the_platform(
    client: AsyncDeskhand, services: Services
) -> None:
    pools = {"fake": PoolSettings(max_sandboxes=2)}
    async with (
        start_host(HostSettings(kinds=pools, state_folder=services.settings.home / "host")) as process,
        worked(services.settings, Host(process)),
    ):
        found = await done(client, CheckTasksOrder(tasks=["fake/press-*"], seeds=2))
        told = await client.job_log((await anext(client.jobs("check-tasks"))).id)
    assert [(one["task_id"], one["seed"]) for one in found["proven"]][:2] == [
        ("fake/press-button", 0),
        ("fake/press-button", 1),
    ]
    assert found["broken"] == found["failed"] == []
    assert "✓ fake/press-button (seed 1) proven" in told.text
    with pytest.raises(InvalidRequest, match="did you mean fake/press-button") as refused:
        await client.start_job(CheckTasksOrder(tasks=["fake", "fake/press-buton"]))
    assert refused.value.field == "tasks.1"


async def test_a_check_does_not_wait_for_what_scores(client: AsyncDeskhand, services: Services) -> None:
    import fcntl

    scoring = await client.start_job({"kind": "label", "policy": "scripted"})
    with (JobDesk(services.settings).folder(scoring.id) / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with worked(services.settings, Host()):
            assert (await done(client, {"kind": "fsck"}))["ok"]
            assert not (await client.job(scoring.id)).state.over


async def test_a_folder_that_is_no_job(services: Services, capsys: pytest.CaptureFixture[str]) -> None:
    assert await asyncio.to_thread(main, []) == 2
    assert await asyncio.to_thread(main, [str(services.settings.home / "nothing")]) == 2
    assert "usage" in capsys.readouterr().err
