"""The store's trajectories: read whole or as summaries; `recording` is how they come in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Row, Select, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_agent.ids import is_id
from deskhand_agent.types import Step, Trajectory, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.errors import (
    BlobError,
    FlywheelError,
    InvalidCursor,
    InvalidQuery,
    RecordError,
    UnknownTrajectory,
)
from deskhand_flywheel.filters import matches
from deskhand_flywheel.recording import Recording, unknown
from deskhand_flywheel.records import loads
from deskhand_flywheel.types import TrajectoryFilter, TrajectoryPage, TrajectorySummary
from deskhand_sandbox.types import Image, Observation

MAX_PAGE = 500
OnDamaged: TypeAlias = Callable[[str, FlywheelError], None]
"""Told the id of an episode that cannot be read, and why."""
_REACHES = (250, 4_000)
"""Trajectories that a search looks through before it looks through all."""


class _Rows(NamedTuple):
    """What the database holds of a trajectory, not read yet."""

    start: str
    end: str | None
    steps: list[str]


class Trajectories(Recording):
    """Reads what was recorded."""

    async def trajectory(self, trajectory_id: str, *, images: bool = False) -> Trajectory:
        """One trajectory as far as it is written; with `images`, every picture has its bytes.

        Raises:
            UnknownTrajectory: there is none of that id.
            MissingBlob, CorruptBlob: a picture is gone or damaged (only with `images`).
            UnknownSchemaVersion, MalformedRecord: a row this version cannot read.
        """
        async for trajectory in self.each_trajectory([trajectory_id], images=images):
            return trajectory
        raise unknown(trajectory_id)

    async def each_trajectory(
        self,
        trajectory_ids: Iterable[str],
        *,
        images: bool = False,
        on_damaged: OnDamaged | None = None,
    ) -> AsyncGenerator[Trajectory]:
        """Whole trajectories in the order of the ids, a few at a time in memory.

        Args:
            on_damaged: told of each that cannot be read, and why, and the others go on; None: the first
                ends it.

        Raises:
            As `trajectory`, unless `on_damaged` is told.
        """
        for chunk in in_chunks(list(trajectory_ids)):
            found = await self._load(chunk)
            for trajectory_id in chunk:
                try:
                    trajectory = _read(trajectory_id, found)
                    if images:
                        trajectory = await self._with_images(trajectory)
                except (UnknownTrajectory, RecordError, BlobError) as error:
                    if on_damaged is None:
                        raise
                    on_damaged(trajectory_id, error)
                else:
                    yield trajectory

    async def trajectories(
        self,
        chosen: TrajectoryFilter | None = None,
        *,
        cursor: str | None = None,
        limit: int = 50,
    ) -> TrajectoryPage:
        """A page of summaries, newest first.

        Args:
            cursor: `next_cursor` of the page before; None for the first.
            limit: at most this many, 1 to 500.

        Raises:
            InvalidCursor: no page gave it out.
            InvalidQuery: the limit is out of range.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidQuery(f"a page holds 1 to {MAX_PAGE} trajectories, not {limit}")
        table = tables.trajectories
        chosen = chosen or TrajectoryFilter()
        rows: Sequence[Row[Any, Any, Any, int, Any, Any]] = ()
        async with self.database.read() as connection:
            await _check_cursor(connection, cursor)
            async for since in self._reaches(connection, chosen, cursor):
                # one more than asked for tells whether there is a next page
                query = _summaries().where(_before(cursor), matches(chosen, since=since))
                newest = query.order_by(table.c.id.desc()).limit(limit + 1)
                rows = (await connection.execute(newest)).all()
                if len(rows) > limit:
                    break
        items: list[TrajectorySummary] = []
        unreadable: list[str] = []
        for row in rows[:limit]:
            try:
                items.append(_summary(row))
            except RecordError:
                unreadable.append(row.id)
        return TrajectoryPage(
            items=tuple(items),
            next_cursor=rows[limit - 1].id if len(rows) > limit else None,
            unreadable=tuple(unreadable),
        )

    async def summary(self, trajectory_id: str) -> TrajectorySummary:
        """One trajectory without its steps.

        Raises:
            UnknownTrajectory: there is none of that id.
        """
        async with self.database.read() as connection:
            row = (
                await connection.execute(_summaries().where(tables.trajectories.c.id == trajectory_id))
            ).first()
        if row is None:
            raise unknown(trajectory_id)
        return _summary(row)

    async def trajectory_ids(self, chosen: TrajectoryFilter | None = None) -> tuple[str, ...]:
        """Every id the filter lets through, oldest first."""
        table = tables.trajectories
        query = select(table.c.id).where(matches(chosen or TrajectoryFilter())).order_by(table.c.id)
        async with self.database.read() as connection:
            return tuple((await connection.scalars(query)).all())

    async def starts(self, chosen: TrajectoryFilter | None = None) -> dict[str, tuple[str, int]]:
        """Id of everything the filter lets through -> the task and seed it began with."""
        table = tables.trajectories
        query = select(table.c.id, table.c.task_id, table.c.seed).where(matches(chosen or TrajectoryFilter()))
        async with self.database.read() as connection:
            return {row.id: (row.task_id, row.seed) for row in (await connection.execute(query)).all()}

    async def count_trajectories(self, chosen: TrajectoryFilter | None = None) -> int:
        """How many the filter lets through."""
        query = select(func.count()).select_from(tables.trajectories)
        async with self.database.read() as connection:
            return await connection.scalar(query.where(matches(chosen or TrajectoryFilter()))) or 0

    async def image(self, digest: str) -> bytes:
        """A picture's encoded bytes, checked against their digest.

        Raises:
            MissingBlob: there is no such picture.
            CorruptBlob: its bytes were changed or cut.
        """
        return await self.blobs.get(digest)

    # ---- inside ----

    async def _reaches(
        self, connection: AsyncConnection, chosen: TrajectoryFilter, cursor: str | None
    ) -> AsyncGenerator[str]:
        """How far back to look for a page: ids, ever older, "" at last.

        PostgreSQL sorts all that a search finds before it hands out the newest: what most of the newest say
        is found among those.
        """
        if chosen.text is not None and not self.database.is_sqlite:
            table = tables.trajectories
            query = select(table.c.id).where(_before(cursor), matches(replace(chosen, text=None)))
            for reach in _REACHES:
                since = await connection.scalar(query.order_by(table.c.id.desc()).offset(reach).limit(1))
                if since is None:
                    break
                yield since
        yield ""

    async def _load(self, trajectory_ids: Sequence[str]) -> dict[str, _Rows]:
        table, steps = tables.trajectories, tables.steps
        async with self.database.read() as connection:
            heads = (
                await connection.execute(
                    select(table.c.id, table.c.start, table.c.end).where(table.c.id.in_(trajectory_ids))
                )
            ).all()
            rows = (
                await connection.execute(
                    select(steps.c.trajectory_id, steps.c.step)
                    .where(steps.c.trajectory_id.in_(trajectory_ids))
                    .order_by(steps.c.trajectory_id, steps.c.step_index)
                )
            ).all()
        found = {head.id: _Rows(head.start, head.end, []) for head in heads}
        for row in rows:
            # a trajectory begun between the two queries has steps and no head yet
            if row.trajectory_id in found:
                found[row.trajectory_id].steps.append(row.step)
        return found

    async def _with_images(self, trajectory: Trajectory) -> Trajectory:
        steps = [await self._step_with_images(step) for step in trajectory.steps]
        end = trajectory.end
        if end is not None and end.final_observation is not None:
            end = replace(end, final_observation=await self._seen(end.final_observation))
        return replace(trajectory, steps=tuple(steps), end=end)

    async def _step_with_images(self, step: Step) -> Step:
        decision = step.decision
        if decision.request is not None:
            shown = tuple([await self._filled(image) for image in decision.request.images])
            decision = replace(decision, request=replace(decision.request, images=shown))
        return replace(step, observation=await self._seen(step.observation), decision=decision)

    async def _seen(self, observation: Observation) -> Observation:
        return replace(observation, screenshot=await self._filled(observation.screenshot))

    async def _filled(self, image: Image) -> Image:
        return replace(image, data=await self.blobs.get(image.digest))


