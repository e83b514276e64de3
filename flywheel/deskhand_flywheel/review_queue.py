"""The store's queue of what a person should look at, the strongest disagreement first.

An entry is resolved as long as some person's mark stands on the step, or the episode, that it is about; where
two people contradict each other, as long as a third one's does, or theirs are nearer to each other than they
were. When it is taken back the entry waits again. Finding drops entries whose sides agree by now.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sqlalchemy import (
    JSON,
    ColumnElement,
    Row,
    ScalarSelect,
    Table,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    tuple_,
    type_coerce,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.annotations import annotator_of
from deskhand_flywheel.errors import InvalidCursor, InvalidQuery
from deskhand_flywheel.filters import matches
from deskhand_flywheel.outcome_scores import OutcomeScores
from deskhand_flywheel.parts import json_column
from deskhand_flywheel.records import decode, encode
from deskhand_flywheel.review_rules import Opinions, disagreements_of
from deskhand_flywheel.review_rules_kept import KeptReviewRules
from deskhand_flywheel.review_types import (
    Disagreement,
    DisagreementKind,
    FoundBy,
    QueuedReview,
    ReviewPage,
    ReviewRules,
    Said,
)
from deskhand_flywheel.scores import Scores
from deskhand_flywheel.types import HUMAN, OutcomeScore, StepScore, TrajectoryFilter
from deskhand_flywheel.writer import Write

MAX_PAGE = 500
_WHOLE = -1
"""Stands for the index of no step."""

ReviewState: TypeAlias = Literal["open", "resolved"]


class ReviewQueue(Scores, OutcomeScores, KeptReviewRules):
    """Disagreements, found and listed."""

    async def find_disagreements(
        self, rules: ReviewRules | None = None, chosen: TrajectoryFilter | None = None
    ) -> int:
        """Bring the queue up to date with the scores of whole trajectories; returns their entries' number.

        Args:
            rules: what counts as one; None: the store's own.
            chosen: which trajectories; None: all.

        Raises:
            StorageFull, StoreUnavailable, StoreClosed: some trajectories' entries are as they were.
        """
        table, scores, outcomes = tables.trajectories, tables.scores, tables.outcome_scores
        spoken_of = or_(
            exists().where(scores.c.trajectory_id == table.c.id),
            exists().where(outcomes.c.trajectory_id == table.c.id),
        )
        query = select(table.c.id).where(
            matches(chosen or TrajectoryFilter()), table.c.end.is_not(None), spoken_of
        )
        async with self.database.read() as connection:
            ids = (await connection.scalars(query.order_by(table.c.id))).all()
        found, in_force = 0, rules or (await self.review_rules()).rules
        for trajectory_id in ids:
            found += await self.find_disagreements_of(trajectory_id, in_force)
        return found

    async def find_disagreements_of(
        self,
        trajectory_id: str,
        rules: ReviewRules | None = None,
        *,
        keep_standing: bool = False,
        kinds: Collection[DisagreementKind] = tuple(DisagreementKind),
    ) -> int:
        """As `find_disagreements`, of one trajectory.

        Args:
            keep_standing: what these rules do not find stays where its sides say what they said: other rules
                found it.
            kinds: entries of others are left as they are.
        """
        rules = rules or (await self.review_rules()).rules
        return await self._writer.submit(self._finding(trajectory_id, rules, keep_standing, kinds))

    async def add_and_compare(self, said: Sequence[StepScore] | OutcomeScore) -> None:
        """Keep what was said of a trajectory, or of steps of one, and bring its entries up to date by the
        store's rules: both or neither. What other rules found stays while its sides say what they said.

        Raises:
            InvalidScore, UnknownTrajectory, StorageFull, StoreUnavailable, StoreClosed: as in `add_scores`
                and `add_outcome_scores`.
        """
        rules, kinds = (await self.review_rules()).rules, tuple(DisagreementKind)
        if isinstance(said, OutcomeScore):
            find = self._finding(said.trajectory_id, rules, True, kinds)
            await self.add_outcome_scores([said], then=find)
        elif said:
            await self.add_scores(said, then=self._finding(said[0].trajectory_id, rules, True, kinds))

    def _finding(
        self,
        trajectory_id: str,
        rules: ReviewRules,
        keep_standing: bool,
        kinds: Collection[DisagreementKind],
    ) -> Write[int]:
        """What brings a trajectory's entries up to date, and tells their number."""
        insert = self.insert_or_replace(tables.disagreements, ("strength", "said", "found_by"))

        async def write(connection: AsyncConnection) -> int:
            # read where it is written: whoever found entries meanwhile had heard more
            said = await _opinions(connection, trajectory_id)
            found = disagreements_of(said, rules)
            standing = disagreements_of(said, rules.at_any_distance()) if keep_standing else ()
            rows = [_row(each, rules) for each in found if each.kind in kinds]
            await _drop_others(connection, trajectory_id, kinds, rows, standing)
            if rows:
                await connection.execute(insert, rows)
            return len(rows)

        return write

    async def review_queue(
        self, state: ReviewState = "open", *, cursor: str | None = None, limit: int = 50
    ) -> ReviewPage:
        """A page of the queue, the strongest first.

        Args:
            state: those that wait for a person, or those that one has marked.
            cursor: `next_cursor` of the page before; None for the first.
            limit: at most this many, 1 to 500.

        Raises:
            InvalidCursor: no page gave it out.
            InvalidQuery: the limit is out of range.
        """
        if not 1 <= limit <= MAX_PAGE:
            raise InvalidQuery(f"a page holds 1 to {MAX_PAGE} entries, not {limit}")
        table, of = tables.disagreements, tables.trajectories
        resolved = _resolved(self.database.is_sqlite)
        query = (
            select(table, of.c.task_id, of.c.instruction)
            .join(of, of.c.id == table.c.trajectory_id)
            .where(resolved if state == "resolved" else ~resolved)
            .order_by(table.c.strength.desc(), table.c.trajectory_id, table.c.step_index, table.c.kind)
            .limit(limit + 1)
        )
        if cursor is not None:
            query = query.where(_after(cursor))
        async with self.database.read() as connection:
            rows = (await connection.execute(query)).all()
            people = await _people(connection, rows[:limit])
        items = tuple(_queued(row, people) for row in rows[:limit])
        return ReviewPage(items=items, next_cursor=_cursor(rows[limit - 1]) if len(rows) > limit else None)


