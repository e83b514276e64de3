"""The store's step scores: any number of scorers side by side, each with its version in its name."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row, select

from deskhand_flywheel import tables
from deskhand_flywheel.filters import has_step_without, whole_trajectories
from deskhand_flywheel.parts import checked, column_text
from deskhand_flywheel.trajectories import Trajectories
from deskhand_flywheel.types import StepScore, TrajectoryFilter
from deskhand_flywheel.writer import Write


class Scores(Trajectories):
    """What scorers said of the steps."""

    async def add_scores(
        self, scores: Iterable[StepScore], *, replace: bool = True, then: Write[object] | None = None
    ) -> None:
        """Keep scores; a scorer's later word on a step replaces its earlier one.

        Args:
            replace: False leaves what a scorer has said already.
            then: what is written with them, after them.

        Raises:
            InvalidScore: one is not from 0 to 1; none was kept.
            UnknownTrajectory: a score is for a step that is not in the store; none was kept.
            StorageFull, StoreUnavailable, StoreClosed: none was kept.
        """
        now = time.time()
        rows = [
            {
                "trajectory_id": score.trajectory_id,
                "step_index": score.step_index,
                "scorer": score.scorer,
                "score": checked(score.score, by=score.scorer),
                "rationale": score.rationale and column_text(score.rationale),
                "scored_at_s": now if score.scored_at_s is None else score.scored_at_s,
            }
            for score in scores
        ]
        insert = self.insert_new(tables.scores)
        if replace:
            insert = self.insert_or_replace(tables.scores, ("score", "rationale", "scored_at_s"))
        await self.keep_all(insert, rows, of="a score is for a step", then=then)

    async def scores(
        self, trajectory_id: str, *, scorer: str | None = None, steps: range | None = None
    ) -> tuple[StepScore, ...]:
        """Scores of one trajectory, by scorer and step; empty when there are none.

        Args:
            scorer: only this one's; None for everybody's.
            steps: only of these indices, without gaps; None for all.
        """
        table = tables.scores
        query = select(table).where(table.c.trajectory_id == trajectory_id)
        if scorer is not None:
            query = query.where(table.c.scorer == scorer)
        if steps is not None:
            query = query.where(table.c.step_index >= steps.start, table.c.step_index < steps.stop)
        async with self.database.read() as connection:
            rows = (await connection.execute(query.order_by(table.c.scorer, table.c.step_index))).all()
        return tuple(map(_score, rows))

    async def unscored(self, scorer: str, chosen: TrajectoryFilter | None = None) -> tuple[str, ...]:
        """Whole trajectories with a step that `scorer` has not scored, oldest first."""
        lacking = has_step_without(tables.scores, "scorer", scorer)
        return await whole_trajectories(self.database, chosen, lacking)


def _score(row: Row[Any, Any, int, Any]) -> StepScore:
    return StepScore(
        trajectory_id=row.trajectory_id,
        step_index=row.step_index,
        score=row.score,
        scorer=row.scorer,
        rationale=row.rationale,
        scored_at_s=row.scored_at_s,
    )
