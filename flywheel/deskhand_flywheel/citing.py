"""Rows that cite blobs, written while a garbage collection may be deleting some.

A collection condemns a blob (a row of `collected_blobs`) before it deletes it. A row that cites a condemned
blob is not written: the blob is reprieved, stored again where it is gone already, and then the row is
written. The condition is part of the row's own insert, so it costs no query of its own.

SQLite has one write transaction at a time. On PostgreSQL writers hold a shared lock and the collector takes
it alone: a row is either seen by the collector, or its writer sees what was condemned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Insert, Table, bindparam, delete, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.parts import StorePart, insert_new
from deskhand_flywheel.tables import collected_blobs
from deskhand_flywheel.writer import Write

T = TypeVar("T")


class Condemned(FlywheelError):
    """Blobs to be cited are being collected; never leaves the store."""

    def __init__(self, digests: Collection[str]) -> None:
        super().__init__(f"{len(digests)} blobs are being collected")
        self.digests = digests


class Citing(StorePart):
    """Writes rows that cite blobs."""

    async def _write_citing(self, keep: Callable[[], Awaitable[object]], write: Write[T]) -> T:
        """Write rows whose blobs are stored; `keep` stores them again when one was condemned meanwhile."""
        while True:
            try:
                return await self._writer.submit(write)
            except Condemned as error:
                await self.reprieve(error.digests)
                await keep()

    async def reprieve(self, digests: Collection[str]) -> None:
        """Blobs that are not to be deleted, or are to be stored again, after all."""

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(delete(collected_blobs).where(collected_blobs.c.digest.in_(digests)))

        await self._writer.submit(write)
        self.blobs.forget(digests)

    async def _insert_citing(
        self, connection: AsyncConnection, table: Table, row: Mapping[str, Any], digests: Collection[str]
    ) -> bool:
        """`insert_new`, unless a blob the row cites is condemned; whether the row is new.

        Raises:
            Condemned: one is; no row is written.
        """
        insert = _insert(self.database.is_sqlite, table, tuple(row))
        given = {f"given_{name}": value for name, value in row.items()}
        added = await connection.execute(insert, {**given, "digests": list(digests)})
        if added.rowcount == 0:
            await refuse_condemned(connection, digests)
        return added.rowcount != 0


@cache
def _insert(on_sqlite: bool, table: Table, names: tuple[str, ...]) -> Insert:
    # made once: putting the statement together takes longer than running it
    given = (bindparam(f"given_{name}", type_=table.c[name].type) for name in names)
    listed = exists().where(collected_blobs.c.digest.in_(bindparam("digests", expanding=True)))
    return insert_new(on_sqlite, table).from_select(names, select(*given).where(~listed))


def none_condemned(digests: Collection[str]) -> ColumnElement[bool]:
    """True while no collection deletes, or has deleted, one of these blobs."""
    return ~exists().where(collected_blobs.c.digest.in_(digests))


async def refuse_condemned(connection: AsyncConnection, digests: Collection[str]) -> None:
    """For a row that was not written: find out whether this is why.

    Raises:
        Condemned: it is.
    """
    column = collected_blobs.c.digest
    if found := (await connection.scalars(select(column).where(column.in_(digests)))).all():
        raise Condemned(found)
