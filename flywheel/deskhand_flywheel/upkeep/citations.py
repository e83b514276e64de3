"""Which blobs the database cites, judged so that nothing in use is ever taken for unused."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    MetaData,
    String,
    Table,
    Text,
    cast,
    inspect,
    null,
    select,
)

from deskhand_flywheel.database import Database
from deskhand_flywheel.tables import OWN_TABLES

_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_NOT_CITING = re.compile(r"alembic_version|collected_blobs|words.*")
"""Tables whose text does not keep a blob: what was collected, and the search index."""


async def cited_blobs(database: Database, *, without: frozenset[str] = frozenset()) -> set[bytes]:
    """Digests (32 bytes each) of all blobs that any row of any table may cite.

    Whatever in a text column looks like a digest counts as one, so that tables this package does not know,
    and records this version cannot read, keep their blobs too.

    Args:
        without: trajectories to leave out, as if they were gone.
    """
    found: set[bytes] = set()
    async with database.read() as connection:
        tables = await connection.run_sync(_tables)
        for table in tables:
            columns = [cast(c, Text) for c in table.columns if isinstance(c.type, (String, JSON))]
            if not columns:
                continue
            async for trajectory_id, *texts in await connection.stream(select(_trajectory(table), *columns)):
                if trajectory_id in without:
                    continue
                for text in texts:
                    found.update(map(bytes.fromhex, digests_in(text or "")))
    return found


def digests_in(text: str) -> set[str]:
    """Whatever in a text looks like a digest."""
    return set(_DIGEST.findall(text))


def _tables(connection: Connection) -> list[Table]:
    names = [name for name in inspect(connection).get_table_names() if not _NOT_CITING.fullmatch(name)]
    metadata = MetaData()
    metadata.reflect(connection, only=names, resolve_fks=False)
    return [metadata.tables[name] for name in names]


def _trajectory(table: Table) -> ColumnElement[Any]:
    """The trajectory a row is part of."""
    if table.name == "trajectories":
        return table.c.id
    return table.c.trajectory_id if table.name in OWN_TABLES else null()
