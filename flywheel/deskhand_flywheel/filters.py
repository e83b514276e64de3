"""What a `TrajectoryFilter` means to the database."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import ColumnElement, Select, Table, and_, exists, select, true

from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel import tables
from deskhand_flywheel.database import Database
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.policies import SHIPPED
from deskhand_flywheel.search import says
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter


def matches(chosen: TrajectoryFilter, *, since: str = "", few: bool = False) -> ColumnElement[bool]:
    """The filter as a condition on the `trajectories` table.

    Args:
        since: id that those looked for do not come before.
        few: see `labelled`.

    Raises:
        InvalidQuery: its text holds no word to search for.
    """
    table = tables.trajectories
    conditions: list[ColumnElement[bool]] = []
    if since:
        conditions.append(table.c.id >= since)
    if chosen.task_ids is not None:
        conditions.append(table.c.task_id.in_([column_text(name) for name in chosen.task_ids]))
    if chosen.policy_id == DESKHAND_TINY:
        conditions.append(table.c.policy_id.in_(_shipped()))
    elif chosen.policy_id is not None:
        conditions.append(table.c.policy_id == column_text(chosen.policy_id))
    if chosen.split is not None:
        conditions.append(table.c.split == chosen.split.value)
    if chosen.since_s is not None:
        conditions.append(table.c.started_at_s >= chosen.since_s)
    if chosen.ended is not None:
        conditions.append(table.c.end.is_not(None) if chosen.ended else table.c.end.is_(None))
    if chosen.until_s is not None:
        conditions.append(table.c.started_at_s < chosen.until_s)
    if chosen.failure is not None:
        conditions.append(table.c.failure == chosen.failure.value)
    if chosen.min_score is not None:
        conditions.append(table.c.score >= chosen.min_score)
    if chosen.max_score is not None:
        conditions.append(table.c.score <= chosen.max_score)
    if chosen.min_steps is not None:
        conditions.append(table.c.length >= chosen.min_steps)
    if chosen.max_steps is not None:
        conditions.append(table.c.length <= chosen.max_steps)
    if chosen.text is not None:
        conditions.append(says(chosen.text, since=since))
    if chosen.outcome is not None:
        verdict = {OutcomeFilter.SUCCESS: True, OutcomeFilter.FAILURE: False, OutcomeFilter.NONE: None}
        conditions.append(table.c.success.is_(verdict[chosen.outcome]))
    if chosen.folders is not None:
        conditions.append(labelled("folder", chosen.folders, few=few))
    conditions.extend(labelled(key, [value], few=few) for key, value in chosen.labels.items())
    return and_(true(), *conditions)


def _shipped() -> Select[tuple[str]]:
    """Ids of the model that comes with Deskhand, of every version that was kept."""
    table = tables.policies
    return select(table.c.id).where(
        table.c.parent_id.is_(None), table.c.metadata == json.dumps(dict(SHIPPED))
    )


def labelled(key: str, values: Iterable[str], *, few: bool = False) -> ColumnElement[bool]:
    """A trajectory has the label with one of the values.

    Args:
        few: the query names the trajectories it is about: each one's label is looked up, and otherwise all
            that have the label are, once.
    """
    labels = tables.trajectory_labels
    has = and_(labels.c.key == column_text(key), labels.c.value.in_([column_text(value) for value in values]))
    if few:
        return exists().where(labels.c.trajectory_id == tables.trajectories.c.id, has)
    return tables.trajectories.c.id.in_(select(labels.c.trajectory_id).where(has))


async def whole_trajectories(
    database: Database, chosen: TrajectoryFilter | None, *conditions: ColumnElement[bool]
) -> tuple[str, ...]:
    """Ids of ended trajectories that a filter lets through and of which the conditions hold, oldest first."""
    table = tables.trajectories
    query = select(table.c.id).where(
        matches(chosen or TrajectoryFilter()), table.c.end.is_not(None), *conditions
    )
    async with database.read() as connection:
        return tuple((await connection.scalars(query.order_by(table.c.id))).all())


def has_steps() -> ColumnElement[bool]:
    """A condition on the `trajectories` table: one step at least."""
    return exists().where(tables.steps.c.trajectory_id == tables.trajectories.c.id)


def has_step_without(rows: Table, who: str, name: str) -> ColumnElement[bool]:
    """A condition on the `trajectories` table: a step of which somebody has said nothing.

    Args:
        rows: a table by step, such as `tables.scores`.
        who: its column that says whose a row is.
        name: theirs.
    """
    steps = tables.steps
    said = exists().where(
        rows.c.trajectory_id == steps.c.trajectory_id,
        rows.c.step_index == steps.c.step_index,
        rows.c[who] == name,
    )
    return exists().where(steps.c.trajectory_id == tables.trajectories.c.id, ~said)
