"""Part of one trajectory, for readers that do not want the whole: some of its steps, or how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select

from deskhand_agent.types import Step, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.errors import InvalidQuery, UnknownTrajectory
from deskhand_flywheel.parts import StorePart
from deskhand_flywheel.records import loads
from deskhand_flywheel.types import StepPage

MAX_STEPS = 500


class StepPages(StorePart):
    """Reads trajectories in parts."""

    async def steps(self, trajectory_id: str, *, offset: int = 0, limit: int = 50) -> StepPage:
        """At most `limit` steps (1 to 500) from index `offset` on, without reading the others.

        Raises:
            UnknownTrajectory: there is none of that id.
            InvalidQuery: offset or limit is out of range.
            UnknownSchemaVersion, MalformedRecord: a row this version cannot read.
        """
        if not 1 <= limit <= MAX_STEPS or offset < 0:
            raise InvalidQuery(
                f"a page holds 1 to {MAX_STEPS} steps from 0 on, not {limit} steps from {offset}"
            )
        table = tables.steps
        of_this = table.c.trajectory_id == trajectory_id
        page = select(table.c.step).where(of_this, table.c.step_index >= offset)
        async with self.database.read() as connection:
            total = await connection.scalar(select(func.count()).select_from(table).where(of_this)) or 0
            rows = (await connection.scalars(page.order_by(table.c.step_index).limit(limit))).all()
        if total == 0:
            await self.end_of(trajectory_id)  # tells an episode without steps from none at all
        return StepPage(items=tuple(loads(Step, row) for row in rows), total=total)

    async def count_steps(self, trajectory_ids: Sequence[str]) -> int:
        """Steps of all these together."""
        column, counted = tables.steps.c.trajectory_id, 0
        async with self.database.read() as connection:
            for few in in_chunks(trajectory_ids):
                query = select(func.count()).where(column.in_(few))
                counted += await connection.scalar(query) or 0
        return counted

    async def notes_of(self, trajectory_id: str) -> str:
        """What its agent was told of earlier episodes; empty where it keeps no notebook.

        Raises:
            UnknownTrajectory: there is none of that id.
        """
        table = tables.trajectories
        async with self.database.read() as connection:
            start = await connection.scalar(select(table.c.start).where(table.c.id == trajectory_id))
        if start is None:
            raise UnknownTrajectory(f"no trajectory {trajectory_id!r} in the store")
        return loads(TrajectoryStart, start).notes

    async def end_of(self, trajectory_id: str) -> TrajectoryEnd | None:
        """How it ended; None while it has not.

        Raises:
            UnknownTrajectory: there is none of that id.
        """
        table = tables.trajectories
        async with self.database.read() as connection:
            row = (await connection.execute(select(table.c.end).where(table.c.id == trajectory_id))).first()
        if row is None:
            raise UnknownTrajectory(f"no trajectory {trajectory_id!r} in the store")
        return None if row.end is None else loads(TrajectoryEnd, row.end)
