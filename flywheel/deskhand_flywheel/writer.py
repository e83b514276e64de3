"""Group commit: whatever waits is written in one transaction and acknowledged after its commit.

Sixteen episodes writing at once cost one commit, not sixteen, and a single writer never fights itself for the
write lock.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import StorageFull, StoreClosed, StoreUnavailable

T = TypeVar("T")
Write = Callable[[AsyncConnection], Awaitable[T]]
"""Writes on the connection it is handed. May run twice, the first time undone: it changes nothing else."""

WRITERS_LOCK = 0x77726974
"""Key of PostgreSQL's advisory lock that every group holds shared: taken alone, it keeps all writers out."""
Batch = Callable[[AsyncConnection, Sequence[T]], Awaitable[None]]
"""Writes several of a kind at once, all or none. May run twice, the first time undone."""

MAX_GROUP = 256
"""Writes in one transaction, so that other processes get their turn."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    done: asyncio.Future[Any]
    write: Write[Any] | None = None
    batch: Batch[Any] | None = None
    item: Any = None


class GroupWriter:
    """Writes to one database, in the order they were asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def submit(self, write: Write[T]) -> T:
        """Returns what `write` returned once its transaction is committed.

        Raises:
            StoreClosed: after `close`.
            Whatever `write` raises; then nothing of it is in the database.
        """
        return await self._done(_Waiting(asyncio.get_running_loop().create_future(), write=write))

    async def submit_to(self, batch: Batch[T], item: T) -> None:
        """As `submit`, for one of many alike: what waits for the same batch is written by one call of it.

        Raises:
            StoreClosed: after `close`.
            Whatever `batch` raises for the item alone; then nothing of it is in the database.
        """
        await self._done(_Waiting(asyncio.get_running_loop().create_future(), batch=batch, item=item))

    async def close(self) -> None:
        """Write what still waits, then take no more; safe to call twice."""
        self._closed = True
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _done(self, waiting: _Waiting) -> Any:
        if self._closed:
            raise StoreClosed("the store is closed: open it again to write")
        self._waiting.append(waiting)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._drain())
        return await waiting.done

    async def _drain(self) -> None:
        while self._waiting:
            group = [self._waiting.popleft() for _ in range(min(len(self._waiting), MAX_GROUP))]
            try:
                await self._write(group)
            except BaseException as error:
                # cancelled: nobody may be left waiting for ever
                _fail([*group, *self._waiting], error)
                self._waiting.clear()
                raise

    async def _write(self, group: list[_Waiting]) -> None:
        try:
            results = await self._commit(group)
        except Exception as error:  # noqa: BLE001  whose write it is decides what it means
            # a lock, a full disk or a lost connection is no write's own: each alone would wait for it anew
            if len(group) == 1 or isinstance(error, StoreUnavailable | StorageFull):
                _fail(group, error)
                return
            # one write of the group failed and undid the rest: only it is to fail
            for waiting in group:
                await self._write([waiting])
        else:
            for waiting, result in zip(group, results, strict=True):
                if not waiting.done.done():
                    waiting.done.set_result(result)

    async def _commit(self, group: list[_Waiting]) -> list[Any]:
        async with self._database.write() as connection:
            if not self._database.is_sqlite:
                await connection.execute(text(f"SELECT pg_advisory_xact_lock_shared({WRITERS_LOCK})"))
            results: list[Any] = []
            for batch, alike in itertools.groupby(group, key=lambda waiting: waiting.batch):
                some = list(alike)
                if batch is not None:
                    await batch(connection, [each.item for each in some])
                results += [await each.write(connection) if each.write else None for each in some]
            return results


def _fail(group: list[_Waiting], error: BaseException) -> None:
    for waiting in group:
        if waiting.done.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            waiting.done.cancel()
        else:
            waiting.done.set_exception(error)
