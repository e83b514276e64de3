"""The `tasks` table, which is the queue: submit, claim, renew, settle.

Of those that wait, the one of the highest priority goes first, and of several the oldest. A claim holds until
`claimed_until_s`; a worker renews it while it works. A claim that ran out belongs to a worker that died, and
the task is up for claiming again, until its attempts are spent. One that found no sandbox is put off: it
waits until `claimed_until_s`. Every change checks that the claim still stands, by worker and attempt, so a
worker that was thought dead and comes back changes nothing, nor does another slot of the same worker.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_flywheel.parts import column_text, json_column, json_text
from deskhand_flywheel.records import encode
from deskhand_flywheel.writer import GroupWriter
from deskhand_platform.accounts.quotas import Quotas
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import WorkState
from deskhand_platform.submissions import Row, Submission, append, key_of
from deskhand_platform.tables import tasks
from deskhand_platform.task_events import tell
from deskhand_platform.task_orders import QueuedTask, TaskOrder
from deskhand_platform.task_rows import record_of, row_of
from deskhand_sandbox.types import Outcome


class TaskQueue:
    """Submitted tasks, in the order they came."""

    def __init__(
        self,
        database: Database,
        quotas: Quotas | None = None,
        *,
        leased: Callable[[], Awaitable[Mapping[str, int]]] | None = None,
    ) -> None:
        """
        Args:
            quotas: what owners may have at once; None: any number.
            leased: how many sandboxes owners hold beside those of their tasks; asked where a task is to be
                claimed. None: nobody holds any.
        """
        self._database = database
        self._quotas, self._leased = quotas, leased
        self._writer = GroupWriter(database)
        self._append = partial(append, quotas=quotas)

    async def submit(self, order: TaskOrder) -> QueuedTask:
        """Append a task; `submit_all` for one."""
        [row] = await self._submitted([order])
        return record_of(row)

    async def submit_all(self, orders: Sequence[TaskOrder]) -> tuple[str, ...]:
        """Append tasks, all of them or none.

        Returns:
            Their ids, in order; of one whose key is known, the id it was given then.

        Raises:
            WrongState: another task was submitted under one of the keys, or a key is there twice.
            QuotaExceeded: their owner has too many already; says when to try again.
        """
        return tuple(row["id"] for row in await self._submitted(orders))

    async def _submitted(self, orders: Sequence[TaskOrder]) -> Sequence[Row]:
        keys = [(order.owner, order.key) for order in orders if order.key is not None]
        if len(set(keys)) < len(keys):
            raise WrongState("two of the tasks have the same key")
        asked = Submission(rows=[row_of(order) for order in orders])
        try:
            await self._writer.submit_to(self._append, asked)
        except IntegrityError:  # somebody used one of the keys at the same moment: now it can be read
            await self._writer.submit_to(self._append, asked)
        if asked.refused is not None:
            raise asked.refused
        return [asked.known.get(key_of(row), row) for row in asked.rows]

    async def get(self, queued_id: str) -> QueuedTask:
        """One task.

        Raises:
            NotFound: no task was submitted under that id.
        """
        row = await self._database.first(sa.select(tasks).where(tasks.c.id == queued_id))
        if row is None:
            raise NotFound("submitted task", queued_id)
        return record_of(row)

    async def list(
        self,
        *,
        state: WorkState | None = None,
        owner: str | None = None,
        task_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        before: str | None = None,
        limit: int = 50,
    ) -> tuple[QueuedTask, ...]:
        """Tasks, newest first; `before` is the id of the last one seen."""
        query = sa.select(tasks).order_by(tasks.c.id.desc()).limit(limit)
        if state is not None:
            query = query.where(tasks.c.state == state)
        if owner is not None:
            query = query.where(tasks.c.owner == owner)
        if task_id is not None:
            id = self._json(tasks.c.task)["id"].as_string()
            query = query.where(id == json_text(self._database.is_sqlite, task_id))
        for key, value in (labels or {}).items():
            query = query.where(self._labelled(key, value))
        if before is not None:
            query = query.where(tasks.c.id < before)
        async with self._database.read() as connection:
            rows = (await connection.execute(query)).mappings().all()
        return tuple(record_of(row) for row in rows)

    def _labelled(self, key: str, value: str) -> sa.ColumnElement[bool]:
        """A task has the label.

        Not by `labels[key]`: a path of SQLite's finds no name that JSON writes with a backslash.
        """
        on_sqlite = self._database.is_sqlite
        pairs = sa.func.json_each if on_sqlite else sa.func.json_each_text
        each = pairs(self._json(tasks.c.labels)).table_valued("key", "value")
        asked = each.c.key == json_text(on_sqlite, key), each.c.value == json_text(on_sqlite, value)
        return sa.exists().where(*asked)

    def _json(self, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
        return json_column(self._database.is_sqlite, column)

    async def count(self, state: WorkState) -> int:
        """How many tasks are in a state."""
        query = sa.select(sa.func.count()).where(tasks.c.state == state)
        async with self._database.read() as connection:
            return (await connection.execute(query)).scalar_one()

    async def cancel(self, queued_id: str) -> QueuedTask:
        """Take a waiting task out; ask the worker of a running one to stop.

        Raises:
            NotFound: no such task.
            WrongState: it is over already.
        """
        async with self._database.write() as connection:
            take_out = (
                sa.update(tasks)
                .where(tasks.c.id == queued_id, tasks.c.state == WorkState.QUEUED)
                .values(state=WorkState.CANCELLED, ended_at_s=time.time(), reason="cancelled before it began")
            )
            waiting = await _changed(connection, take_out)
            running = await connection.execute(
                sa.update(tasks)
                .where(tasks.c.id == queued_id, tasks.c.state == WorkState.RUNNING)
                .values(cancel_requested=True)
            )
        found = await self.get(queued_id)
        if not waiting and not running.rowcount:
            raise WrongState(f"task {queued_id} is {found.state} already", state=found.state)
        return found

    async def retry(self, queued_id: str) -> QueuedTask:
        """Put a task that failed or was cancelled into the queue again, without a deadline that has passed.

        Raises:
            NotFound: no such task.
            WrongState: it did neither.
            QuotaExceeded: its owner has too many already.
        """
        now = time.time()
        cleared = ("claimed_by", "claimed_until_s", "outcome", "reason", "started_at_s", "ended_at_s")
        values = {
            **dict.fromkeys(cleared),
            "state": WorkState.QUEUED,
            "attempts": 0,
            "cancel_requested": False,
            "deadline_s": sa.case((tasks.c.deadline_s > now, tasks.c.deadline_s), else_=None),
        }
        ended = tasks.c.state.in_((WorkState.FAILED, WorkState.CANCELLED))
        async with self._database.write() as connection:
            again = sa.update(tasks).where(tasks.c.id == queued_id, ended).values(values)
            done = await _changed(connection, again)
            if done and self._quotas is not None:
                await self._quotas.check_tasks(connection, done[0]["owner"], 0)
        found = await self.get(queued_id)
        if not done:
            raise WrongState(
                f"task {queued_id} is {found.state}: only what failed or was cancelled is tried again",
                state=found.state,
            )
        return found

    # ---- for workers ----

    async def claim(self, worker: str, hold_s: float, attempts: int | None = None) -> QueuedTask | None:
        """The next task that waits, or one whose worker died; None when there is none.

        Args:
            attempts: one whose worker died in so many fails instead; None: however often it does.
        """
        while True:
            now = time.time()
            if (found := await self._next(now, attempts)) is None:
                return None
            id, held = found
            take = sa.update(tasks).where(tasks.c.id == id, _free(now), self._within(held))
            values = {
                "state": WorkState.RUNNING,
                "attempts": tasks.c.attempts + 1,
                "claimed_by": worker,
                "claimed_until_s": now + hold_s,
                "started_at_s": sa.func.coalesce(tasks.c.started_at_s, now),
                "trajectory_id": None,
            }
            async with self._database.write() as connection:
                rows = await _changed(connection, take.values(values))
            if rows:
                return record_of(rows[0])

    def _claimable(
        self, now: float, attempts: int | None, held: Mapping[str, int]
    ) -> sa.Select[str | None, str | None, str | None]:
        """One to give up, the oldest whose worker died, and the next that waits; None where there is none."""
        queued, late = tasks.c.state == WorkState.QUEUED, tasks.c.deadline_s <= now
        # each state by itself: an index has it with its deadline, however many wait that have none
        hopeless = sa.func.coalesce(
            *(
                sa.select(tasks.c.id).where(each).limit(1).scalar_subquery()
                for each in (queued & late, _abandoned(now) & late, _spent(now, attempts))
            )
        )
        abandoned = sa.select(tasks.c.id).where(_abandoned(now)).order_by(tasks.c.id).limit(1)
        put_off = sa.func.coalesce(tasks.c.claimed_until_s, 0.0) > now
        waiting = sa.select(tasks.c.id).where(queued, ~put_off, self._within(held))
        waiting = waiting.order_by(tasks.c.rank, tasks.c.id).limit(1)
        return sa.select(hopeless, abandoned.scalar_subquery(), waiting.scalar_subquery())

    def _within(self, held: Mapping[str, int]) -> sa.ColumnElement[bool]:
        """Its owner may have one sandbox more, or it has one already."""
        if self._quotas is None:
            return sa.true()
        return sa.or_(
            tasks.c.state == WorkState.RUNNING, tasks.c.owner.not_in(self._quotas.at_their_limit(held))
        )

    async def expire(self, attempts: int | None = None) -> None:
        """Close what is over though nobody works at it, as `claim` does."""
        await self._next(time.time(), attempts)

    async def _next(self, now: float, attempts: int | None) -> tuple[str, Mapping[str, int]] | None:
        """The id of what is to be claimed next, and what owners hold, once what is over is closed."""
        held: Mapping[str, int] = {}
        asked = self._leased is None or self._quotas is None
        while True:
            async with self._database.read() as connection:  # an idle worker takes no write lock
                seen = await connection.execute(self._claimable(now, attempts, held))
            hopeless, abandoned, waiting = seen.one()
            if hopeless is not None:
                await self._expire(now, attempts)
            elif abandoned or waiting is None or asked or self._leased is None:
                found = abandoned or waiting
                return None if found is None else (found, held)
            else:
                held, asked = await self._leased(), True

    async def _expire(self, now: float, attempts: int | None) -> None:
        """Close what nobody works at and is late, spent or cancelled."""
        tried = sa.cast(tasks.c.attempts, sa.String)
        reason = sa.case(
            (tasks.c.cancel_requested, "cancelled"),
            (tasks.c.state == WorkState.QUEUED, "its deadline passed before a worker was free"),
            (tasks.c.deadline_s <= now, "its deadline passed after its worker had died"),
            else_="gave up after " + tried + " attempts: its worker died",
        )
        state = sa.case((tasks.c.cancel_requested, WorkState.CANCELLED.value), else_=WorkState.FAILED.value)
        values = {"state": state, "ended_at_s": now, "reason": reason, "claimed_until_s": None}
        closed = sa.update(tasks).where(_late(now) | _spent(now, attempts))
        async with self._database.write() as connection:
            await _changed(connection, closed.values(values))

    async def renew(self, claimed: QueuedTask, worker: str, hold_s: float) -> bool:
        """Hold on to a claim.

        Returns:
            False when it is to be let go: the claim was lost, or somebody cancelled the task.
        """
        held = _held(claimed, worker), tasks.c.cancel_requested.is_(False)
        longer = sa.update(tasks).where(*held).values(claimed_until_s=time.time() + hold_s)
        async with self._database.write() as connection:
            return (await connection.execute(longer)).rowcount == 1

    async def begun(self, claimed: QueuedTask, worker: str, trajectory_id: str) -> None:
        """Note the trajectory the running attempt writes."""
        await self._update(claimed, worker, {"trajectory_id": trajectory_id})

    async def put_back(self, claimed: QueuedTask, worker: str, reason: str) -> None:
        """Give a claimed task back to the queue, to be tried again."""
        await self._update(claimed, worker, {**_given_back(reason), "claimed_until_s": None})

    async def put_off(self, claimed: QueuedTask, worker: str, reason: str, pause_s: float) -> None:
        """Give back what could not be begun: it goes after a pause, and no attempt is counted."""
        later = {"claimed_until_s": time.time() + pause_s, "attempts": tasks.c.attempts - 1}
        await self._update(claimed, worker, {**_given_back(reason), **later})

    async def settle(
        self,
        claimed: QueuedTask,
        worker: str,
        state: WorkState,
        *,
        outcome: Outcome | None,
        reason: str | None,
        trajectory_id: str | None = None,
    ) -> bool:
        """Close a claimed task; False when the claim was lost meanwhile.

        Args:
            trajectory_id: what the outcome is of; None: what began last.
        """
        of = {} if trajectory_id is None else {"trajectory_id": trajectory_id}
        return await self._update(
            claimed,
            worker,
            {
                "state": state,
                "outcome": None if outcome is None else encode(outcome),
                "reason": reason and column_text(reason),
                **of,
                "claimed_until_s": None,
                "ended_at_s": time.time(),
            },
        )

    async def _update(self, claimed: QueuedTask, worker: str, values: Mapping[str, Any]) -> bool:
        change = sa.update(tasks).where(_held(claimed, worker)).values(dict(values))
        async with self._database.write() as connection:
            return len(await _changed(connection, change)) == 1


async def _changed(connection: AsyncConnection, change: sa.Update) -> Sequence[RowMapping]:
    """Make a change of tasks, and tell of it; the rows as they are then."""
    rows = (await connection.execute(change.returning(*tasks.c))).mappings().all()
    await tell(connection, rows)
    return rows


def _held(claimed: QueuedTask, worker: str) -> sa.ColumnElement[bool]:
    """This worker's claim stands, and nobody has claimed the task since."""
    attempt = sa.and_(tasks.c.id == claimed.id, tasks.c.attempts == claimed.attempts)
    return sa.and_(attempt, tasks.c.claimed_by == worker, tasks.c.state == WorkState.RUNNING)


