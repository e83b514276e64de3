"""Looks every so often whether something is wrong, and raises and clears the alarms that follow."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from deskhand_flywheel.errors import StoreError
from deskhand_flywheel.store import Store
from deskhand_platform.alarms.book import Alarm, AlarmBook
from deskhand_platform.alarms.rules import Trouble, troubles
from deskhand_platform.background import log_and_continue
from deskhand_platform.settings import Settings
from deskhand_platform.states import AlarmState

log = logging.getLogger(__name__)
WATCHED = ("no_rollouts", "failure_rate", "disk_low", "reward_collapse", "entropy_collapse")
"""Alarms that are raised, and cleared, here."""


class AlarmWatch:
    """Raises and clears."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._book = AlarmBook(store)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Watch for the length of the block."""
        work = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            async with log_and_continue("the alarms could not be looked at", StoreError, OSError):
                await self.look()
            await asyncio.sleep(self._settings.alarms.every_s)

    async def look(self) -> None:
        """Raise what is wrong and not raised, clear what is raised and over.

        Raises:
            StoreError: the database cannot be read or written.
        """
        async with self._store.database.read() as connection:
            found = await troubles(connection, self._settings.alarms, self._settings.home, time.time())
        standing = {(one.subject, one.name): one for one in await self._book.open() if one.name in WATCHED}
        for trouble in found:
            before = standing.pop((trouble.subject, trouble.name), None)
            if before is None:
                await self._raise(trouble)
        for over in standing.values():
            await self._clear(over)

    async def _raise(self, trouble: Trouble) -> None:
        log.warning("alarm %s of %s: %s", trouble.name, trouble.subject, dict(trouble.data))
        await self._book.tell(trouble.subject, trouble.name, AlarmState.RAISED, trouble.data)

    async def _clear(self, alarm: Alarm) -> None:
        log.info("alarm %s of %s is over", alarm.name, alarm.subject)
        await self._book.tell(alarm.subject, alarm.name, AlarmState.CLEARED)
