"""The `tasks` table, which is the queue: submit, claim, renew, settle.

Of those that wait, the one of the highest priority goes first, and of several the oldest. A claim holds until
`claimed_until_s`; a worker renews it while it works. A claim that ran out belongs to a worker that died, and
the task is up for claiming again. Every change checks that the claim still stands, so a worker that was
thought dead and comes back changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.exc import IntegrityError

from deskhand_agent.ids import new_id
from deskhand_flywheel.database import Database
from deskhand_flywheel.records import decode, encode
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks
from deskhand_sandbox.types import JsonValue, Outcome, Task

ORDERED = ("task", "policy", "labels", "rank", "deadline_s", "branch")
"""What has to be the same for a task to be the one that was submitted under its key."""
KEYS_AT_ONCE = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRef:
    """Which policy is to work a task."""

    name: str
    """A name in the policy registry."""
    settings: Mapping[str, JsonValue]
    review_s: float | None = None
    """A person sees each action before it is carried out, for so long at most; None: nobody does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchRef:
    """Where episodes leave a recorded one."""

    trajectory_id: str
    step: int
    """The first that is decided anew."""
    episodes: int = 1
    """Of them; the task's trajectory and outcome are the first one's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOrder:
    """A task to be submitted."""

    task: Task
    policy: PolicyRef
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int = 0
    """Higher ones go first."""
    deadline_s: float | None = None
    """Unix time by which it has to be over: then it fails, begun or not. None: it may wait for ever."""
    key: str | None = None
    """Submitted again under the same key, it is the same task."""
    branch: BranchRef | None = None
    """It goes on from a step of a recorded episode; None: it begins at its own start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedTask:
    """A submitted task as the queue knows it."""

    id: str
    state: WorkState
    task: Task
    policy: PolicyRef
    labels: Mapping[str, str]
    priority: int
    deadline_s: float | None
    key: str | None
    branch: BranchRef | None
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

    async def submit(self, order: TaskOrder) -> QueuedTask:
        """Append a task; `submit_all` for one."""
        [queued_id] = await self.submit_all([order])
        return await self.get(queued_id)

    async def submit_all(self, orders: Sequence[TaskOrder]) -> tuple[str, ...]:
        """Append tasks, all of them or none.

        Returns:
            Their ids, in order; of one whose key is known, the id it was given then.

        Raises:
            WrongState: another task was submitted under one of the keys, or a key is there twice.
        """
        keys = [order.key for order in orders if order.key is not None]
        if len(set(keys)) < len(keys):
            raise WrongState("two of the tasks have the same key")
        rows = [_row(order) for order in orders]
        try:
            return await self._append(rows, keys)
        except IntegrityError:  # somebody used one of the keys at the same moment: now it can be read
            return await self._append(rows, keys)

    async def _append(self, rows: Sequence[dict[str, Any]], keys: Sequence[str]) -> tuple[str, ...]:
        async with self._database.write() as connection:
            known: dict[str, RowMapping] = {}
            for at in range(0, len(keys), KEYS_AT_ONCE):
                asked = sa.select(tasks).where(tasks.c.key.in_(keys[at : at + KEYS_AT_ONCE]))
                known |= {row["key"]: row for row in (await connection.execute(asked)).mappings()}
            for row in rows:
                if row["key"] in known and any(known[row["key"]][name] != row[name] for name in ORDERED):
                    raise WrongState(f"another task was submitted under the key {row['key']!r}")
            new = [row for row in rows if row["key"] not in known]
            if new:
                await connection.execute(sa.insert(tasks), new)
        return tuple(known[row["key"]]["id"] if row["key"] in known else row["id"] for row in rows)

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

    async def retry(self, queued_id: str) -> QueuedTask:
        """Put a task that failed or was cancelled into the queue again, without a deadline that has passed.

        Raises:
            NotFound: no such task.
            WrongState: it did neither.
        """
        now = time.time()
        values = {
            **dict.fromkeys(
                ("claimed_by", "claimed_until_s", "outcome", "reason", "started_at_s", "ended_at_s")
            ),
            "state": WorkState.QUEUED,
            "attempts": 0,
            "cancel_requested": False,
            "deadline_s": sa.case((tasks.c.deadline_s > now, tasks.c.deadline_s), else_=None),
        }
        ended = tasks.c.state.in_((WorkState.FAILED, WorkState.CANCELLED))
        async with self._database.write() as connection:
            done = await connection.execute(
                sa.update(tasks).where(tasks.c.id == queued_id, ended).values(values)
            )
        found = await self.get(queued_id)
        if not done.rowcount:
            raise WrongState(
                f"task {queued_id} is {found.state}: only what failed or was cancelled is tried again"
            )
        return found

    # ---- for workers ----

    async def claim(self, worker: str, hold_s: float) -> QueuedTask | None:
        """The next task that waits, or one whose worker died; None when there is none."""
        while True:
            now = time.time()
            async with self._database.read() as connection:  # an idle worker takes no write lock
                late, abandoned, waiting = (await connection.execute(_claimable(now))).one()
            if late is not None:
                await self._expire(now)
                continue
            found = abandoned or waiting
            if found is None:
                return None
            take = sa.update(tasks).where(tasks.c.id == found, _free(now))
            values = {
                "state": WorkState.RUNNING,
                "attempts": tasks.c.attempts + 1,
                "claimed_by": worker,
                "claimed_until_s": now + hold_s,
                "started_at_s": sa.func.coalesce(tasks.c.started_at_s, now),
                "trajectory_id": None,
            }
            async with self._database.write() as connection:
                taken = await connection.execute(take.values(values).returning(*tasks.c))
                row = taken.mappings().first()
            if row is not None:
                return _record(row)

    async def _expire(self, now: float) -> None:
        """Close what nobody works at and whose deadline has passed."""
        reason = sa.case(
            (tasks.c.state == WorkState.QUEUED, "its deadline passed before a worker was free"),
            else_="its deadline passed after its worker had died",
        )
        values = {"state": WorkState.FAILED, "ended_at_s": now, "reason": reason, "claimed_until_s": None}
        async with self._database.write() as connection:
            await connection.execute(sa.update(tasks).where(_late(now)).values(values))

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


