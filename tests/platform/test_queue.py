from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.queue import TaskQueue
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks
from deskhand_platform.task_orders import PolicyRef, QueuedTask, TaskOrder
from deskhand_sandbox.types import EnvironmentSpec, Outcome, Task, VerifierSpec

DATABASES = ("sqlite", "postgresql")
TASK = Task(
    id="fake/door",
    environment=EnvironmentSpec(kind="fake", settings={"steps": [1, 2]}),
    verifier=VerifierSpec(name="fake"),
    seed=5,
)
POLICY = PolicyRef(name="scripted", settings={"temperature": 0.5})


async def submit(queue: TaskQueue) -> QueuedTask:
    return await queue.submit(TaskOrder(task=TASK, policy=POLICY, labels={"who": "me"}))


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
    await queue.begun(first, "dead", "t1")
    second = await queue.claim("alive", 60.0)
    assert second is not None and (second.id, second.attempts, second.trajectory_id) == (
        submitted.id,
        2,
        None,
    )
    assert not await queue.renew(first, "dead", 60.0)
    assert not await queue.settle(first, "dead", WorkState.FAILED, outcome=None, reason="x")
    outcome = Outcome(score=1.0, success=True, detail="open")
    assert await queue.settle(second, "alive", WorkState.DONE, outcome=outcome, reason=None)
    kept = await queue.get(submitted.id)
    assert (kept.state, kept.outcome, kept.reason) == (WorkState.DONE, outcome, None)
    assert await queue.claim("third", 60.0) is None


async def test_a_task_whose_workers_die_is_given_up_and_those_that_wait_go_on(
    queue: TaskQueue, store: Store
) -> None:
    deadly, waiting = (await submit(queue)).id, (await submit(queue)).id
    for attempt in (1, 2, 3):
        claimed = await queue.claim("dies", -1.0, attempts=3)
        assert claimed is not None and (claimed.id, claimed.attempts) == (deadly, attempt)
    claimed = await queue.claim("worker", 60.0, attempts=3)
    assert claimed is not None and claimed.id == waiting
    found = await queue.get(deadly)
    assert (found.state, found.reason) == (WorkState.FAILED, "gave up after 3 attempts: its worker died")
    assert found.ended_at_s is not None
    told = await store.events_after(0, subjects=[f"task:{deadly}"])
    assert told[-1].data["state"] == WorkState.FAILED


async def test_a_slot_whose_task_another_slot_of_its_worker_took_changes_nothing(queue: TaskQueue) -> None:
    await submit(queue)
    first, second = await queue.claim("worker", -1.0), await queue.claim("worker", 60.0)
    assert first is not None and second is not None and first.id == second.id
    await queue.begun(second, "worker", "t2")
    await queue.begun(first, "worker", "t1")
    assert not await queue.renew(first, "worker", 60.0)
    assert not await queue.settle(first, "worker", WorkState.CANCELLED, outcome=None, reason="cancelled")
    await queue.put_back(first, "worker", "the worker was stopped")
    kept = await queue.get(first.id)
    assert (kept.state, kept.trajectory_id, kept.reason) == (WorkState.RUNNING, "t2", None)
    assert await queue.renew(second, "worker", 60.0)
    assert await queue.settle(second, "worker", WorkState.DONE, outcome=None, reason=None)


async def test_a_renewed_claim_stands(queue: TaskQueue) -> None:
    await submit(queue)
    claimed = await queue.claim("worker", 0.0)
    assert claimed is not None and await queue.renew(claimed, "worker", 60.0)
    assert await queue.claim("other", 60.0) is None


async def test_one_put_off_waits_its_turn_and_no_attempt_is_counted(queue: TaskQueue) -> None:
    first, second = await submit(queue), await submit(queue)
    claimed = await queue.claim("w", 60.0)
    assert claimed is not None and claimed.id == first.id
    await queue.put_off(claimed, "w", "no sandbox", 3600.0)
    waiting = await queue.get(first.id)
    assert (waiting.state, waiting.attempts, waiting.reason) == (WorkState.QUEUED, 0, "no sandbox")
    other = await queue.claim("w", 60.0)
    assert other is not None and other.id == second.id
    assert await queue.claim("w", 60.0) is None
    await queue.put_off(other, "w", "no sandbox", -1.0)
    again = await queue.claim("w", 60.0)
    assert again is not None and (again.id, again.attempts) == (second.id, 1)


