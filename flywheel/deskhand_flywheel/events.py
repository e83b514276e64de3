"""The store's events: one append-only table whose row id is the live stream's `Last-Event-ID`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel import tables
from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.parts import StorePart
from deskhand_flywheel.records import finite
from deskhand_flywheel.types import Event, EventKind
from deskhand_sandbox.types import JsonValue

MAX_EVENTS = 1000
_ORDER_LOCK = 0x65766E74


async def append_events(connection: AsyncConnection, events: Sequence[Event]) -> tuple[int, ...]:
    """Keep events in a write transaction that goes on: they are there when it is committed, and only then.

    Returns:
        Their ids, in order.
    """
    if connection.dialect.name != "sqlite":
        # ids are drawn before commit: without this a reader could see 8 before 7 and skip 7
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({_ORDER_LOCK})"))
    rows = [
        {
            "at_s": event.at_s,
            "subject": event.subject,
            "kind": event.kind.value,
            "name": event.name,
            "data": json.dumps(_finite(event), separators=(",", ":")),
        }
        for event in events
    ]
    insert = tables.events.insert().returning(tables.events.c.id, sort_by_parameter_order=True)
    return tuple((await connection.execute(insert, rows)).scalars())


class Events(StorePart):
    """Metrics, states and alarms."""

    async def append_event(self, event: Event) -> Event:
        """Keep an event; returns it as kept, with its id, which is above every id seen so far.

        Figures that JSON does not know (NaN, infinities) become None: browsers read this.

        Raises:
            StorageFull, StoreUnavailable, StoreClosed: nothing was written.
        """

        async def write(connection: AsyncConnection) -> int:
            [kept] = await append_events(connection, [event])
            return kept

        return replace(event, data=_finite(event), id=await self._writer.submit(write))

    async def events_after(
        self,
        last_id: int = 0,
        *,
        subjects: Sequence[str] | None = None,
        name: str | None = None,
        kind: EventKind | None = None,
        limit: int = MAX_EVENTS,
    ) -> tuple[Event, ...]:
        """Events with a higher id, in order, at most `limit` (1 to 1000).

        Args:
            subjects: only those about one of these, e.g. "round:3"; None for all.
            name: only those of this name.
            kind: only those of this kind.

        Raises:
            InvalidQuery: the limit is out of range.
        """
        if not 1 <= limit <= MAX_EVENTS:
            raise InvalidQuery(f"one call gives 1 to {MAX_EVENTS} events, not {limit}")
        table = tables.events
        query = select(table).where(table.c.id > last_id).order_by(table.c.id).limit(limit)
        if subjects is not None:
            query = query.where(table.c.subject.in_(subjects))
        if name is not None:
            query = query.where(table.c.name == name)
        if kind is not None:
            query = query.where(table.c.kind == kind.value)
        async with self.database.read() as connection:
            rows = (await connection.execute(query)).all()
        return tuple(
            Event(
                id=row.id,
                at_s=row.at_s,
                subject=row.subject,
                kind=EventKind(row.kind),
                name=row.name,
                data=json.loads(row.data),
            )
            for row in rows
        )

    async def last_event_id(self) -> int:
        """The newest event's id; 0 when there is none."""
        query = select(tables.events.c.id).order_by(tables.events.c.id.desc()).limit(1)
        async with self.database.read() as connection:
            return await connection.scalar(query) or 0


def _finite(event: Event) -> dict[str, JsonValue]:
    return {key: finite(value) for key, value in event.data.items()}
