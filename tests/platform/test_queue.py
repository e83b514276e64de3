from __future__ import annotations

import asyncio

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.queue import PolicyRef, QueuedTask, TaskQueue
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import EnvironmentSpec, Outcome, Task, VerifierSpec

TASK = Task(
    id="fake/door",
    environment=EnvironmentSpec(kind="fake", settings={"steps": [1, 2]}),
    verifier=VerifierSpec(name="fake"),
    seed=5,
)
POLICY = PolicyRef(name="scripted", settings={"temperature": 0.5})


async def submit(queue: TaskQueue) -> QueuedTask:
    return await queue.submit(TASK, POLICY, {"who": "me"})


@pytest.fixture
def queue(store: Store) -> TaskQueue:
    return TaskQueue(store.database)


async def test_a_task_comes_back_as_it_went_in(queue: TaskQueue) -> None:
    kept = await queue.get((await submit(queue)).id)
    assert (kept.task, kept.policy, kept.labels, kept.state) == (
        TASK,
        POLICY,
        {"who": "me"},
        WorkState.QUEUED,
    )
    with pytest.raises(NotFound):
        await queue.get("nothing")


async def test_each_task_is_claimed_once_oldest_first(queue: TaskQueue) -> None:
    ids = [(await submit(queue)).id for _ in range(6)]
    claimed = await asyncio.gather(*(queue.claim(f"worker-{n}", 60.0) for n in range(8)))
    got = [one.id for one in claimed if one is not None]
    assert sorted(got) == ids and claimed.count(None) == 2


async def test_a_dead_workers_task_is_taken_again_and_the_dead_one_changes_nothing(queue: TaskQueue) -> None:
    submitted = await submit(queue)
    first = await queue.claim("dead", 0.0)
    assert first is not None and first.attempts == 1
    await queue.begun(submitted.id, "dead", "t1")
    second = await queue.claim("alive", 60.0)
    assert second is not None and (second.id, second.attempts, second.trajectory_id) == (
        submitted.id,
        2,
        None,
    )
    assert not await queue.renew(submitted.id, "dead", 60.0)
    assert not await queue.settle(submitted.id, "dead", WorkState.FAILED, outcome=None, reason="x")
    outcome = Outcome(score=1.0, success=True, detail="open")
    assert await queue.settle(submitted.id, "alive", WorkState.DONE, outcome=outcome, reason=None)
    kept = await queue.get(submitted.id)
    assert (kept.state, kept.outcome, kept.reason) == (WorkState.DONE, outcome, None)
    assert await queue.claim("third", 60.0) is None


async def test_a_renewed_claim_stands(queue: TaskQueue) -> None:
    submitted = await submit(queue)
    await queue.claim("worker", 0.0)
    assert await queue.renew(submitted.id, "worker", 60.0)
    assert await queue.claim("other", 60.0) is None


async def test_cancelling_by_state(queue: TaskQueue) -> None:
    running, waiting = await submit(queue), await submit(queue)
    await queue.claim("worker", 60.0)
    assert (await queue.cancel(waiting.id)).state is WorkState.CANCELLED
    assert (await queue.cancel(running.id)).cancel_requested
    assert not await queue.renew(running.id, "worker", 60.0)
    await queue.settle(running.id, "worker", WorkState.CANCELLED, outcome=None, reason="cancelled")
    with pytest.raises(WrongState, match="cancelled already"):
        await queue.cancel(running.id)
    with pytest.raises(NotFound):
        await queue.cancel("nothing")


async def test_lists_go_back_in_time(queue: TaskQueue) -> None:
    ids = [(await submit(queue)).id for _ in range(3)]
    await queue.claim("worker", 60.0)
    newest = await queue.list(limit=2)
    assert [one.id for one in newest] == [ids[2], ids[1]]
    assert [one.id for one in await queue.list(before=ids[1])] == [ids[0]]
    assert [one.id for one in await queue.list(state=WorkState.RUNNING)] == [ids[0]]
