"""The store's step values: what steps were worth by Monte-Carlo continuation, by labeller."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from sqlalchemy import select

from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.filters import has_step_without, whole_trajectories
from deskhand_flywheel.parts import checked
from deskhand_flywheel.trajectories import Trajectories
from deskhand_flywheel.types import StepValue, TrajectoryFilter

_SHARES = ("before", "before_error", "after", "after_error")
_VALUES = (*_SHARES, "continuations", "exact")


class StepValues(Trajectories):
    """What labellers found steps to be worth."""

    async def add_step_values(self, values: Iterable[StepValue], *, replace: bool = True) -> None:
        """Keep values, all or none; a labeller's later word on a step replaces its earlier one.

        Args:
            replace: False leaves what a labeller has said already.

        Raises:
            InvalidScore: one is not from 0 to 1; none was kept.
            UnknownTrajectory: a value is for a step that is not in the store; none was kept.
            StorageFull, StoreUnavailable, StoreClosed: none was kept.
        """
        now = time.time()
        rows = [
            {
                "trajectory_id": value.trajectory_id,
                "step_index": value.step_index,
                "labeller": value.labeller,
                "labelled_at_s": now if value.labelled_at_s is None else value.labelled_at_s,
                **{name: checked(getattr(value, name), by=value.labeller, what=name) for name in _SHARES},
                "continuations": value.continuations,
                "exact": value.exact,
            }
            for value in values
        ]
        insert = self.insert_new(tables.step_values)
        if replace:
            insert = self.insert_or_replace(tables.step_values, (*_VALUES, "labelled_at_s"))
        await self.keep_all(insert, rows, of="a value is for a step")

    async def step_values(
        self, *, labeller: str | None = None, trajectory_ids: Collection[str] | None = None
    ) -> tuple[StepValue, ...]:
        """Values of all steps, by trajectory and step, a labeller's later ones after its earlier ones.

        Args:
            labeller: only this one's; None for everybody's, oldest first within a step.
            trajectory_ids: only of these; None for all.
        """
        table = tables.step_values
        query = select(table).order_by(table.c.trajectory_id, table.c.step_index, table.c.labelled_at_s)
        if labeller is not None:
            query = query.where(table.c.labeller == labeller)
        parts = [query]
        if trajectory_ids is not None:
            parts = [
                query.where(table.c.trajectory_id.in_(ids)) for ids in in_chunks(sorted(set(trajectory_ids)))
            ]
        async with self.database.read() as connection:
            rows = [row for part in parts for row in (await connection.execute(part)).all()]
        return tuple(
            StepValue(
                trajectory_id=row.trajectory_id,
                step_index=row.step_index,
                labeller=row.labeller,
                labelled_at_s=row.labelled_at_s,
                **{name: getattr(row, name) for name in _VALUES},
            )
            for row in rows
        )

    async def unlabelled(self, labeller: str, chosen: TrajectoryFilter | None = None) -> tuple[str, ...]:
        """Whole trajectories with a verdict and a step that `labeller` has no value for, oldest first."""
        lacking = has_step_without(tables.step_values, "labeller", labeller)
        judged = tables.trajectories.c.success.is_not(None)
        return await whole_trajectories(self.database, chosen, judged, lacking)
