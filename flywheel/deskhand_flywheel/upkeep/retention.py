"""Which trajectories may go: a rule given as data, and what is kept whatever the rule says."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import Column, ColumnElement, Connection, MetaData, and_, exists, false, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
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
    """Blobs that nothing cites, and parts that killed processes left, go when they are older than this."""


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


def may_go(rule: RetentionRule, *, few: bool = False) -> ColumnElement[bool]:
    """The rule as a condition on the `trajectories` table.

    Args:
        few: see `filters.labelled`.
    """
    stored = tables.trajectories.c.stored_at_s
    now = time.time()
    return or_(
        false(),
        *(and_(stored < now - d.older_than_days * _DAY_S, matches(d.where, few=few)) for d in rule.drop),
    )


class Keepers:
    """What keeps a trajectory whatever the rule says.

    A dataset, and any other table that refers to trajectories or steps, knows best what it needs; a score
    that a person gave is work that cannot be had again; a policy was made of what was played in its run,
    evaluations apart, as `lineage` shows; a run that has not finished goes on from its checkpoint with the
    episodes it recorded, or with those it began to learn from; and policies and recipes name what they were
    made of.

    Of policies and datasets, which never change, only those are read that came since the last time.
    """

    def __init__(self, runs: Collection[str], named: Collection[str] = ()) -> None:
        """
        Args:
            runs: ids of unfinished runs, as in the label "run".
            named: ids of the episodes of others that these go on with.
        """
        self.names: set[str] = {*named}
        """These, and ids, among other texts, that policies and recipes name: any number, of which one query
        takes only so many."""
        self._unfinished = runs
        self._runs: set[str] = set()
        self._policies: set[str] = set()
        self._datasets: set[tuple[str, int]] = set()

    async def read(
        self, connection: AsyncConnection, *, few: bool = False
    ) -> Mapping[str, ColumnElement[bool]]:
        """All but the names, as conditions on the `trajectories` table, by what it is that keeps.

        Args:
            few: see `filters.labelled`.
        """
        await self._read_policies(connection)
        await self._read_datasets(connection)
        table = tables.trajectories
        referring = await connection.run_sync(_referring)
        return {
            **{
                f"rows of {column.table.name}": table.c.id.in_(select(column).where(column.is_not(None)))
                for column in referring
            },
            "scores that a person gave": or_(
                *(
                    exists().where(
                        scores.c.trajectory_id == table.c.id, scores.c.scorer.startswith(f"{HUMAN}:")
                    )
                    for scores in (tables.scores, tables.outcome_scores)
                )
            ),
            "runs of policies that are kept": and_(
                labelled("run", self._runs, few=few), ~labelled("purpose", [EVALUATION], few=few)
            ),
            "a run that has not finished": labelled("run", self._unfinished, few=few),
        }

    async def _read_policies(self, connection: AsyncConnection) -> None:
        table = tables.policies
        there = set(await connection.scalars(select(table.c.id)))
        for chunk in in_chunks(sorted(there - self._policies)):
            for text in await connection.scalars(select(table.c.metadata).where(table.c.id.in_(chunk))):
                metadata = json.loads(text)
                self.names.update(_strings(metadata))
                if isinstance(run := metadata.get("run"), str):
                    self._runs.add(run)
        self._policies |= there

    async def _read_datasets(self, connection: AsyncConnection) -> None:
        table = tables.datasets
        key = table.c.name, table.c.version
        there = {(name, version) for name, version in await connection.execute(select(*key))}
        for chunk in in_chunks(sorted(there - self._datasets)):
            for text in await connection.scalars(select(table.c.recipe).where(tuple_(*key).in_(chunk))):
                self.names.update(_strings(json.loads(text)))
        self._datasets |= there


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


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in cast("dict[str, object]", value).values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from _strings(each)
