"""Rows of the `tasks` table before they are written: what several submit goes in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_platform.tables import tasks

ORDERED = ("task", "policy", "labels", "rank", "deadline_s")
"""What has to be the same for a task to be the one that was submitted under its key."""
KEYS_AT_ONCE = 1000
Row: TypeAlias = RowMapping | Mapping[str, Any]
"""As it was read, or as it is about to be written."""


@dataclass(slots=True)
class Submission:
    """Tasks that are appended together or not at all."""

    rows: list[dict[str, Any]]
    known: dict[str, Row] = field(default_factory=dict[str, Row])
    """By its key: a task that was there before."""
    refused: list[str] = field(default_factory=list[str])
    """Keys under which another task was there before: nothing is appended."""


async def append(connection: AsyncConnection, asked: Sequence[Submission]) -> None:
    """Append what several submit, in one transaction."""
    keys = [row["key"] for each in asked for row in each.rows if row["key"] is not None]
    known: dict[str, Row] = {}
    for at in range(0, len(keys), KEYS_AT_ONCE):
        query = sa.select(tasks).where(tasks.c.key.in_(keys[at : at + KEYS_AT_ONCE]))
        known |= {row["key"]: row for row in (await connection.execute(query)).mappings()}
    new: list[dict[str, Any]] = []
    for each in asked:
        each.known = {row["key"]: known[row["key"]] for row in each.rows if row["key"] in known}
        rows = [(row, each.known.get(row["key"])) for row in each.rows]
        each.refused = [r["key"] for r, old in rows if old and any(old[name] != r[name] for name in ORDERED)]
        if each.refused:
            continue
        fresh = [row for row in each.rows if row["key"] not in each.known]
        known |= {row["key"]: row for row in fresh if row["key"] is not None}
        new += fresh
    if new:
        await connection.execute(sa.insert(tasks), new)