async def _opinions(connection: AsyncConnection, trajectory_id: str) -> Opinions:
    table, scores, outcomes = tables.trajectories, tables.scores, tables.outcome_scores
    query = select(table.c.score, table.c.length).where(table.c.id == trajectory_id)
    # locked: of two that find at once in PostgreSQL, the second reads what both have heard
    of_it = (await connection.execute(query.with_for_update(key_share=True))).first()
    of_whole = (
        await connection.execute(
            select(outcomes)
            .where(outcomes.c.trajectory_id == trajectory_id)
            .order_by(outcomes.c.scored_at_s, outcomes.c.scorer.desc())
        )
    ).all()
    of_steps = (
        await connection.execute(
            select(scores)
            .where(scores.c.trajectory_id == trajectory_id)
            .order_by(scores.c.scored_at_s, scores.c.scorer)
        )
    ).all()
    judged = [_of_whole(row) for row in of_whole if not _by_person(row)]
    scored = [row for row in of_steps if not _by_person(row)]
    newest = {row.scorer.partition(":")[0]: row.scorer for row in scored}
    marks = [_of_step(row) for row in of_steps if _by_person(row)]
    return Opinions(
        trajectory_id=trajectory_id,
        verifier=None if of_it is None else of_it.score,
        judge=judged[-1] if judged else None,
        steps=tuple(_of_scorer(scored, scorer) for scorer in newest.values()),
        marks=(*marks, *(_of_whole(row) for row in of_whole if _by_person(row))),
        turns=None if of_it is None else of_it.length,
    )


async def _drop_others(
    connection: AsyncConnection,
    trajectory_id: str,
    kinds: Collection[DisagreementKind],
    rows: Sequence[Mapping[str, Any]],
    standing: Iterable[Disagreement],
) -> None:
    """Delete entries of these kinds but those that are found again, and those whose sides still say so."""
    table = tables.disagreements
    kept = {(row["step_index"], row["kind"]) for row in rows}
    still_said = {(*_entry(each).values(), _said(each)) for each in standing}
    of_this = table.c.trajectory_id == trajectory_id
    of_kinds = table.c.kind.in_([kind.value for kind in kinds])
    present = select(table.c.step_index, table.c.kind, table.c.said).where(of_this, of_kinds)
    # one statement each: an episode of a thousand steps may have that many, too many for one to name
    gone = [
        {"index": index, "of_kind": kind}
        for index, kind, said in (await connection.execute(present)).all()
        if (index, kind) not in kept and (index, kind, said) not in still_said
    ]
    if gone:
        entry = (table.c.step_index == bindparam("index"), table.c.kind == bindparam("of_kind"))
        await connection.execute(delete(table).where(of_this, *entry), gone)


def _row(found: Disagreement, rules: ReviewRules) -> dict[str, Any]:
    return {
        "trajectory_id": found.trajectory_id,
        **_entry(found),
        "strength": found.strength,
        "said": _said(found),
        "found_at_s": time.time(),
        "found_by": json.dumps(encode(rules.of(found.kind))),
    }


def _entry(disagreement: Disagreement) -> dict[str, int | str]:
    index = disagreement.step_index
    return {"step_index": _WHOLE if index is None else index, "kind": disagreement.kind.value}


