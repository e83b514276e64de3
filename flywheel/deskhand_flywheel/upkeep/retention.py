"""Which trajectories may go: a rule given as data, and what is kept whatever the rule says."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import Column, ColumnElement, Connection, MetaData, and_, exists, false, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.errors import InvalidQuery, MalformedRecord
from deskhand_flywheel.filters import labelled, matches
from deskhand_flywheel.lineage import EVALUATION
from deskhand_flywheel.records import decode
from deskhand_flywheel.types import HUMAN, TrajectoryFilter

_DAY_S = 86400.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Drop:
    """Whole episodes that may go."""

    older_than_days: float
    """The store has had all of it for longer than this, whenever it was played."""
    where: TrajectoryFilter = field(default_factory=TrajectoryFilter)
    """And let through by this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetentionRule:
    """What a collection may drop. The default drops no trajectory, and blobs that nothing cites."""

    drop: tuple[Drop, ...] = ()
    """A trajectory goes when any of these matches it, unless something cites it."""
    orphans_after_hours: float = 24.0
    """Blobs that nothing cites go when they are older than this."""


def retention_rule(data: object) -> RetentionRule:
    """The rule that a YAML or JSON mapping describes.

    Raises:
        InvalidQuery: it has another shape, or an age below zero; says where.
    """
    try:
        rule = decode(RetentionRule, cast(Any, data))
    except MalformedRecord as error:
        raise InvalidQuery(f"the retention rule cannot be read: {error}") from error
    if rule.orphans_after_hours < 0 or any(each.older_than_days < 0 for each in rule.drop):
        raise InvalidQuery("the retention rule has an age below zero")
    return rule


def may_go(rule: RetentionRule) -> ColumnElement[bool]:
    """The rule as a condition on the `trajectories` table."""
    stored = tables.trajectories.c.stored_at_s
    now = time.time()
    return or_(
        false(), *(and_(stored < now - d.older_than_days * _DAY_S, matches(d.where)) for d in rule.drop)
    )


async def citing(connection: AsyncConnection, runs: Collection[str]) -> Mapping[str, ColumnElement[bool]]:
    """What keeps a trajectory, as conditions on the `trajectories` table, by what it is.

    A dataset, and any other table that refers to trajectories or steps, knows best what it needs; a score
    that a person gave is work that cannot be had again; a policy was made of what was played in its run,
    evaluations apart, as `lineage` shows; and a run that has not finished goes on from its checkpoint with
    the episodes it recorded. What is `named` is kept too.

    Args:
        runs: ids of unfinished runs, as in the label "run".
    """
    table = tables.trajectories
    referring = await connection.run_sync(_referring)
    return {
        **{
            f"rows of {column.table.name}": table.c.id.in_(select(column).where(column.is_not(None)))
            for column in referring
        },
        "scores that a person gave": or_(
            *(
                exists().where(scores.c.trajectory_id == table.c.id, scores.c.scorer.startswith(f"{HUMAN}:"))
                for scores in (tables.scores, tables.outcome_scores)
            )
        ),
        "runs of policies that are kept": and_(
            labelled("run", await _runs_kept(connection)), ~labelled("purpose", [EVALUATION])
        ),
        "a run that has not finished": labelled("run", runs),
    }


async def _runs_kept(connection: AsyncConnection) -> set[str]:
    """Ids of the runs that made the policies in the store."""
    found = [json.loads(text) for text in await connection.scalars(select(tables.policies.c.metadata))]
    return {run for metadata in found if isinstance(run := metadata.get("run"), str)}


def _referring(connection: Connection) -> list[Column[Any]]:
    """Columns of tables that keep what they refer to."""
    metadata = MetaData()
    metadata.reflect(connection)
    return [
        key.parent
        for table in metadata.tables.values()
        if table.name not in tables.OWN_TABLES
        for key in table.foreign_keys
        if key.target_fullname in ("trajectories.id", "steps.trajectory_id")
    ]


async def named(connection: AsyncConnection) -> set[str]:
    """Ids, among other texts, that policies and recipes name: they were made of these trajectories.

    Any number of them, of which one query takes only so many.
    """
    policies, datasets = tables.policies, tables.datasets
    texts = [
        *(await connection.scalars(select(policies.c.metadata))).all(),
        *(await connection.scalars(select(datasets.c.recipe))).all(),
    ]
    return {name for text in texts for name in _strings(json.loads(text))}


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _strings(each)
