"""A task is worked beside a person: through the queue, the worker, a real sandbox and the API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from deskhand_agent.test_time.deliberating import Deliberate
from deskhand_agent.types import Context, Decision, Policy, ReviewVerdict
from deskhand_agent.users import NOBODY
from deskhand_flywheel.opinions import opinions
from deskhand_flywheel.store import Store
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.services import Services
from deskhand_platform.settings import WorkerSettings
from deskhand_platform.states import ProposalState
from deskhand_platform.tables import proposals
from deskhand_platform.task_orders import PolicyRef, TaskOrder
from deskhand_platform.worker import EpisodeWorker
from deskhand_sandbox.base import SandboxSource
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import (
    AskUser,
    Click,
    EnvironmentSpec,
    Finish,
    Limits,
    Observation,
    Task,
    VerifierSpec,
)

DATABASES = ("sqlite", "postgresql")
LIMITS = WorkerSettings(slots=1, attempts=1, claim_s=60.0, poll_s=0.02)


class Misses:
    """Clicks the corner, and says that it is done after two turns."""

    id = "misses"

    async def act(self, context: Context) -> Decision:
        if len(context.steps) == 2:
            return Decision(actions=(Finish(text=""),), text="finished(content='')")
        return Decision(actions=(Click(x=0, y=0),), text="click(point='<point>0 0</point>')", thought="there")


class Asks:
    """Asks its user twice, and says that it is done."""

    id = "asks"

    async def act(self, context: Context) -> Decision:
        if len(context.steps) == 2:
            return Decision(actions=(Finish(text=""),), text="finished(content='')")
        return Decision(actions=(AskUser(question="Which one?"),), text="call_user(content='Which one?')")


@pytest.fixture
async def sandboxes(tmp_path: Path) -> AsyncIterator[SandboxSource]:
    async with SandboxManager({"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path) as manager:
        yield manager


@asynccontextmanager
async def working(
    store: Store, source: SandboxSource, policy: Policy | None = None
) -> AsyncIterator[TaskQueue]:
    async def policies(_ref: PolicyRef) -> Deliberate:
        return Deliberate(policy=policy or Misses())

    queue, stop = TaskQueue(store.database), asyncio.Event()
    worker = EpisodeWorker(queue=queue, sink=store, policies=policies, sources=lambda: source, limits=LIMITS)
    task = asyncio.create_task(worker.work(stop))
    try:
        yield queue
    finally:
        stop.set()
        await task


async def submit(queue: TaskQueue, review_s: float) -> str:
    task = replace(make_task("fake/press-button", 3), limits=Limits(turns=5, seconds=600.0))
    ref = PolicyRef(name="scripted", settings={}, review_s=review_s)
    return (await queue.submit(TaskOrder(task=task, policy=ref))).id


async def next_proposal(client: httpx.AsyncClient, *, but: str = "") -> dict[str, Any]:
    async with asyncio.timeout(100):
        while True:
            items = (await client.get("/v1/proposals")).json()["items"]
            if items and items[0]["id"] != but:
                return items[0]
            await asyncio.sleep(0.02)


async def over(queue: TaskQueue, queued_id: str) -> str:
    async with asyncio.timeout(100):
        while not (found := await queue.get(queued_id)).state.over:
            await asyncio.sleep(0.02)
    return str(found.trajectory_id)


async def test_a_person_replaces_accepts_and_is_too_late(
    client: httpx.AsyncClient,
    services: Services,
    store: Store,
    sandboxes: SandboxSource,
    person: Callable[..., Awaitable[str]],
) -> None:
    ada = {"Authorization": f"Bearer {await person('ada')}"}
    async with working(store, sandboxes) as queue:
        queued = await submit(queue, 600.0)
        first = await next_proposal(client)
        assert (first["step_index"], first["thought"], first["state"]) == (0, "there", "waiting")
        assert first["actions"][0]["points"] == [[0, 0]]
        assert (await client.get(first["image"]["url"])).content.startswith(
            (b"\x89PNG", b"RIFF", b"\xff\xd8")
        )
        reply = "<think>The other corner.</think>\nclick(point='<point>5 6</point>')"
        body = {"verdict": "replaced", "reply": reply, "reason": "It missed."}
        answered = await client.post(f"/v1/proposals/{first['id']}/answer", json=body, headers=ada)
        assert answered.status_code == 200
        assert (answered.json()["state"], answered.json()["answered_by"]) == ("answered", "ada")
        late = await client.post(f"/v1/proposals/{first['id']}/answer", json=body)
        assert late.status_code == 409 and "ada has answered" in late.json()["error"]["message"]

        second = await next_proposal(client, but=first["id"])
        accepted = {"verdict": "accepted", "reason": "Why not."}
        await client.post(f"/v1/proposals/{second['id']}/answer", json=accepted)
        third = await next_proposal(client, but=second["id"])
        assert third["actions"][0]["type"] == "finish"
        await client.post(f"/v1/proposals/{third['id']}/answer", json={"verdict": "accepted"})
        kept = await over(queue, queued)

    trajectory = await store.trajectory(kept)
    assert trajectory.start.labels == {"task": queued, "owner": "owner", "reviewed": "yes"}
    corrected, followed, _ = trajectory.steps
    review = corrected.decision.review
    assert review is not None and review.proposed is not None
    assert (review.verdict, review.by, review.reason) == (ReviewVerdict.REPLACED, "ada", "It missed.")
    assert review.proposed.actions == (Click(x=0, y=0),)
    assert corrected.decision.actions == (Click(x=5, y=6),)
    assert followed.decision.review is not None and followed.decision.review.by == "owner"
    said = [(o.step_index, o.label, o.rationale, o.source) async for o in opinions(store)]
    assert said == [
        (0, 1.0, "It missed.", "human:ada"),
        (1, 1.0, "Why not.", "human:owner"),
        (2, 1.0, None, "human:owner"),
    ]
    shown = (await client.get(f"/v1/trajectories/{kept}/steps")).json()["items"][0]
    assert shown["review"]["verdict"] == "replaced" and shown["review"]["by"] == "ada"
    assert shown["review"]["proposed"][0]["points"] == [[0, 0]]
    assert (await client.get("/v1/proposals")).json()["items"] == []


async def test_a_person_answers_what_the_policy_asks(
    client: httpx.AsyncClient, store: Store, sandboxes: SandboxSource
) -> None:
    async with working(store, sandboxes, Asks()) as queue:
        queued = await submit(queue, 600.0)
        first = await next_proposal(client)
        assert first["asks"] == "Which one?"
        path = f"/v1/proposals/{first['id']}/answer"
        instead = {"verdict": "replaced", "reply": "click(point='<point>1 1</point>')", "answer": "Blue."}
        refused = await client.post(path, json=instead)
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "answer")
        assert (await client.post(path, json={"verdict": "accepted", "answer": " The blue one. "})).is_success
        second = await next_proposal(client, but=first["id"])
        await client.post(f"/v1/proposals/{second['id']}/answer", json={"verdict": "accepted"})
        third = await next_proposal(client, but=second["id"])
        assert third["asks"] is None
        await client.post(f"/v1/proposals/{third['id']}/answer", json={"verdict": "accepted"})
        kept = await over(queue, queued)
    steps = (await client.get(f"/v1/trajectories/{kept}/steps")).json()["items"]
    assert [step["answer"] for step in steps] == ["The blue one.", NOBODY, None]


async def test_who_answers_keeps_the_lease(store: Store, client: httpx.AsyncClient, tmp_path: Path) -> None:
    """Each answer is worth an hour more; a person who does not answer is not there."""
    now = 0.0
    pools = {"fake": PoolSettings(max_sandboxes=1)}
    async with (
        SandboxManager(pools, state_folder=tmp_path, clock=lambda: now) as manager,
        working(store, manager) as queue,
    ):
        queued, last = await submit(queue, 600.0), ""
        for number in range(3):
            last = (await next_proposal(client, but=last))["id"]
            (lease,) = manager.status().leases
            assert manager.heartbeat(lease.id).deadline_s == now + (1600.0 if number else 3600.0)
            now += 1000.0
            await client.post(f"/v1/proposals/{last}/answer", json={"verdict": "accepted"})
            if number < 2:
                await next_proposal(client, but=last)
                now += 1000.0
                assert manager.heartbeat(lease.id).deadline_s == now + 2600.0
                now += 1000.0
        await over(queue, queued)


async def test_without_an_answer_the_policy_has_its_way(
    client: httpx.AsyncClient, store: Store, sandboxes: SandboxSource
) -> None:
    async with working(store, sandboxes) as queue:
        trajectory = await store.trajectory(await over(queue, await submit(queue, 0.1)))
    async with store.database.read() as connection:
        lapsed = (await connection.scalars(select(proposals.c.id).order_by(proposals.c.id))).all()
    assert [s.decision.review.verdict for s in trajectory.steps if s.decision.review] == ["unanswered"] * 3
    assert trajectory.steps[0].decision.actions == (Click(x=0, y=0),)
    body = {"verdict": "accepted"}
    late = await client.post(f"/v1/proposals/{lapsed[0]}/answer", json=body)
    assert late.status_code == 409 and "too late" in late.json()["error"]["message"]
    assert (await client.get(f"/v1/proposals/{lapsed[2]}")).json()["state"] == ProposalState.LAPSED


async def test_a_cancelled_episode_asks_nobody_any_more(
    client: httpx.AsyncClient, store: Store, sandboxes: SandboxSource
) -> None:
    async with working(store, sandboxes) as queue:
        queued = await submit(queue, 600.0)
        first = await next_proposal(client)
        await queue.cancel(queued)
        kept = await over(queue, queued)
    assert (await store.trajectory(kept)).end is not None
    assert (await client.get("/v1/proposals")).json()["items"] == []
    assert (await client.get(f"/v1/proposals/{first['id']}")).json()["state"] == ProposalState.WITHDRAWN


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"verdict": "replaced", "reply": ""}, "reply"),
        ({"verdict": "replaced", "reply": "do something else"}, "reply"),
        ({"verdict": "replaced", "reply": "click(point='<point>4000 1</point>')"}, "reply"),
        ({"verdict": "accepted", "reply": "click(point='<point>1 1</point>')"}, "reply"),
        ({"verdict": "perhaps"}, "verdict"),
        ({}, "verdict"),
        ({"verdict": "accepted", "reason": "x" * 10_001}, "reason"),
        ({"verdict": "accepted", "answer": "The blue one."}, "answer"),
        ({"verdict": "accepted", "answer": "x" * 1001}, "answer"),
    ],
)
async def test_an_answer_that_is_none_is_refused_and_the_policy_waits_on(
    client: httpx.AsyncClient, store: Store, body: dict[str, str], field: str
) -> None:
    asking = asyncio.create_task(_ask(store))
    waiting = await next_proposal(client)
    refused = await client.post(f"/v1/proposals/{waiting['id']}/answer", json=body)
    assert refused.status_code == 422 and refused.json()["error"]["field"] == field
    assert (await client.get(f"/v1/proposals/{waiting['id']}")).json()["state"] == "waiting"
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    missing = await client.post("/v1/proposals/nothing/answer", json={"verdict": "accepted"})
    assert missing.status_code == 404


async def test_of_two_answers_one_is_heard(client: httpx.AsyncClient, store: Store) -> None:
    asking = asyncio.create_task(_ask(store))
    waiting = await next_proposal(client)
    path, body = f"/v1/proposals/{waiting['id']}/answer", {"verdict": "accepted"}
    answers = await asyncio.gather(*(client.post(path, json=body) for _ in range(5)))
    assert sorted(each.status_code for each in answers) == [200, 409, 409, 409, 409]
    assert (await asking).by == "owner"


async def test_how_long_a_person_may_take_is_bounded(client: httpx.AsyncClient) -> None:
    for review_s in (0, 601, "soon"):
        policy = {"name": "scripted", "review_s": review_s}
        refused = await client.post("/v1/tasks", json={"task_id": "fake/press-button", "policy": policy})
        assert refused.status_code == 422 and "review_s" in refused.json()["error"]["field"]
    policy = {"name": "scripted", "review_s": 30}
    kept = (await client.post("/v1/tasks", json={"task_id": "fake/press-button", "policy": policy})).json()
    assert kept["policy"]["review_s"] == 30


async def _ask(store: Store) -> Any:
    from PIL import Image as Picture

    from deskhand_sandbox.pictures import encoded

    seen = Observation(screenshot=encoded(Picture.new("RGB", (40, 30))), captured_at_s=1.0, settled_ms=1.0)
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    context = Context(task=task, instruction="Do it.", steps=(), observation=seen, trajectory_id="a")
    decision = Decision(actions=(Click(x=1, y=1),), text="click")
    return await Proposals(store).review(context, decision, within_s=600.0)
