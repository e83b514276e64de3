"""Which blobs the database cites, judged so that nothing in use is ever taken for unused."""

from __future__ import annotations

import re

from sqlalchemy import JSON, Connection, MetaData, String, Table, Text, cast, inspect, select

from deskhand_flywheel.database import Database

_DIGEST = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_NOT_CITING = re.compile(r"alembic_version|collected_blobs|words.*")
"""Tables whose text does not keep a blob: what was collected, and the search index."""


async def cited_blobs(database: Database) -> set[bytes]:
    """Digests (32 bytes each) of all blobs that any row of any table may cite.

    Whatever in a text column looks like a digest counts as one, so that tables this package does not know,
    and records this version cannot read, keep their blobs too.
    """
    found: set[bytes] = set()
    async with database.read() as connection:
        tables = await connection.run_sync(_tables)
        for table in tables:
            columns = [cast(c, Text) for c in table.columns if isinstance(c.type, (String, JSON))]
            if not columns:
                continue
            async for row in await connection.stream(select(*columns)):
                for text in row:
                    found.update(map(bytes.fromhex, _DIGEST.findall(text or "")))
    return found


def _tables(connection: Connection) -> list[Table]:
    names = [name for name in inspect(connection).get_table_names() if not _NOT_CITING.fullmatch(name)]
    metadata = MetaData()
    metadata.reflect(connection, only=names, resolve_fks=False)
    return [metadata.tables[name] for name in names]