def _read(trajectory_id: str, found: Mapping[str, _Rows]) -> Trajectory:
    if trajectory_id not in found:
        raise unknown(trajectory_id)
    rows = found[trajectory_id]
    return Trajectory(
        start=loads(TrajectoryStart, rows.start),
        steps=tuple(loads(Step, step) for step in rows.steps),
        end=None if rows.end is None else loads(TrajectoryEnd, rows.end),
    )


async def _check_cursor(connection: AsyncConnection, cursor: str | None) -> None:
    """What it names may have been dropped since; an id of another form, as others' episodes have, is looked
    up.

    Raises:
        InvalidCursor: no page gave it out.
    """
    if cursor is not None and not is_id(cursor):
        table = tables.trajectories
        if await connection.scalar(select(table.c.id).where(table.c.id == cursor)) is None:
            raise InvalidCursor(cursor)


def _before(cursor: str | None) -> ColumnElement[bool]:
    """What comes behind a page that ended there, newest first."""
    return true() if cursor is None else tables.trajectories.c.id < cursor


def _summaries() -> Select[Any, Any, Any, int, Any, Any]:
    table, steps = tables.trajectories, tables.steps
    of_this, last = steps.c.trajectory_id == table.c.id, steps.c.step_index.desc()
    return select(
        table.c.id,
        table.c.start,
        table.c.end,
        select(func.count()).where(of_this).scalar_subquery().label("steps"),
        select(func.coalesce(func.sum(steps.c.reward), 0.0)).where(of_this).scalar_subquery().label("reward"),
        select(steps.c.step).where(of_this).order_by(last).limit(1).scalar_subquery().label("last_step"),
    )


def _summary(row: Row[Any, Any, Any, int, Any, Any]) -> TrajectorySummary:
    start = loads(TrajectoryStart, row.start)
    end = None if row.end is None else loads(TrajectoryEnd, row.end)
    return TrajectorySummary(
        id=start.id,
        task_id=start.task.id,
        seed=start.task.seed,
        instruction=start.instruction,
        policy_id=start.policy_id,
        policy_update=start.policy_update,
        group_id=start.group_id,
        split=start.split,
        labels=start.labels,
        started_at_s=start.started_at_s,
        ended_at_s=end.ended_at_s if end else None,
        steps=row.steps,
        reward=row.reward,
        outcome=end.outcome if end else None,
        stop_reason=end.stop_reason if end else None,
        failure=end.failure if end else None,
        last_screen=_last_screen(row.last_step),
    )


def _last_screen(step: str | None) -> Image | None:
    try:
        return None if step is None else loads(Step, step).observation.screenshot
    except RecordError:  # of the step, not of what is summarised
        return None
