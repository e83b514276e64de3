"""Drops what is over: old events of tasks, old deliveries of webhooks, files that tasks fetched and none has
used for long, and what logs of other processes said before their last 50 MB.

Tasks, their results and episodes stay, and so do alarms, states of rounds and the figures of runs. What was
dropped last is told by an event of its own, so that a stream that would go on before it is told so.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database, in_chunks
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.events import append_events
from deskhand_flywheel.tables import events
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.background import log_and_continue
from deskhand_platform.settings import RetentionSettings
from deskhand_platform.tables import webhook_deliveries, webhooks
from deskhand_platform.task_events import NAME, PREFIX
from deskhand_sandbox.tasks.setup.downloads import Downloads

log = logging.getLogger(__name__)
BATCH = 1000
"""Rows of one transaction."""
LARGEST_LOG = 50_000_000
"""Bytes: a log that has more is begun anew; what it held stays beside it until then next time."""
SUBJECT, DROPPED = "platform", "task_events_dropped"
"""Of the event that tells up to which id events of tasks may be gone: its data's `up_to`."""


class Retention:
    """The one that drops."""

    def __init__(
        self,
        database: Database,
        settings: RetentionSettings,
        downloads: Downloads,
        logs: Sequence[Path] = (),
    ) -> None:
        """
        Args:
            logs: that processes append to for as long as they live.
        """
        self._logs = logs
        self._database = database
        self._settings = settings
        self._downloads = downloads

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Drop every so often for the length of the block."""
        work = asyncio.create_task(self._work())
        try:
            yield
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            async with log_and_continue("what is old could not be dropped", FlywheelError):
                dropped = await self.drop(time.time())
                if dropped:
                    log.info("dropped %d old events, deliveries and downloads", dropped)
            async with log_and_continue("a log could not be begun anew", OSError):
                for path in self._logs:
                    await asyncio.to_thread(begin_anew, path)
            await asyncio.sleep(self._settings.every_s)

    async def drop(self, now_s: float) -> int:
        """Drop all that is too old; how many rows and files.

        Raises:
            StoreError: the database cannot be written; what is left is dropped next time.
        """
        dropped = 0
        if self._settings.task_events_s is not None:
            before_s = now_s - self._settings.task_events_s
            while some := await self._drop_events(before_s):
                dropped += some
        if self._settings.deliveries_s is not None:
            dropped += await self._drop_deliveries(now_s - self._settings.deliveries_s)
        if self._settings.downloads_s is not None:
            dropped += await asyncio.to_thread(self._downloads.drop, now_s - self._settings.downloads_s)
        return dropped

    async def _drop_events(self, before_s: float) -> int:
        query = (
            sa.select(events.c.id, events.c.at_s)
            .where(events.c.kind == EventKind.STATE.value, _of_tasks())
            .order_by(events.c.id)
            .limit(BATCH)
        )
        async with self._database.read() as connection:
            # only ever grows, and a new webhook begins at the newest event
            behind = await connection.scalar(sa.select(sa.func.min(webhooks.c.after_event)))
            if behind is not None:
                query = query.where(events.c.id <= behind)
            old = [row.id for row in await connection.execute(query) if row.at_s < before_s]
        if not old:
            return 0
        async with self._database.write() as connection:
            for ids in in_chunks(old):
                await connection.execute(events.delete().where(events.c.id.in_(ids)))
            await _tell(connection, old[-1])
        return len(old)

    async def _drop_deliveries(self, before_s: float) -> int:
        """Those that have arrived or been given up."""
        table = webhook_deliveries
        over = sa.and_(table.c.due_at_s.is_(None), table.c.ended_at_s < before_s)
        oldest = sa.select(table.c.id).where(over).order_by(table.c.id).limit(BATCH)
        dropped = 0
        while True:
            async with self._database.read() as connection:
                ids = (await connection.scalars(oldest)).all()
            if not ids:
                return dropped
            async with self._database.write() as connection:
                for some in in_chunks(ids):
                    # one that is sent again meanwhile stays
                    gone = await connection.execute(table.delete().where(over, table.c.id.in_(some)))
                    dropped += gone.rowcount


def begin_anew(path: Path) -> None:
    """Begin a log anew that is too large; whoever appends to it goes on in the same file.

    Raises:
        OSError: it cannot be copied or emptied.
    """
    if path.exists() and path.stat().st_size > LARGEST_LOG:
        shutil.copyfile(path, path.with_name(f"{path.name}.1"))
        os.truncate(path, 0)


async def dropped_up_to(database: Database) -> int:
    """The newest id up to which events of tasks may be gone; 0 where none is."""
    query = sa.select(events.c.data).where(_tells()).order_by(events.c.id.desc()).limit(1)
    async with database.read() as connection:
        told = await connection.scalar(query)
    return 0 if told is None else int(json.loads(told)["up_to"])


async def _tell(connection: AsyncConnection, up_to: int) -> None:
    await connection.execute(events.delete().where(_tells()))
    told = Event(
        id=0,
        at_s=time.time(),
        subject=SUBJECT,
        kind=EventKind.STATE,
        name=DROPPED,
        data={"up_to": up_to},
    )
    await append_events(connection, [told])


def _of_tasks() -> sa.ColumnElement[bool]:
    return sa.and_(events.c.name == NAME, events.c.subject.startswith(PREFIX, autoescape=True))


def _tells() -> sa.ColumnElement[bool]:
    return sa.and_(events.c.subject == SUBJECT, events.c.name == DROPPED)