def _abandoned(now: float) -> sa.ColumnElement[bool]:
    """Its worker died."""
    return sa.and_(tasks.c.state == WorkState.RUNNING, tasks.c.claimed_until_s < now)


def _spent(now: float, attempts: int | None) -> sa.ColumnElement[bool]:
    """Its worker died, in the last attempt there is or in one that was cancelled."""
    last = sa.false() if attempts is None else tasks.c.attempts >= attempts
    return _abandoned(now) & sa.or_(last, tasks.c.cancel_requested)


def _given_back(reason: str) -> dict[str, Any]:
    """In the queue again, unless somebody cancelled it meanwhile."""
    cancelled = tasks.c.cancel_requested
    return {
        "state": sa.case((cancelled, WorkState.CANCELLED.value), else_=WorkState.QUEUED.value),
        "claimed_by": None,
        "reason": sa.case((cancelled, "cancelled"), else_=column_text(reason)),
        "ended_at_s": sa.case((cancelled, time.time())),
    }


def _free(now: float) -> sa.ColumnElement[bool]:
    """Nobody works at it."""
    return sa.or_(tasks.c.state == WorkState.QUEUED, _abandoned(now))


def _late(now: float) -> sa.ColumnElement[bool]:
    """Nobody works at it, and its deadline has passed."""
    return sa.and_(tasks.c.deadline_s <= now, _free(now))
