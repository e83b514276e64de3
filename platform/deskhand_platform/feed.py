"""The event table as it grows, read once for everybody who follows it.

The writers are other processes: the table is the only channel between us, so somebody has to look. One
reader looks for all streams and keeps the newest events; a stream that is further behind reads the table
itself until it has caught up.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.events import MAX_EVENTS
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.background import log_and_continue
from deskhand_platform.task_events import PREFIX

POLL_S = 0.25
KEPT = 10_000
"""Newest events that streams share."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chosen:
    """Which events a stream is about."""

    subjects: Sequence[str] | None = None
    """None: whatever they are about."""
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of a task; all of them."""
    owner: str | None = None
    """Of a task; None: whoever."""
    tasks: bool = True
    """Those of tasks too."""
    alarms: bool = True

    def __contains__(self, event: Event) -> bool:
        if event.subject.startswith(PREFIX) and not self.tasks:
            return False
        if event.kind is EventKind.ALARM and not self.alarms:
            return False
        if self.name is not None and event.name != self.name:
            return False
        if self.subjects is not None and event.subject not in self.subjects:
            return False
        if self.owner is not None and event.data.get("owner") != self.owner:
            return False
        if not self.labels:
            return True
        labels = event.data.get("labels")
        return isinstance(labels, Mapping) and self.labels.items() <= labels.items()


class EventFeed:
    """What is new in the event table."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._followers = 0
        self._reader: asyncio.Task[None] | None = None
        self._recent: deque[Event] = deque()
        self._first: int | None = None
        """Every event above it, up to the last, is among the recent ones; None: nobody reads yet."""
        self._last = 0
        self._news = asyncio.Event()

    @asynccontextmanager
    async def following(self) -> AsyncGenerator[None]:
        """The table is looked at for the length of the block."""
        self._followers += 1
        if self._reader is None:
            self._reader = asyncio.create_task(self._read())
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers:
                reader, self._reader, self._first = self._reader, None, None
                self._recent.clear()
                reader.cancel()
                await asyncio.gather(reader, return_exceptions=True)

    async def after(self, last_id: int, chosen: Chosen) -> tuple[Sequence[Event], int]:
        """The chosen events above an id, in order, not always all of them; and how far has been looked.

        Raises:
            StoreUnavailable: the table cannot be read.
        """
        if self._first is not None and last_id >= self._first:
            return [event for event in self._recent if event.id > last_id and event in chosen], self._last
        # taken before the query: what comes between is found by the next look
        seen = last_id if self._first is None else self._last
        found = await self._store.events_after(last_id, subjects=chosen.subjects, name=chosen.name)
        if len(found) == MAX_EVENTS:
            seen = found[-1].id
        elif found:
            seen = max(seen, found[-1].id)
        return [event for event in found if event in chosen], max(last_id, seen)

    async def news(self, timeout_s: float) -> None:
        """Return when events have come, or after so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._news.wait()

    async def _read(self) -> None:
        while True:
            found: Sequence[Event] = ()
            async with log_and_continue("the events cannot be read", FlywheelError):
                if self._first is None:
                    self._first = self._last = await self._store.last_event_id()
                found = await self._store.events_after(self._last)
            if found:
                self._take(found)
            if len(found) < MAX_EVENTS:
                await asyncio.sleep(POLL_S)

    def _take(self, found: Sequence[Event]) -> None:
        self._recent.extend(found)
        self._last = found[-1].id
        while len(self._recent) > KEPT:
            self._first = self._recent.popleft().id
        self._news.set()
        self._news = asyncio.Event()
