"""The `tasks` table, which is the queue: submit, claim, renew, settle.

A claim holds until `claimed_until_s`; a worker renews it while it works. A claim that ran out belongs to a
worker that died, and the task is up for claiming again. Every change checks that the claim still stands, so a
worker that was thought dead and comes back changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy import RowMapping

from deskhand_agent.ids import new_id
from deskhand_flywheel.database import Database
from deskhand_flywheel.records import decode, encode
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks
from deskhand_sandbox.types import JsonValue, Outcome, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRef:
    """Which policy is to work a task."""

    name: str
    """A name in the policy registry."""
    settings: Mapping[str, JsonValue]
    review_s: float | None = None
    """A person sees each action before it is carried out, for so long at most; None: nobody does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedTask:
    """A submitted task as the queue knows it."""

    id: str
    state: WorkState
    task: Task
    policy: PolicyRef
    labels: Mapping[str, str]
    attempts: int
    """Times it was claimed."""
    cancel_requested: bool
    trajectory_id: str | None
    """Of the latest attempt."""
    outcome: Outcome | None
    reason: str | None
    """Why it failed, or ended without an outcome."""
    created_at_s: float
    started_at_s: float | None
    ended_at_s: float | None


class TaskQueue:
    """Submitted tasks, in the order they came."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def submit(self, task: Task, policy: PolicyRef, labels: Mapping[str, str]) -> QueuedTask:
        """Append a task."""
        row = {
            "id": new_id(),
            "state": WorkState.QUEUED,
            "task": encode(task),
            "policy": {
                "name": policy.name,
                "settings": dict(policy.settings),
                "review_s": policy.review_s,
            },
            "labels": dict(labels),
            "created_at_s": time.time(),
        }
        async with self._database.write() as connection:
            await connection.execute(sa.insert(tasks).values(row))
        return await self.get(cast(str, row["id"]))

    async def get(self, queued_id: str) -> QueuedTask:
        """One task.

        Raises:
            NotFound: no task was submitted under that id.
        """
        async with self._database.read() as connection:
            row = (
                (await connection.execute(sa.select(tasks).where(tasks.c.id == queued_id))).mappings().first()
            )
        if row is None:
            raise NotFound("submitted task", queued_id)
        return _record(row)

    async def list(
        self, *, state: WorkState | None = None, before: str | None = None, limit: int = 50
    ) -> tuple[QueuedTask, ...]:
        """Tasks, newest first; `before` is the id of the last one seen."""
        query = sa.select(tasks).order_by(tasks.c.id.desc()).limit(limit)
        if state is not None:
            query = query.where(tasks.c.state == state)
        if before is not None:
            query = query.where(tasks.c.id < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(_record(row) for row in rows)

    async def cancel(self, queued_id: str) -> QueuedTask:
        """Take a waiting task out; ask the worker of a running one to stop.

        Raises:
            NotFound: no such task.
            WrongState: it is over already.
        """
        async with self._database.write() as connection:
            waiting = await connection.execute(
                sa.update(tasks)
                .where(tasks.c.id == queued_id, tasks.c.state == WorkState.QUEUED)
                .values(state=WorkState.CANCELLED, ended_at_s=time.time(), reason="cancelled before it began")
            )
            running = await connection.execute(
                sa.update(tasks)
                .where(tasks.c.id == queued_id, tasks.c.state == WorkState.RUNNING)
                .values(cancel_requested=True)
            )
        found = await self.get(queued_id)
        if not waiting.rowcount and not running.rowcount:
            raise WrongState(f"task {queued_id} is {found.state} already")
        return found

    # ---- for workers ----

    async def claim(self, worker: str, hold_s: float) -> QueuedTask | None:
        """The oldest task that waits, or whose worker died; None when there is none."""
        now = time.time()
        free = sa.or_(
            tasks.c.state == WorkState.QUEUED,
            sa.and_(tasks.c.state == WorkState.RUNNING, tasks.c.claimed_until_s < now),
        )
        oldest = sa.select(tasks.c.id).where(free).order_by(tasks.c.id).limit(1)
        async with self._database.read() as connection:  # an idle worker takes no write lock
            if (await connection.execute(oldest)).first() is None:
                return None
        async with self._database.write() as connection:
            row = (
                (
                    await connection.execute(
                        sa.update(tasks)
                        .where(tasks.c.id.in_(oldest), free)
                        .values(
                            state=WorkState.RUNNING,
                            attempts=tasks.c.attempts + 1,
                            claimed_by=worker,
                            claimed_until_s=now + hold_s,
                            started_at_s=sa.func.coalesce(tasks.c.started_at_s, now),
                            trajectory_id=None,
                        )
                        .returning(*tasks.c)
                    )
                )
                .mappings()
                .first()
            )
        return None if row is None else _record(row)

    async def renew(self, queued_id: str, worker: str, hold_s: float) -> bool:
        """Hold on to a claim.

        Returns:
            False when it is to be let go: the claim was lost, or somebody cancelled the task.
        """
        return await self._update(
            queued_id, worker, {"claimed_until_s": time.time() + hold_s}, unless_cancelled=True
        )

    async def begun(self, queued_id: str, worker: str, trajectory_id: str) -> None:
        """Note the trajectory the running attempt writes."""
        await self._update(queued_id, worker, {"trajectory_id": trajectory_id})

    async def put_back(self, queued_id: str, worker: str, reason: str) -> None:
        """Give a claimed task back to the queue, to be tried again."""
        values = {"state": WorkState.QUEUED, "claimed_by": None, "claimed_until_s": None, "reason": reason}
        await self._update(queued_id, worker, values)

    async def settle(
        self, queued_id: str, worker: str, state: WorkState, *, outcome: Outcome | None, reason: str | None
    ) -> bool:
        """Close a claimed task; False when the claim was lost meanwhile."""
        return await self._update(
            queued_id,
            worker,
            {
                "state": state,
                "outcome": None if outcome is None else encode(outcome),
                "reason": reason,
                "claimed_until_s": None,
                "ended_at_s": time.time(),
            },
        )

    async def _update(
        self, queued_id: str, worker: str, values: Mapping[str, Any], *, unless_cancelled: bool = False
    ) -> bool:
        mine = [tasks.c.id == queued_id, tasks.c.claimed_by == worker, tasks.c.state == WorkState.RUNNING]
        if unless_cancelled:
            mine.append(tasks.c.cancel_requested.is_(False))
        async with self._database.write() as connection:
            result = await connection.execute(sa.update(tasks).where(*mine).values(dict(values)))
        return result.rowcount == 1


def _record(row: RowMapping) -> QueuedTask:
    return QueuedTask(
        id=row["id"],
        state=WorkState(row["state"]),
        task=decode(Task, row["task"]),
        policy=PolicyRef(**row["policy"]),
        labels=row["labels"],
        attempts=row["attempts"],
        cancel_requested=row["cancel_requested"],
        trajectory_id=row["trajectory_id"],
        outcome=None if row["outcome"] is None else decode(Outcome, row["outcome"]),
        reason=row["reason"],
        created_at_s=row["created_at_s"],
        started_at_s=row["started_at_s"],
        ended_at_s=row["ended_at_s"],
    )