async def test_what_is_over_is_closed_without_a_claim(queue: TaskQueue) -> None:
    late = await queue.submit(TaskOrder(task=TASK, policy=POLICY, deadline_s=time.time() + 60))
    dead, waits = await submit(queue), await submit(queue)
    assert [await queue.claim("w", 60.0) is not None for _ in range(2)] == [True, True]
    await queue.cancel(dead.id)
    await queue.expire()
    assert (await queue.get(dead.id)).state is WorkState.RUNNING  # its worker is to let it go
    async with queue._database.write() as connection:  # pyright: ignore[reportPrivateUsage]
        past = sa.update(tasks).where(tasks.c.state == WorkState.RUNNING)
        await connection.execute(past.values(claimed_until_s=1.0, deadline_s=1.0))
        await connection.execute(past.where(tasks.c.id == dead.id).values(deadline_s=None))
    await queue.expire()
    found = [await queue.get(one.id) for one in (late, dead, waits)]
    assert [one.state for one in found] == [WorkState.FAILED, WorkState.CANCELLED, WorkState.QUEUED]


async def test_one_cancelled_as_it_is_given_back_is_cancelled(queue: TaskQueue) -> None:
    for give in (queue.put_back, partial(queue.put_off, pause_s=60.0)):
        submitted = await submit(queue)
        claimed = await queue.claim("w", 60.0)
        assert claimed is not None
        await queue.cancel(submitted.id)
        await give(claimed, "w", "no sandbox")
        found = await queue.get(submitted.id)
        assert (found.state, found.reason) == (WorkState.CANCELLED, "cancelled")
        assert found.ended_at_s is not None


async def test_a_task_ends_for_whatever_reason(queue: TaskQueue) -> None:
    odd, kept = "printed \0 and \ud83d", "printed \\x00 and \\ud83d"
    await submit(queue)
    for give_back in (partial(queue.put_back), partial(queue.put_off, pause_s=-1.0)):
        claimed = await queue.claim("worker", 60.0)
        assert claimed is not None
        await give_back(claimed, "worker", odd)
        assert (await queue.get(claimed.id)).reason == kept
    claimed = await queue.claim("worker", 60.0)
    assert claimed is not None
    outcome = Outcome(score=0.0, success=False, detail=odd)
    assert await queue.settle(claimed, "worker", WorkState.FAILED, outcome=outcome, reason=odd)
    found = await queue.get(claimed.id)
    assert (found.reason, found.outcome) == (kept, outcome)


async def test_cancelling_by_state(queue: TaskQueue) -> None:
    _, waiting = await submit(queue), await submit(queue)
    running = await queue.claim("worker", 60.0)
    assert running is not None
    assert (await queue.cancel(waiting.id)).state is WorkState.CANCELLED
    assert (await queue.cancel(running.id)).cancel_requested
    assert not await queue.renew(running, "worker", 60.0)
    await queue.settle(running, "worker", WorkState.CANCELLED, outcome=None, reason="cancelled")
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


async def test_a_task_is_found_by_a_label_of_any_name(queue: TaskQueue) -> None:
    await submit(queue)
    for name in ("größe", 'a"b', "a\\b", "a'b", "a.b", "[0]", "0", "$", ""):
        order = TaskOrder(task=TASK, policy=POLICY, labels={name: "größer", "who": "me"})
        found = await queue.submit(order)
        for labels in ({name: "größer"}, {name: "größer", "who": "me"}):
            assert [one.id for one in await queue.list(labels=labels)] == [found.id], name
        assert await queue.list(labels={name: "me"}) == ()


@pytest.mark.parametrize("odd", ["a\0b", "\ud83d", "\\u0000", "\\\0", "ä\0"])
async def test_tasks_are_found_whatever_their_texts_hold(queue: TaskQueue, odd: str) -> None:
    strange = replace(TASK, instruction=odd)
    found = await queue.submit(TaskOrder(task=strange, policy=POLICY, labels={odd: odd, "who": "ä"}))
    other = replace(TASK, id="fake/größe")
    await queue.submit(TaskOrder(task=other, policy=POLICY, labels={"who": "me"}))
    for chosen in ({"who": "ä"}, {"who": "me"}):
        assert [one.labels["who"] for one in await queue.list(labels=chosen)] == [chosen["who"]]
    assert [one.task for one in await queue.list(task_id=TASK.id)] == [strange]
    assert [one.task for one in await queue.list(task_id=other.id)] == [other]
    assert (await queue.get(found.id)).labels == {odd: odd, "who": "ä"}


def ordered(**more: Any) -> TaskOrder:
    return TaskOrder(task=TASK, policy=POLICY, labels={"who": "me"}, **more)