def _said(disagreement: Disagreement) -> str:
    return json.dumps([encode(side) for side in disagreement.said])


def _by_person(row: Row[Any, Any, Any, Any]) -> bool:
    return annotator_of(row.scorer) is not None


def _of_whole(row: Row[Any, Any, Any, Any]) -> OutcomeScore:
    return OutcomeScore(
        trajectory_id=row.trajectory_id, score=row.score, scorer=row.scorer, rationale=row.rationale
    )


def _of_step(row: Row[Any, Any, Any, Any]) -> StepScore:
    return StepScore(
        trajectory_id=row.trajectory_id,
        step_index=row.step_index,
        score=row.score,
        scorer=row.scorer,
        rationale=row.rationale,
    )


def _of_scorer(rows: Sequence[Row[Any, Any, Any, Any]], scorer: str) -> tuple[StepScore, ...]:
    own = (_of_step(row) for row in rows if row.scorer == scorer)
    return tuple(sorted(own, key=lambda score: score.step_index))


def _resolved(on_sqlite: bool) -> ColumnElement[bool]:
    """Some person has marked what the entry is about; where two people contradict each other, a third has, or
    they do not as much as when it was found."""
    table, scores, outcomes = tables.disagreements, tables.scores, tables.outcome_scores
    steps_people, steps_apart = _marks(scores, scores.c.step_index == table.c.step_index)
    whole_people, whole_apart = _marks(outcomes, table.c.step_index == _WHOLE)
    of_people = table.c.kind == DisagreementKind.PEOPLE.value
    marked = steps_people + whole_people > case((of_people, 2), else_=0)
    said = json_column(on_sqlite, type_coerce(table.c.said, JSON))
    lower, upper = (said[(side, "score")].as_float() for side in (0, 1))
    return or_(marked, and_(of_people, steps_apart + whole_apart < upper - lower - 1e-9))


def _marks(marks: Table, about: ColumnElement[bool]) -> tuple[ScalarSelect[int], ScalarSelect[float]]:
    """Of people, on what an entry is about: how many, and how far apart, 0 where there is none."""
    of_entry = marks.c.trajectory_id == tables.disagreements.c.trajectory_id
    chosen = and_(of_entry, marks.c.scorer.startswith(f"{HUMAN}:"), about)
    apart = func.coalesce(func.max(marks.c.score) - func.min(marks.c.score), 0.0)
    return (
        select(func.count()).select_from(marks).where(chosen).scalar_subquery(),
        select(apart).where(chosen).scalar_subquery(),
    )


async def _people(
    connection: AsyncConnection, rows: Sequence[Row[Any, Any, Any, Any]]
) -> dict[tuple[str, int], tuple[str, ...]]:
    """Who has marked what of the trajectories of these rows."""
    ids = {row.trajectory_id for row in rows}
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    for table in (tables.scores, tables.outcome_scores):
        index = table.c.step_index if "step_index" in table.c else literal(_WHOLE)
        query = select(table.c.trajectory_id, index.label("step_index"), table.c.scorer).where(
            table.c.trajectory_id.in_(ids), table.c.scorer.startswith(f"{HUMAN}:")
        )
        for row in (await connection.execute(query.order_by(table.c.scorer))).all():
            key = (row.trajectory_id, row.step_index)
            found[key] = (*found.get(key, ()), annotator_of(row.scorer) or row.scorer)
    return found


def _queued(row: Row[Any, Any, Any, Any], people: dict[tuple[str, int], tuple[str, ...]]) -> QueuedReview:
    return QueuedReview(
        disagreement=Disagreement(
            trajectory_id=row.trajectory_id,
            step_index=None if row.step_index == _WHOLE else row.step_index,
            kind=DisagreementKind(row.kind),
            strength=row.strength,
            said=tuple(decode(Said, side) for side in json.loads(row.said)),
        ),
        task_id=row.task_id,
        instruction=row.instruction,
        found_at_s=row.found_at_s,
        found_by=None if row.found_by is None else decode(FoundBy, json.loads(row.found_by)),
        resolved_by=people.get((row.trajectory_id, row.step_index), ()),
    )


def _cursor(row: Row[Any, Any, Any, Any]) -> str:
    return f"{row.strength!r}/{row.step_index}/{row.kind}/{row.trajectory_id}"


def _after(cursor: str) -> ColumnElement[bool]:
    table = tables.disagreements
    try:
        strength, index, kind, trajectory_id = cursor.split("/", 3)
        place = (trajectory_id, int(index), kind)
        least = float(strength)
        if not _WHOLE <= place[1] < 2**31:
            raise ValueError(index)
    except ValueError as error:
        raise InvalidCursor(cursor) from error
    key = tuple_(table.c.trajectory_id, table.c.step_index, table.c.kind)
    return or_(table.c.strength < least, and_(table.c.strength == least, key > tuple_(*place)))
