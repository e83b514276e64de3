"""Begins the rounds of schedules when their time has come; never while another round waits or runs.

What is to be done next stands in the schedules' rows and a round begins under a key made of it: a platform
killed anywhere in between begins each round once. A time that passed while no platform was up is made up for
once, at the next start.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import PlatformError
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.rounds.schedules import Schedule, Schedules, next_time
from deskhand_platform.services import Rounds

LOOK_S = 5.0
"""How often it is looked whether something is due."""


class Scheduler:
    """Looks at the schedules again and again."""

    def __init__(self, schedules: Schedules, book: RoundBook, rounds: Rounds, store: Store) -> None:
        self._schedules = schedules
        self._book = book
        self._rounds = rounds
        self._store = store

    async def run(self, look_s: float = LOOK_S) -> None:
        """Until it is cancelled."""
        while True:
            async with log_and_continue(
                "the schedules of rounds could not be looked at", PlatformError, FlywheelError
            ):
                await self.look()
            await asyncio.sleep(look_s)

    async def look(self) -> None:
        """Begin what is due, one round at most."""
        for schedule in await self._schedules.list():
            if schedule.enabled and await self._due(schedule):
                await self._begin(schedule)

    async def _due(self, schedule: Schedule) -> bool:
        if schedule.new_successes is None:
            return schedule.next_at_s is not None and schedule.next_at_s <= time.time()
        return await successes(schedule, self._book, self._store) >= schedule.new_successes

    async def _begin(self, schedule: Schedule) -> None:
        """Begin its round, or note why not; then wait for its next time.

        One due to successes waits for the round that is in its way; one by the clock leaves this time out.
        """
        now = time.time()
        begun = schedule.next_at_s if schedule.new_successes is None else schedule.since_s
        after: dict[str, Any] = {"next_at_s": next_time(schedule, now)}
        key = f"schedule-{schedule.id}-{begun}"
        earlier = await self._book.with_key(key)
        busy = [one for one in await self._book.unfinished() if one != earlier]
        if busy:
            note = f"round {busy[0]} was not over; none was begun"
            if schedule.new_successes is None or schedule.note != note:
                await self._schedules.note(schedule.id, **after, note=note)
            return
        try:
            record = await self._rounds.start(schedule.preset, dict(schedule.overrides), key)
        except (PlatformError, FlywheelError) as error:
            # with successes it would fail at every look: a person has to see to it
            off = {} if schedule.new_successes is None else {"enabled": False}
            await self._schedules.note(schedule.id, **after, **off, note=str(error))
            return
        told = {"last_at_s": now, "last_round": record.id, "note": None}
        if schedule.new_successes is not None:
            told["since_s"] = now
        await self._schedules.note(schedule.id, **after, **told)


async def successes(schedule: Schedule, book: RoundBook, store: Store) -> int:
    """Successful episodes begun since the schedule was made, last began a round, or a round ended last: what
    a round plays itself is no reason for another."""
    since = max(schedule.since_s, await book.last_end() or 0.0)
    return await store.count_trajectories(TrajectoryFilter(outcome=OutcomeFilter.SUCCESS, since_s=since))