async def test_the_highest_priority_goes_first_and_the_oldest_of_those(queue: TaskQueue) -> None:
    low, high, also_high, none = await queue.submit_all(
        [ordered(priority=-1), ordered(priority=7), ordered(priority=7), ordered()]
    )
    claimed = [await queue.claim("worker", 60.0) for _ in range(4)]
    assert [one.id for one in claimed if one] == [high, also_high, none, low]


async def test_under_a_known_key_it_is_the_same_task(queue: TaskQueue) -> None:
    first = await queue.submit_all([ordered(key="a", priority=1), ordered(key="b")])
    again = await queue.submit_all([ordered(key="b"), ordered(key="c"), ordered(key="a", priority=1)])
    assert (again[0], again[2]) == (first[1], first[0]) and again[1] not in first
    with pytest.raises(WrongState, match="under the key 'a'"):
        await queue.submit_all([ordered(key="d"), ordered(key="a", priority=2)])
    with pytest.raises(WrongState, match="the same key"):
        await queue.submit_all([ordered(key="e"), ordered(key="e")])
    assert len(await queue.list()) == 3


async def test_submitted_again_with_another_deadline_it_is_the_same_task_with_its_first_one(
    queue: TaskQueue,
) -> None:
    """A program that gives it "ten minutes from now" says another time whenever it asks."""
    first = await queue.submit(ordered(key="a", deadline_s=2e9))
    again = await queue.submit(ordered(key="a", deadline_s=2e9 + 1))
    assert (again.id, again.deadline_s) == (first.id, 2e9)


async def test_one_key_used_by_many_at_once_is_one_task(queue: TaskQueue) -> None:
    ids = await asyncio.gather(*(queue.submit_all([ordered(key="same")]) for _ in range(20)))
    assert len(set(ids)) == 1 and len(await queue.list()) == 1


async def test_what_is_late_fails_and_is_claimed_by_nobody(queue: TaskQueue, store: Store) -> None:
    now = time.time()
    late, soon, dead = await queue.submit_all(
        [
            ordered(deadline_s=now - 1),
            ordered(deadline_s=now + 600),
            ordered(deadline_s=now + 600, priority=1),
        ]
    )
    first = await queue.claim("dies", 0.0)
    assert first is not None and first.id == dead
    async with store.database.write() as connection:
        await connection.execute(tasks.update().where(tasks.c.id == dead).values(deadline_s=now - 1))
    second = await queue.claim("worker", 60.0)
    assert second is not None and second.id == soon
    assert await queue.claim("worker", 60.0) is None
    for id, when in ((late, "before a worker was free"), (dead, "after its worker had died")):
        found = await queue.get(id)
        assert found.state is WorkState.FAILED and when in (found.reason or "")


async def test_a_claim_reads_no_more_where_many_wait(queue: TaskQueue, store: Store) -> None:
    """An index leads to the one it takes: it does not read all that wait for one that may be late."""
    claimable = queue._claimable(time.time(), 3, {})  # pyright: ignore[reportPrivateUsage]
    sql = claimable.compile(store.database.engine.sync_engine, compile_kwargs={"literal_binds": True})
    async with store.database.read() as connection:
        if connection.dialect.name == "postgresql":
            # of an empty table it would read all; nothing is to be without an index
            await connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
            lines = (await connection.scalars(sa.text(f"EXPLAIN {sql}"))).all()
            conditions = [line for line in lines if "Index Cond" in line]
            assert not any("Seq Scan" in line for line in lines)
            assert sum("deadline_s <=" in line for line in conditions) == 2
            return
        plan = (await connection.execute(sa.text(f"EXPLAIN QUERY PLAN {sql}"))).all()
    looks = [row.detail for row in plan if "tasks" in row.detail]
    assert len(looks) == 5 and all("USING" in look and "INDEX" in look for look in looks)
    assert sum("(state=? AND deadline_s<?)" in look for look in looks) == 2


async def test_what_failed_is_tried_again_as_if_new(queue: TaskQueue) -> None:
    [id] = await queue.submit_all([ordered(deadline_s=time.time() - 1)])
    assert await queue.claim("worker", 60.0) is None
    again = await queue.retry(id)
    assert (again.state, again.attempts, again.reason, again.deadline_s) == (WorkState.QUEUED, 0, None, None)
    claimed = await queue.claim("worker", 60.0)
    assert claimed is not None and claimed.id == id
    with pytest.raises(WrongState, match="is running"):
        await queue.retry(id)
    with pytest.raises(NotFound):
        await queue.retry("nothing")