def _abandoned(now: float) -> sa.ColumnElement[bool]:
    """Its worker died."""
    return sa.and_(tasks.c.state == WorkState.RUNNING, tasks.c.claimed_until_s < now)


def _free(now: float) -> sa.ColumnElement[bool]:
    """Nobody works at it."""
    return sa.or_(tasks.c.state == WorkState.QUEUED, _abandoned(now))


def _late(now: float) -> sa.ColumnElement[bool]:
    """Nobody works at it, and its deadline has passed."""
    return sa.and_(tasks.c.deadline_s <= now, _free(now))


def _claimable(now: float) -> sa.Select[str | None, str | None, str | None]:
    """A late one, the oldest whose worker died, and the next that waits; None where there is none."""
    queued = tasks.c.state == WorkState.QUEUED
    late = sa.select(tasks.c.id).where(_late(now)).limit(1)
    abandoned = sa.select(tasks.c.id).where(_abandoned(now)).order_by(tasks.c.id).limit(1)
    waiting = sa.select(tasks.c.id).where(queued).order_by(tasks.c.rank, tasks.c.id).limit(1)
    return sa.select(*(each.scalar_subquery() for each in (late, abandoned, waiting)))


def _row(order: TaskOrder) -> dict[str, Any]:
    return {
        "id": new_id(),
        "state": WorkState.QUEUED,
        "task": encode(order.task),
        "policy": {
            "name": order.policy.name,
            "settings": dict(order.policy.settings),
            "review_s": order.policy.review_s,
        },
        "labels": dict(order.labels),
        "rank": -order.priority,
        "deadline_s": order.deadline_s,
        "key": order.key,
        "branch": None if order.branch is None else asdict(order.branch),
        "created_at_s": time.time(),
    }


def _record(row: RowMapping) -> QueuedTask:
    return QueuedTask(
        id=row["id"],
        state=WorkState(row["state"]),
        task=decode(Task, row["task"]),
        policy=PolicyRef(**row["policy"]),
        labels=row["labels"],
        priority=-row["rank"],
        deadline_s=row["deadline_s"],
        key=row["key"],
        branch=None if row["branch"] is None else BranchRef(**row["branch"]),
        attempts=row["attempts"],
        cancel_requested=row["cancel_requested"],
        trajectory_id=row["trajectory_id"],
        outcome=None if row["outcome"] is None else decode(Outcome, row["outcome"]),
        reason=row["reason"],
        created_at_s=row["created_at_s"],
        started_at_s=row["started_at_s"],
        ended_at_s=row["ended_at_s"],
    )
