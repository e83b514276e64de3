"""The store's scores of whole episodes, beside what their verifiers said."""

from __future__ import annotations

import time
from collections.abc import Iterable

from sqlalchemy import exists, select

from deskhand_flywheel import tables
from deskhand_flywheel.filters import has_steps, whole_trajectories
from deskhand_flywheel.parts import StorePart, checked, column_text
from deskhand_flywheel.types import OutcomeScore, TrajectoryFilter
from deskhand_flywheel.writer import Write


class OutcomeScores(StorePart):
    """What judges and people said of episodes."""

    async def add_outcome_scores(
        self, scores: Iterable[OutcomeScore], *, replace: bool = True, then: Write[object] | None = None
    ) -> None:
        """Keep scores; a scorer's later word on an episode replaces its earlier one.

        Args:
            replace: False leaves what a scorer has said already.
            then: what is written with them, after them.

        Raises:
            InvalidScore: one is not from 0 to 1; none was kept.
            UnknownTrajectory: a score is for an episode that is not in the store; none was kept.
            StorageFull, StoreUnavailable, StoreClosed: none was kept.
        """
        now = time.time()
        rows = [
            {
                "trajectory_id": score.trajectory_id,
                "scorer": score.scorer,
                "score": checked(score.score, by=score.scorer),
                "rationale": score.rationale and column_text(score.rationale),
                "scored_at_s": now if score.scored_at_s is None else score.scored_at_s,
            }
            for score in scores
        ]
        insert = self.insert_new(tables.outcome_scores)
        if replace:
            insert = self.insert_or_replace(tables.outcome_scores, ("score", "rationale", "scored_at_s"))
        await self.keep_all(insert, rows, of="a score is for a trajectory", then=then)

    async def outcome_scores(self, trajectory_id: str) -> tuple[OutcomeScore, ...]:
        """Scores of one episode, the latest last; empty when there are none."""
        table = tables.outcome_scores
        query = select(table).where(table.c.trajectory_id == trajectory_id)
        async with self.database.read() as connection:
            rows = (await connection.execute(query.order_by(table.c.scored_at_s, table.c.scorer))).all()
        return tuple(
            OutcomeScore(
                trajectory_id=row.trajectory_id,
                score=row.score,
                scorer=row.scorer,
                rationale=row.rationale,
                scored_at_s=row.scored_at_s,
            )
            for row in rows
        )

    async def unjudged(self, scorer: str, chosen: TrajectoryFilter | None = None) -> tuple[str, ...]:
        """Whole trajectories of at least one step whose outcome `scorer` has not scored, oldest first."""
        scores = tables.outcome_scores
        judged = exists().where(scores.c.trajectory_id == tables.trajectories.c.id, scores.c.scorer == scorer)
        return await whole_trajectories(self.database, chosen, has_steps(), ~judged)
