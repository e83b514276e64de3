"""Garbage collection: trajectories that a rule lets go, then blobs that nothing cites.

It may run while any number of processes write. Blobs are condemned first, then the database is searched once
more for rows that cite them, and only what is condemned still is deleted; `citing` is the writers' side.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Table, and_, delete, func, or_, select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.blobs import StoredBlob
from deskhand_flywheel.database import in_chunks
from deskhand_flywheel.store import Store
from deskhand_flywheel.upkeep.citations import cited_blobs
from deskhand_flywheel.upkeep.findings import Progress, quiet
from deskhand_flywheel.upkeep.fsck import SETTLE_S
from deskhand_flywheel.upkeep.retention import Keepers, RetentionRule, may_go
from deskhand_flywheel.writer import WRITERS_LOCK


@dataclass(frozen=True, kw_only=True, slots=True)
class Collected:
    """What was dropped, or what would be."""

    applied: bool
    trajectories: tuple[str, ...]
    """Ids, oldest first."""
    steps: int
    """Of these."""
    kept: tuple[tuple[str, int], ...]
    """Trajectories that the rule lets go and something cites: by what, and how many."""
    blobs: int
    """Parts of some that killed processes left included."""
    bytes: int


async def collect(
    store: Store,
    rule: RetentionRule,
    *,
    apply: bool = False,
    runs: Collection[str] = (),
    named: Collection[str] = (),
    progress: Progress = quiet,
) -> Collected:
    """Drop what the rule lets go and nothing cites; without `apply`, only say what that would be.

    Args:
        runs: ids of runs that have not finished: their episodes stay.
        named: ids of episodes of others that such runs go on with: they stay too.

    Raises:
        StoreUnavailable: the database or the blob store refused; what was dropped until then stays dropped.
    """
    async with store.database.read() as connection:
        going = may_go(rule)
        keepers = Keepers(runs, named)
        keeping, names = await keepers.read(connection), keepers.names
        table = tables.trajectories
        found = select(table.c.id).where(going).order_by(table.c.id)
        free = await connection.scalars(found.where(~or_(*keeping.values())))
        ids = [each for each in free if each not in names]
        steps = 0
        for chunk in in_chunks(ids):
            of_these = tables.steps.c.trajectory_id.in_(chunk)
            steps += (
                await connection.scalar(select(func.count()).select_from(tables.steps).where(of_these)) or 0
            )
        kept: list[tuple[str, int]] = []
        for what, condition in keeping.items():
            query = select(func.count()).select_from(table).where(going, condition)
            if count := await connection.scalar(query) or 0:
                kept.append((what, count))
        if count := sum(each in names for each in await connection.scalars(found)):
            kept.append(("policies, recipes and unfinished runs that name it", count))
    if apply:
        ids = await _drop(store, rule, ids, keepers, progress)
    orphans = await _orphans(store, rule, () if apply else ids)
    # nothing condemns these: whatever the rule says, one that is still written stays
    staged = await store.blobs.staged(max(rule.orphans_after_hours * 3600, SETTLE_S))
    if apply:
        orphans = await _delete(store, orphans, progress)
        await store.blobs.drop_staged(staged)
    gone = [*orphans, *staged]
    return Collected(
        applied=apply,
        trajectories=tuple(ids),
        steps=steps,
        kept=tuple(kept),
        blobs=len(gone),
        bytes=sum(blob.size for blob in gone),
    )


async def _drop(
    store: Store, rule: RetentionRule, ids: Sequence[str], keepers: Keepers, progress: Progress
) -> list[str]:
    """Drop those that may still go, a few in a transaction; returns which."""
    table, dropped = tables.trajectories, list[str]()
    looked_at = 0
    for chunk in in_chunks(ids):
        async with store.database.write() as connection:
            await _alone(store, connection)
            keeping = await keepers.read(connection, few=True)
            going = and_(table.c.id.in_(chunk), may_go(rule, few=True))
            found = await connection.scalars(select(table.c.id).where(going, ~or_(*keeping.values())))
            few = [each for each in found if each not in keepers.names]
            for name in tables.OWN_TABLES:
                own: Table = tables.metadata.tables[name]
                await connection.execute(delete(own).where(own.c.trajectory_id.in_(few)))
            await connection.execute(delete(table).where(table.c.id.in_(few)))
        dropped += few
        looked_at += len(chunk)
        progress("trajectories", looked_at, len(ids))
    return dropped


async def _orphans(store: Store, rule: RetentionRule, without: Collection[str]) -> list[StoredBlob]:
    """Old blobs that nothing cites; `without` these trajectories."""
    before = time.time() - rule.orphans_after_hours * 3600
    old = [blob async for batch in store.blobs.stored() for blob in batch if blob.stored_at_s <= before]
    cited = await cited_blobs(store.database, without=frozenset(without))
    return [blob for blob in old if bytes.fromhex(blob.digest) not in cited]


async def _delete(store: Store, orphans: Sequence[StoredBlob], progress: Progress) -> list[StoredBlob]:
    """Condemn, look again, delete; returns what was deleted."""
    for chunk in in_chunks([{"digest": blob.digest} for blob in orphans]):
        async with store.database.write() as connection:
            await _alone(store, connection)
            await connection.execute(store.insert_new(tables.collected_blobs), chunk)
    cited = await cited_blobs(store.database)
    if saved := [blob.digest for blob in orphans if bytes.fromhex(blob.digest) in cited]:
        await store.reprieve(saved)
    deleted: list[StoredBlob] = []
    column = tables.collected_blobs.c.digest
    looked_at = 0
    for chunk in in_chunks(orphans):
        async with store.database.write() as connection:
            await _alone(store, connection)
            query = select(column).where(column.in_([blob.digest for blob in chunk]))
            condemned = set((await connection.scalars(query)).all())
            doomed = [blob for blob in chunk if blob.digest in condemned]
            # inside the transaction: whoever reprieves one of them waits, and finds it gone
            await store.blobs.delete(blob.digest for blob in doomed)
        deleted += doomed
        looked_at += len(chunk)
        progress("blobs", looked_at, len(orphans))
    return deleted


async def _alone(store: Store, connection: AsyncConnection) -> None:
    if not store.database.is_sqlite:
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({WRITERS_LOCK})"))
