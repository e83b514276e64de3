"""A person takes an episode's turns, a branch goes on from a recorded one: queue, worker, sandbox, API."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import httpx
import pytest

from deskhand_agent.test_time.deliberating import Deliberate
from deskhand_agent.types import Context, Decision, ReviewVerdict
from deskhand_flywheel.store import Store
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import WorkerSettings
from deskhand_platform.states import WorkState
from deskhand_platform.takeovers import HOLD_S
from deskhand_platform.task_orders import PolicyRef, TaskOrder
from deskhand_platform.worker import EpisodeWorker
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Finish, Wait

DATABASES = ("sqlite", "postgresql")
T = TypeVar("T")
LIMITS = WorkerSettings(slots=1, attempts=1, claim_s=60.0, poll_s=0.02)


class Waits:
    """Waits until somebody else has clicked, and then it is done."""

    id = "waits"

    async def act(self, context: Context) -> Decision:
        clicked = any(isinstance(a, Click) for step in context.steps for a in step.decision.actions)
        action = Finish(text="") if clicked else Wait(seconds=0.02)
        return Decision(actions=(action,), text="its own")


@pytest.fixture
async def sandboxes(tmp_path: Path) -> AsyncIterator[SandboxSource]:
    async with SandboxManager({"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path) as manager:
        yield manager


@asynccontextmanager
async def working(store: Store, source: SandboxSource, **limits: Any) -> AsyncGenerator[TaskQueue]:
    async def policies(_ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=Waits(), turns=10_000)

    queue, stop = TaskQueue(store.database), asyncio.Event()
    worker = EpisodeWorker(
        queue=queue, sink=store, policies=policies, sources=lambda: source,
        limits=LIMITS.model_copy(update=limits),
    )  # fmt: skip
    task = asyncio.create_task(worker.work(stop))
    try:
        yield queue
    finally:
        stop.set()
        await task


async def until(ask: Callable[[], Awaitable[T]], holds: Callable[[T], Any]) -> T:
    async with asyncio.timeout(100):
        while not holds(found := await ask()):
            await asyncio.sleep(0.02)
    return found


async def test_a_person_takes_over_and_hands_back(
    store: Store,
    client: httpx.AsyncClient,
    sandboxes: SandboxSource,
    person: Callable[..., Awaitable[str]],
) -> None:
    bob = {"Authorization": f"Bearer {await person('bob')}"}
    async with working(store, sandboxes) as queue:
        order = TaskOrder(task=make_task("fake/never-done", 0), policy=PolicyRef(name="any", settings={}))
        queued = await queue.submit(order)
        running = await until(lambda: queue.get(queued.id), lambda one: one.trajectory_id)
        path = f"/v1/trajectories/{running.trajectory_id}/takeover"
        assert (await client.get(path)).json()["by"] is None
        refused = await client.post(f"{path}/actions", json={"reply": "wait(time=1)"})
        assert refused.status_code == 409 and "take the controls" in refused.json()["error"]["message"]
        assert refused.json()["error"]["state"] == "free"
        nobody = await client.delete(path)
        assert nobody.status_code == 409 and "nobody has the controls" in nobody.json()["error"]["message"]
        assert (await client.put(path)).json()["by"] == "owner"
        other = await client.put(path, headers=bob)
        assert other.status_code == 409 and "owner has the controls" in other.json()["error"]["message"]
        for again in (
            await client.delete(path, headers=bob),
            await client.post(f"{path}/actions", json={"reply": "wait(time=1)"}, headers=bob),
        ):
            assert (again.status_code, again.json()["error"]["state"]) == (409, "held")
            assert again.json()["error"]["message"].startswith("owner has the controls")

        before = len((await store.trajectory(str(running.trajectory_id))).steps)
        click = {"reply": "click(point='<point>3 4</point>')"}
        assert (await client.post(f"{path}/actions", json={"reply": "nonsense"})).status_code == 422
        assert (await client.post(f"{path}/actions", json=click)).status_code == 202
        assert (await client.post(f"{path}/actions", json=click)).status_code == 202  # waits for the first
        stood = len((await store.trajectory(str(running.trajectory_id))).steps)
        assert stood <= before + 2  # the one under way, and theirs: the policy waits
        # what they did last is still carried out
        assert (await client.delete(path)).status_code == 204
        done = await until(lambda: queue.get(queued.id), lambda one: one.state.over)
        assert done.state is WorkState.DONE
        assert (await client.put(path)).status_code == 409
        over = (await client.delete(f"/v1/tasks/{queued.id}")).json()["error"]
        assert (over["type"], over["state"]) == ("wrong_state", "done")
    steps = (await store.trajectory(str(running.trajectory_id))).steps
    theirs = [s.decision for s in steps if s.decision.review is not None]
    assert [decision.actions for decision in theirs] == [(Click(x=3, y=4),)] * 2
    for decision in theirs:
        review = decision.review
        assert review is not None and review.by == "owner"
        assert review.verdict in (ReviewVerdict.STEERED, ReviewVerdict.REPLACED)
    assert (await client.get("/v1/trajectories/nobody/takeover")).status_code == 404


async def test_a_lease_lasts_while_a_person_is_at_it_and_no_longer(
    store: Store, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    """Held controls keep it, though nothing is done; once they are let go it ends, and the task says why."""
    now = 0.0
    pools = {"fake": PoolSettings(max_sandboxes=1)}
    async with (
        SandboxManager(pools, state_folder=tmp_path, clock=lambda: now) as manager,
        working(store, manager, claim_s=0.4) as queue,
    ):
        order = TaskOrder(task=make_task("fake/never-done", 0), policy=PolicyRef(name="any", settings={}))
        queued = await queue.submit(order)
        running = await until(lambda: queue.get(queued.id), lambda one: one.trajectory_id)
        path = f"/v1/trajectories/{running.trajectory_id}/takeover"
        (lease,) = manager.status().leases
        for _ in range(3):
            now, due = now + 3000.0, now + 6600.0

            async def held() -> float:
                assert (await client.put(path)).status_code == 200
                return manager.heartbeat(lease.id).deadline_s

            await until(held, due.__eq__)
        manager.reap()
        assert len(manager.status().leases) == 1
        assert (await client.delete(path)).status_code == 204
        kept = await store.trajectory(str(running.trajectory_id))
        await until(lambda: store.trajectory(kept.id), lambda grown: len(grown.steps) > len(kept.steps) + 2)
        now += 3600.0
        manager.reap()
        done = await until(lambda: queue.get(queued.id), lambda one: one.state.over)
        assert done.state is WorkState.FAILED
        assert "neither used nor renewed for 3600 s" in (done.reason or "")


async def test_controls_that_nobody_renews_are_let_go(
    store: Store, monkeypatch: pytest.MonkeyPatch, client: httpx.AsyncClient, sandboxes: SandboxSource
) -> None:
    ahead_s = 0.0
    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + ahead_s)
    monkeypatch.setattr("deskhand_platform.takeovers.time", clock)
    async with working(store, sandboxes) as queue:
        order = TaskOrder(task=make_task("fake/never-done", 0), policy=PolicyRef(name="any", settings={}))
        queued = await queue.submit(order)
        running = await until(lambda: queue.get(queued.id), lambda one: one.trajectory_id)
        path = f"/v1/trajectories/{running.trajectory_id}/takeover"
        assert (await client.put(path)).status_code == 200
        ahead_s = HOLD_S
        assert (await client.get(path)).json()["by"] is None
        stood = len((await store.trajectory(str(running.trajectory_id))).steps)
        await until(
            lambda: store.trajectory(str(running.trajectory_id)), lambda kept: len(kept.steps) > stood + 2
        )
        await queue.cancel(queued.id)


async def test_a_branch_is_queued_worked_and_linked(
    store: Store, client: httpx.AsyncClient, sandboxes: SandboxSource, record_episode: Any
) -> None:
    task = make_task("fake/press-in-order", 1)
    recorded = await record_episode(store, task=task)
    path = f"/v1/trajectories/{recorded}/branch"
    assert (await client.post(path, json={"step": 2})).json()["error"]["field"] == "step"
    assert (await client.post("/v1/trajectories/none/branch", json={"step": 0})).status_code == 404
    wrong = await client.post(path, json={"step": 0, "policy": {"name": "nobody"}})
    assert wrong.json()["error"]["field"] == "policy.name"
    for settings, field in (
        ({"test_time": {"attempts": 2}}, "policy.settings.test_time.attempts"),
        ({"notebook": True}, "policy.settings.notebook"),
    ):
        policy = {"name": "local", "settings": settings}
        several = await client.post(path, json={"step": 1, "policy": policy})
        assert (several.status_code, several.json()["error"]["field"]) == (422, field)
    policy = {"name": "local", "settings": {"test_time": {"attempts": 1, "checks": 2}, "notebook": False}}
    once = await client.post(path, json={"step": 1, "policy": policy})
    assert once.status_code == 201
    await client.delete(f"/v1/tasks/{once.json()['id']}")
    async with working(store, sandboxes) as queue:
        sent = await client.post(path, json={"step": 1, "labels": {"why": "to see"}, "episodes": 2})
        assert sent.status_code == 201 and sent.json()["branch_of"] == recorded
        done = await until(lambda: queue.get(sent.json()["id"]), lambda one: one.state.over)
    assert done.state is WorkState.DONE, done.reason
    found = (await client.get("/v1/trajectories", params={"label": f"branch_of={recorded}"})).json()["items"]
    assert len(found) == 2 and done.trajectory_id in {one["id"] for one in found}
    for one in found:
        # its screens were made up: the sandbox shows others
        expected = {"branch_exact": "no", "shared_turns": "1", "why": "to see", "task": done.id}
        assert expected.items() <= one["labels"].items()
