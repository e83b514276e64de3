"""What a store holds, counted: datasets, how episodes are shared out among them, scorers, rows and bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import case, distinct, exists, func, select, text

from deskhand_flywheel import tables
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import DatasetKind
from deskhand_sandbox.types import JsonValue, Split

COUNTED = (
    "trajectories",
    "steps",
    "scores",
    "outcome_scores",
    "step_values",
    "datasets",
    "policies",
    "notes",
    "events",
)
"""Tables whose rows are told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DatasetHead:
    """A dataset without its trajectories' ids."""

    name: str
    version: int
    kind: DatasetKind
    recipe: Mapping[str, JsonValue]
    trajectories: int
    successes: int
    created_at_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Routing:
    """Where whole training episodes with a verdict went: one may be in several kinds of dataset."""

    episodes: int
    by_kind: Mapping[DatasetKind, int]
    """How many of them are in a dataset of the kind, whichever version."""
    unrouted: int
    """In no dataset."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scorer:
    """Somebody, or something, that scored steps."""

    name: str
    """"human:ada", "judge:…", "prm:…"."""
    scores: int
    trajectories: int
    mean: float
    last_at_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Blobs of one kind."""

    blobs: int
    bytes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Storage:
    """What a store takes."""

    rows: Mapping[str, int]
    """Table -> rows."""
    database_bytes: int
    models: Held
    """Files of kept policies."""
    pictures: Held
    """Everything else: screens, and what nothing cites any more."""


async def dataset_heads(store: Store, name: str | None = None) -> tuple[DatasetHead, ...]:
    """Every version of every dataset, newest first; of one name where it is given."""
    table, members, trajectories = tables.datasets, tables.dataset_members, tables.trajectories
    counted = (
        select(
            members.c.name,
            members.c.version,
            func.count().label("trajectories"),
            func.sum(case((trajectories.c.success.is_(True), 1), else_=0)).label("successes"),
        )
        .join(trajectories, trajectories.c.id == members.c.trajectory_id)
        .group_by(members.c.name, members.c.version)
        .subquery()
    )
    query = (
        select(table, counted.c.trajectories, counted.c.successes)
        .outerjoin(counted, (counted.c.name == table.c.name) & (counted.c.version == table.c.version))
        .order_by(table.c.created_at_s.desc(), table.c.name, table.c.version.desc())
    )
    if name is not None:
        query = query.where(table.c.name == column_text(name))
    async with store.database.read() as connection:
        rows = (await connection.execute(query)).all()
    return tuple(
        DatasetHead(
            name=row.name,
            version=row.version,
            kind=DatasetKind(row.kind),
            recipe=json.loads(row.recipe),
            trajectories=row.trajectories or 0,
            successes=int(row.successes or 0),
            created_at_s=row.created_at_s,
        )
        for row in rows
    )


async def routing(store: Store) -> Routing:
    """How episodes are shared out."""
    table, members, datasets = tables.trajectories, tables.dataset_members, tables.datasets
    whole = (
        table.c.split == Split.TRAIN.value,
        table.c.end.is_not(None),
        table.c.success.is_not(None),
    )
    episodes = select(func.count()).select_from(table).where(*whole)
    by_kind = (
        select(datasets.c.kind, func.count(distinct(members.c.trajectory_id)))
        .join(datasets, (datasets.c.name == members.c.name) & (datasets.c.version == members.c.version))
        .group_by(datasets.c.kind)
    )
    unrouted = episodes.where(~exists().where(members.c.trajectory_id == table.c.id))
    async with store.database.read() as connection:
        kinds = {DatasetKind(kind): count for kind, count in await connection.execute(by_kind)}
        return Routing(
            episodes=await connection.scalar(episodes) or 0,
            by_kind=kinds,
            unrouted=await connection.scalar(unrouted) or 0,
        )


async def scorers(store: Store) -> tuple[Scorer, ...]:
    """Whoever scored steps, by name."""
    table = tables.scores
    query = (
        select(
            table.c.scorer,
            func.count().label("scores"),
            func.count(distinct(table.c.trajectory_id)).label("trajectories"),
            func.avg(table.c.score).label("mean"),
            func.max(table.c.scored_at_s).label("last"),
        )
        .group_by(table.c.scorer)
        .order_by(table.c.scorer)
    )
    async with store.database.read() as connection:
        rows = (await connection.execute(query)).all()
    return tuple(
        Scorer(
            name=row.scorer,
            scores=row.scores,
            trajectories=row.trajectories,
            mean=float(row.mean),
            last_at_s=row.last,
        )
        for row in rows
    )


async def storage(store: Store) -> Storage:
    """Rows and bytes. It lists every blob: minutes where there are millions.

    Raises:
        StoreUnavailable: the database or the blob store cannot be read.
    """
    rows: dict[str, int] = {}
    async with store.database.read() as connection:
        for name in COUNTED:
            counted = select(func.count()).select_from(tables.metadata.tables[name])
            rows[name] = await connection.scalar(counted) or 0
        manifests = (await connection.scalars(select(tables.policies.c.manifest))).all()
        size = await connection.scalar(text(_SIZE[store.database.is_sqlite])) or 0
    of_models = {digest for manifest in manifests for digest in json.loads(manifest).values()}
    held = {True: [0, 0], False: [0, 0]}
    async for batch in store.blobs.stored():
        for blob in batch:
            each = held[blob.digest in of_models]
            each[0] += 1
            each[1] += blob.size
    models, pictures = (Held(blobs=held[one][0], bytes=held[one][1]) for one in (True, False))
    return Storage(rows=rows, database_bytes=size, models=models, pictures=pictures)


_SIZE = {
    True: "SELECT (SELECT page_count FROM pragma_page_count()) * (SELECT page_size FROM pragma_page_size())",
    False: "SELECT pg_database_size(current_database())",
}
"""By whether it is SQLite."""
