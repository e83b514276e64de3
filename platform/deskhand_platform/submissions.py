"""Rows of the `tasks` table before they are written: what several submit goes in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_platform.accounts.quotas import Quotas, Room, check_room
from deskhand_platform.errors import PlatformError, QuotaExceeded, WrongState
from deskhand_platform.tables import tasks

ORDERED = ("task", "policy", "labels", "rank", "branch")
"""What has to be the same for a task to be the one that was submitted under its key.

A deadline says when to give up, not which task it is: the first one holds."""
KEYS_AT_ONCE = 1000
Key: TypeAlias = tuple[str, str | None]
Row: TypeAlias = RowMapping | Mapping[str, Any]
"""As it was read, or as it is about to be written."""


@dataclass(slots=True)
class Submission:
    """Tasks that are appended together or not at all."""

    rows: list[dict[str, Any]]
    known: dict[Key, Row] = field(default_factory=dict[Key, Row])
    """A task that was there before under its key."""
    refused: PlatformError | None = None
    """Why nothing of it is appended; None: it is."""


def key_of(row: Row) -> Key:
    """A key is its owner's own."""
    return row["owner"], row["key"]


async def append(
    connection: AsyncConnection, asked: Sequence[Submission], *, quotas: Quotas | None = None
) -> None:
    """Append what several submit, in one transaction.

    Args:
        quotas: what owners may have at once; None: any number.
    """
    keys = [key_of(row) for each in asked for row in each.rows if row["key"] is not None]
    known: dict[Key, Row] = {}
    for at in range(0, len(keys), KEYS_AT_ONCE):
        under = sa.tuple_(tasks.c.owner, tasks.c.key).in_(keys[at : at + KEYS_AT_ONCE])
        found = (await connection.execute(sa.select(tasks).where(under))).mappings()
        known |= {key_of(row): row for row in found}
    new: list[dict[str, Any]] = []
    taken: Counter[str] = Counter()
    rooms: dict[str, Room] = {}
    for each in asked:
        each.known = {key_of(row): known[key_of(row)] for row in each.rows if key_of(row) in known}
        fresh = [row for row in each.rows if key_of(row) not in each.known]
        each.refused = _another(each) or await _too_many(connection, quotas, rooms, taken, fresh)
        if each.refused is None:
            known |= {key_of(row): row for row in fresh if row["key"] is not None}
            new += fresh
            taken.update(row["owner"] for row in fresh)
    if new:
        await connection.execute(sa.insert(tasks), new)


def _another(asked: Submission) -> WrongState | None:
    """Another task was there before under one of the keys."""
    for row in asked.rows:
        old = asked.known.get(key_of(row))
        if old is not None and any(old[name] != row[name] for name in ORDERED):
            return WrongState(f"another task was submitted under the key {row['key']!r}")
    return None


async def _too_many(
    connection: AsyncConnection,
    quotas: Quotas | None,
    rooms: dict[str, Room],
    taken: Counter[str],
    fresh: Sequence[Mapping[str, Any]],
) -> QuotaExceeded | None:
    """Beyond what their owner may have, with the tasks that this transaction has `taken` from others.

    Args:
        rooms: what owners had when the transaction began; grows by who is not in it.
    """
    if quotas is not None:
        for owner, count in Counter(row["owner"] for row in fresh).items():
            if owner not in rooms:
                rooms[owner] = await quotas.room(connection, owner)
            try:
                await check_room(connection, rooms[owner], count, taken[owner])
            except QuotaExceeded as error:
                return error
    return None
