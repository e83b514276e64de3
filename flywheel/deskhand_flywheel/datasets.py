"""The store's datasets: chosen by a recipe that can be read back, never from held-out tasks or splits.

Nothing is thrown away: what succeeded is for SFT, what failed for continued pretraining, both for the
RL pool.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from sqlalchemy import Row, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.curation import Candidate, all_failed
from deskhand_flywheel.errors import EmptySelection, HeldOutRefused, UnknownDataset
from deskhand_flywheel.filters import matches
from deskhand_flywheel.records import encode
from deskhand_flywheel.sieve import Sifted, sift
from deskhand_flywheel.trajectories import Trajectories
from deskhand_flywheel.types import Dataset, DatasetKind, SelectionRule, Sieve, TrajectoryFilter
from deskhand_sandbox.types import Split

_VERDICTS = {
    SelectionRule.SUCCESS: (True,),
    SelectionRule.FAILURE: (False,),
    SelectionRule.ALL: (True, False),
    SelectionRule.EXPERIENCE: (True, False),
}


class Datasets(Trajectories):
    """Named, versioned selections of trajectories."""

    async def select_dataset(
        self,
        name: str,
        rule: SelectionRule,
        chosen: TrajectoryFilter | None = None,
        *,
        sieve: Sieve | None = None,
        held_out: Collection[str] | None = None,
    ) -> Dataset:
        """Choose whole training episodes and keep them as the next version of `name`.

        Only the training split is looked at, and held-out tasks are left out.

        Args:
            chosen: narrows further; its outcome is the rule's.
            sieve: what else is left out; None: what begins as an episode of a held-out task does.
            held_out: tasks never trained on; None: the repository's list.

        Raises:
            HeldOutRefused: `chosen` names a held-out task or another split than training.
            EmptySelection: nothing is selected; no version is made.
        """
        held_out = _held_out_tasks() if held_out is None else held_out
        chosen = chosen or TrajectoryFilter()
        _refuse_held_out(chosen, held_out)
        chosen = replace(chosen, split=Split.TRAIN, ended=True, outcome=None)
        sieve = sieve or Sieve()
        while True:
            ids, left_out = await self._select(rule, chosen, sieve, held_out)
            if not ids:
                raise _nothing_for(name, rule, left_out)
            recipe = json.dumps(
                {
                    "rule": rule.value,
                    "filter": encode(chosen),
                    "held_out": sorted(held_out),
                    "sieve": encode(sieve),
                    "left_out": left_out,
                }
            )
            keep = partial(_keep, name=name, kind=rule.kind, recipe=recipe, ids=ids)
            try:
                return await self._writer.submit(keep)
            except IntegrityError:
                # a collection dropped one of them meanwhile: whole episodes never change otherwise
                continue

    async def preview_dataset(
        self,
        rule: SelectionRule,
        chosen: TrajectoryFilter | None = None,
        *,
        sieve: Sieve | None = None,
        held_out: Collection[str] | None = None,
    ) -> Sifted:
        """What `select_dataset` would take and leave out now; nothing is kept.

        Raises:
            HeldOutRefused: `chosen` names a held-out task or another split than training.
        """
        held_out = _held_out_tasks() if held_out is None else held_out
        chosen = chosen or TrajectoryFilter()
        _refuse_held_out(chosen, held_out)
        chosen = replace(chosen, split=Split.TRAIN, ended=True, outcome=None)
        return await self._select(rule, chosen, sieve or Sieve(), held_out)

    async def dataset(self, name: str, version: int | None = None) -> Dataset:
        """A dataset; its newest version unless one is named.

        Raises:
            UnknownDataset: there is none of that name or version.
        """
        table, members = tables.datasets, tables.dataset_members
        query = select(table).where(table.c.name == name).order_by(table.c.version.desc()).limit(1)
        if version is not None:
            query = query.where(table.c.version == version)
        async with self.database.read() as connection:
            row = (await connection.execute(query)).first()
            if row is None:
                which = f"version {version} of dataset" if version is not None else "dataset"
                raise UnknownDataset(f"no {which} {name!r} in the store")
            ids = await connection.scalars(
                select(members.c.trajectory_id)
                .where(members.c.name == name, members.c.version == row.version)
                .order_by(members.c.position)
            )
            return _dataset(row, tuple(ids.all()))

    async def datasets(self) -> tuple[Dataset, ...]:
        """Every version of every dataset, newest first."""
        table = tables.datasets
        query = select(table.c.name, table.c.version).order_by(
            table.c.created_at_s.desc(), table.c.version.desc()
        )
        async with self.database.read() as connection:
            names = (await connection.execute(query)).all()
        return tuple([await self.dataset(name, version) for name, version in names])

    async def _select(
        self, rule: SelectionRule, chosen: TrajectoryFilter, sieve: Sieve, held_out: Collection[str]
    ) -> Sifted:
        table = tables.trajectories
        query = (
            select(table.c.id, table.c.task_id, table.c.success, table.c.length)
            .where(matches(chosen), table.c.success.is_not(None), table.c.task_id.not_in(list(held_out)))
            .order_by(table.c.id)
        )
        async with self.database.read() as connection:
            candidates = [Candidate(*row) for row in (await connection.execute(query)).all()]
            sifted = await sift(connection, candidates, _VERDICTS[rule], sieve, held_out)
            if not sieve.rescue or True not in _VERDICTS[rule]:
                return sifted
            stored = await _rescued(connection, all_failed(candidates))
            clean = Sieve(clean=sieve.clean)
            rescued = await sift(connection, stored, (True,), clean, held_out)
            return Sifted(sorted({*sifted.ids, *rescued.ids}), sifted.left_out)


def _held_out_tasks() -> Collection[str]:
    # here and not above: the list comes with the whole catalogue of tasks
    from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS

    return HELD_OUT_TASKS


def _nothing_for(name: str, rule: SelectionRule, left_out: Mapping[str, int]) -> EmptySelection:
    kind = "whole" if len(_VERDICTS[rule]) > 1 else rule.value
    counted = ", ".join(f"{count} {why}" for why, count in left_out.items())
    without = f" (left out: {counted})" if counted else ""
    return EmptySelection(
        f"no {kind} training trajectory matches the recipe of dataset {name!r}{without}: collect some first, "
        f"or widen the filter",
        left_out,
    )


def _refuse_held_out(chosen: TrajectoryFilter, held_out: Collection[str]) -> None:
    named = sorted(set(chosen.task_ids or ()) & set(held_out))
    if named:
        raise HeldOutRefused(
            f"{', '.join(named)} is held out: never used for training anything; choose others"
        )
    if chosen.split not in (None, Split.TRAIN):
        raise HeldOutRefused(f"the {chosen.split} split is never trained on; choose from the train split")


async def _rescued(connection: AsyncConnection, tasks: Collection[str]) -> list[Candidate]:
    """The newest success of each of these tasks on training seeds, whoever it is by."""
    table = tables.trajectories
    newest = (
        select(func.max(table.c.id))
        .where(table.c.task_id.in_(list(tasks)), table.c.success, table.c.split == Split.TRAIN.value)
        .group_by(table.c.task_id)
    )
    query = select(table.c.id, table.c.task_id, table.c.success, table.c.length)
    rows = await connection.execute(query.where(table.c.id.in_(newest)).order_by(table.c.id))
    return [Candidate(*row) for row in rows.all()]


async def _keep(
    connection: AsyncConnection, name: str, kind: DatasetKind, recipe: str, ids: list[str]
) -> Dataset:
    table = tables.datasets
    newest = await connection.scalar(select(func.max(table.c.version)).where(table.c.name == name))
    version, now = (newest or 0) + 1, time.time()
    row = {"name": name, "version": version, "kind": kind.value, "recipe": recipe, "created_at_s": now}
    await connection.execute(table.insert(), row)
    await connection.execute(
        tables.dataset_members.insert(),
        [
            {"name": name, "version": version, "position": position, "trajectory_id": trajectory_id}
            for position, trajectory_id in enumerate(ids)
        ],
    )
    return Dataset(
        name=name,
        version=version,
        kind=kind,
        recipe=json.loads(recipe),
        trajectory_ids=tuple(ids),
        created_at_s=now,
    )


def _dataset(row: Row[tuple[object, ...]], ids: tuple[str, ...]) -> Dataset:
    return Dataset(
        name=row.name,
        version=row.version,
        kind=DatasetKind(row.kind),
        recipe=json.loads(row.recipe),
        trajectory_ids=ids,
        created_at_s=row.created_at_s,
    )
