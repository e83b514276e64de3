"""Where a policy comes from: trajectory ← policy ← dataset ← trajectory ← …, from what the store recorded.

A policy names the policy it continued (or was merged of), the run that made it and the dataset that run
learned from or, where there was none, the trajectories, and the process reward model that scored what it did;
a dataset names its trajectories, and a trajectory the policy that played it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

from sqlalchemy import ColumnElement, exists, select

from deskhand_flywheel import tables
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.errors import UnknownDataset, UnknownPolicy
from deskhand_flywheel.filters import labelled
from deskhand_flywheel.lineage_node import LineageKind, LineageNode
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import PolicyRecord
from deskhand_sandbox.types import JsonValue

EVALUATION = "evaluation"
"""Label "purpose" of episodes that measure what was learned: nothing is learned of them."""
MATERIAL = "material"
"""In a policy's metadata: ids of the trajectories it learned from, where no dataset holds them."""
SCORED_BY = "scored_by"
"""In a policy's metadata: id of the process reward model that scored the turns it was trained on."""
DEEPEST = 40
"""Policies and datasets behind one another that are drawn: JSON is read to 200 levels, each may take four."""


async def trace_policy(store: Store, policy_id: str) -> LineageNode:
    """The tree that leads to a policy.

    Raises:
        UnknownPolicy: there is none of that id.
    """
    await store.policy(policy_id)
    return await _Tracer(store).policy(policy_id)


async def trace_dataset(store: Store, name: str, version: int) -> LineageNode:
    """The tree that leads to a dataset.

    Raises:
        UnknownDataset: there is none of that name and version.
    """
    await store.dataset(name, version)
    return await _Tracer(store).dataset(f"{name}@{version}")


class _Tracer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._drawn: set[tuple[LineageKind, str]] = set()
        self._depth = 0

    async def policy(self, policy_id: str, relation: str = "") -> LineageNode:
        try:
            record = await self._store.policy(policy_id)
        except UnknownPolicy:
            return LineageNode(kind=LineageKind.POLICY, name=policy_id, relation=relation, kept=False)
        node = LineageNode(
            kind=LineageKind.POLICY,
            name=policy_id,
            relation=relation,
            details={"created_at_s": record.created_at_s, **without_material(record.metadata)},
        )
        return await self._with_sources(node, partial(self._sources, record))

    async def _sources(self, record: PolicyRecord) -> list[LineageNode]:
        found: list[LineageNode] = []
        merged = record.metadata.get("merged")
        if isinstance(merged, dict):
            found += [await self.policy(each, f"merged, weight {weight}") for each, weight in merged.items()]
        elif record.parent_id is not None:
            found.append(await self.policy(record.parent_id, "continued"))
        keys = ("executor", SCORED_BY, "dataset", "run")
        executor, scorer, dataset, run = (record.metadata.get(key) for key in keys)
        if isinstance(executor, str):
            found.append(await self.policy(executor, "plans for"))
        if isinstance(scorer, str):
            found.append(await self.policy(scorer, "scored by"))
        if isinstance(dataset, str):
            found.append(await self.dataset(dataset))
        if isinstance(material := record.metadata.get(MATERIAL), list):
            ids = [each for each in material if isinstance(each, str)]
            found += await self._trajectories(
                "learned from", *map(tables.trajectories.c.id.in_, in_chunks(ids))
            )
        if isinstance(run, str):
            played = labelled("run", [run]) & ~labelled("purpose", [EVALUATION])
            found += await self._trajectories("played in the run", played)
        return found

    async def dataset(self, named: str) -> LineageNode:
        node = LineageNode(kind=LineageKind.DATASET, name=named, relation="learned from", kept=False)
        name, _, version = named.rpartition("@")
        try:
            dataset = await self._store.dataset(name, int(version))
        except (UnknownDataset, ValueError):
            return node
        members = tables.dataset_members
        holds = exists().where(
            members.c.name == dataset.name,
            members.c.version == dataset.version,
            members.c.trajectory_id == tables.trajectories.c.id,
        )
        held = holds & ~labelled("purpose", [EVALUATION])
        details: dict[str, JsonValue] = {
            "kind": dataset.kind.value,
            "trajectories": len(dataset.trajectory_ids),
            "recipe": dict(dataset.recipe),
        }
        node = replace(node, details=details, kept=True)
        return await self._with_sources(node, partial(self._trajectories, "holds", held))

    async def _trajectories(self, relation: str, *chosen: ColumnElement[bool]) -> list[LineageNode]:
        """A node for each policy that played some of those that any of the conditions chooses."""
        table = tables.trajectories
        query = select(table.c.id, table.c.policy_id, table.c.task_id, table.c.success)
        async with self._store.database.read() as connection:
            parts = [(await connection.execute(query.where(each))).all() for each in chosen]
        rows = sorted((row for part in parts for row in part), key=lambda row: (row.policy_id, row.id))
        by_policy: dict[str, list[Any]] = {}
        for row in rows:
            by_policy.setdefault(row.policy_id, []).append(row)
        return [await self._played_by(name, of_it, relation) for name, of_it in by_policy.items()]

    async def _played_by(self, policy_id: str, rows: list[Any], relation: str) -> LineageNode:
        player = await self.policy(policy_id, "played by")
        return LineageNode(
            kind=LineageKind.TRAJECTORIES,
            name=policy_id,
            relation=relation,
            details={
                "trajectories": len(rows),
                "successes": sum(row.success is True for row in rows),
                "tasks": _listed({row.task_id for row in rows}),
                "ids": _listed(row.id for row in rows),
            },
            sources=(player,) if player.kept else (),
        )

    async def _with_sources(
        self, node: LineageNode, sources: Callable[[], Awaitable[list[LineageNode]]]
    ) -> LineageNode:
        """Drawn with what it came of, unless it was drawn already or stands too deep."""
        if (node.kind, node.name) in self._drawn:
            return replace(node, above=True)
        if self._depth == DEEPEST:
            return replace(node, cut=True)
        self._drawn.add((node.kind, node.name))
        self._depth += 1
        found = await sources()
        self._depth -= 1
        return replace(node, sources=tuple(found))


def without_material(metadata: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A policy's metadata for people: the thousands of trajectories it may name are told by its lineage."""
    return {key: value for key, value in metadata.items() if key != MATERIAL}


def _listed(texts: Iterable[str]) -> JsonValue:
    return cast("JsonValue", sorted(texts))
