"""Rows that cite blobs, written while a garbage collection may be deleting some.

A collection condemns a blob (a row of `collected_blobs`) before it deletes it. A row that cites a condemned
blob is not written: the blob is reprieved, stored again where it is gone already, and then the row is
written.

SQLite has one write transaction at a time. On PostgreSQL writers hold a shared lock and the collector takes
it alone: a row is either seen by the collector, or its writer sees what was condemned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.parts import StorePart
from deskhand_flywheel.tables import collected_blobs

T = TypeVar("T")


class Condemned(FlywheelError):
    """Blobs to be cited are being collected; never leaves the store."""

    def __init__(self, digests: Collection[str]) -> None:
        super().__init__(f"{len(digests)} blobs are being collected")
        self.digests = digests


class Citing(StorePart):
    """Writes rows that cite blobs."""

    async def _write_citing(
        self, keep: Callable[[], Awaitable[object]], submit: Callable[[], Awaitable[T]]
    ) -> T:
        """Write rows whose blobs are stored; `keep` stores them again when one was condemned meanwhile."""
        while True:
            try:
                return await submit()
            except Condemned as error:
                await self.reprieve(error.digests)
                await keep()

    async def reprieve(self, digests: Collection[str]) -> None:
        """Blobs that are not to be deleted, or are to be stored again, after all."""

        async def write(connection: AsyncConnection) -> None:
            await connection.execute(delete(collected_blobs).where(collected_blobs.c.digest.in_(digests)))

        await self._writer.submit(write)
        self.blobs.forget(digests)


async def refuse_condemned(connection: AsyncConnection, digests: Collection[str]) -> None:
    """Before rows that cite these blobs are written, in the same transaction.

    Raises:
        Condemned: a collection deletes, or has deleted, one of them.
    """
    column = collected_blobs.c.digest
    if found := (await connection.scalars(select(column).where(column.in_(digests)))).all():
        raise Condemned(found)
