"""What people and judges said of steps, one after the other, for whoever learns from it.

async for trajectory_id, step_index, label, rationale, source in opinions(store):
    …
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, FromClause, exists, false, or_, select, tuple_

from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.filters import matches
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import HUMAN, JUDGE, TrajectoryFilter

_PAGE = 1000


class Opinion(NamedTuple):
    """One word on one step."""

    trajectory_id: str
    step_index: int
    label: float
    """0 (harms, bad) to 1 (helps, good)."""
    rationale: str | None
    source: str
    """The scorer's name: "human:ada", "judge:MODEL@DIGEST"."""


async def opinions(
    store: Store,
    chosen: TrajectoryFilter | None = None,
    *,
    sources: Sequence[str] = (HUMAN, JUDGE),
    newest: bool = False,
    trajectory_ids: Collection[str] | None = None,
) -> AsyncGenerator[Opinion]:
    """Every one on a step of a whole trajectory, by trajectory, step and source.

    Args:
        sources: kinds of scorers ("human", "judge", "prm") or whole names of scorers; the versions of a judge
            are told apart by their names.
        newest: of each step only the last word of them.
        trajectory_ids: only on these; None for all.

    Raises:
        StoreUnavailable: the database does not answer.
    """
    table, of = tables.scores, tables.trajectories
    key = tuple_(table.c.trajectory_id, table.c.step_index, table.c.scorer)
    query = (
        select(table)
        .join(of, of.c.id == table.c.trajectory_id)
        .where(matches(chosen or TrajectoryFilter()), of.c.end.is_not(None), spoken_by(sources))
        .order_by(table.c.trajectory_id, table.c.step_index, table.c.scorer)
        .limit(_PAGE)
    )
    if newest:
        query = query.where(~_spoken_of_later(sources))
    parts = [query]
    if trajectory_ids is not None:
        parts = [
            query.where(table.c.trajectory_id.in_(ids)) for ids in in_chunks(sorted(set(trajectory_ids)))
        ]
    for part in parts:
        after: tuple[str, int, str] | None = None
        while True:
            page = part if after is None else part.where(key > tuple_(*after))
            async with store.database.read() as connection:
                rows = (await connection.execute(page)).all()
            for row in rows:
                yield Opinion(row.trajectory_id, row.step_index, row.score, row.rationale, row.scorer)
            if len(rows) < _PAGE:
                break
            after = (rows[-1].trajectory_id, rows[-1].step_index, rows[-1].scorer)


def _spoken_of_later(sources: Sequence[str]) -> ColumnElement[bool]:
    """One of them scored the same step later; of scores at one time that by the last name is the latest."""
    table, later = tables.scores, tables.scores.alias()
    return exists().where(
        later.c.trajectory_id == table.c.trajectory_id,
        later.c.step_index == table.c.step_index,
        spoken_by(sources, later),
        tuple_(later.c.scored_at_s, later.c.scorer) > tuple_(table.c.scored_at_s, table.c.scorer),
    )


def spoken_by(sources: Sequence[str], scores: FromClause = tables.scores) -> ColumnElement[bool]:
    """Scores of these kinds of scorers, or of scorers of these names."""
    scorer = scores.c.scorer
    kinds = [scorer.startswith(f"{each}:", autoescape=True) for each in sources if ":" not in each]
    return or_(false(), scorer.in_(sources), *kinds)
