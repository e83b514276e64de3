"""Every alarm as its events tell it: raised, acknowledged, cleared. There is no other record of it.

An alarm of `watch` is raised and later cleared. A run's alarm ("kl_high") or the supervisor's ("child_died")
says that something happened: it stands until somebody acknowledges it, or for a day after the last time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_flywheel.tables import events
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import AlarmState
from deskhand_sandbox.types import JsonValue

STATE = "state"
REMEMBERED = 1000
"""Newest alarm events that are looked at; of older ones, those of what stands until it is cleared."""
ONCE_STANDS_S = 86_400.0
"""How long an alarm that nobody clears stands without an acknowledgement."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """One alarm, from being raised to being over."""

    id: int
    """Of the event that raised it."""
    subject: str
    """What it is about: "platform", "run:round-3-ppo"."""
    name: str
    """"disk_low", "kl_high"."""
    state: AlarmState
    raised_at_s: float
    newest_at_s: float
    """When it was last raised."""
    cleared_at_s: float | None = None
    acknowledged_at_s: float | None = None
    acknowledged_by: str | None = None
    times: int = 1
    """How often it was raised before it was over: a run tells each iteration anew."""
    data: Mapping[str, JsonValue]
    """Figures and advice of the newest time."""

    @property
    def open(self) -> bool:
        """It is not over."""
        return self.state is not AlarmState.CLEARED


class AlarmBook:
    """Reads and writes alarms."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def all(self) -> tuple[Alarm, ...]:
        """Those remembered, newest first."""
        query = sa.select(events).where(_IS_ALARM).order_by(events.c.id.desc()).limit(REMEMBERED)
        async with self._store.database.read() as connection:
            rows = (await connection.execute(query)).all()
            if len(rows) == REMEMBERED:
                rows = [*rows, *(await connection.execute(_standing(rows[-1].id))).all()]
        told = (
            Event(
                id=row.id,
                at_s=row.at_s,
                subject=row.subject,
                kind=EventKind.ALARM,
                name=row.name,
                data=json.loads(row.data),
            )
            for row in reversed(rows)
        )
        return fold(told, now=time.time())

    async def open(self) -> tuple[Alarm, ...]:
        """Those that are not over, newest first."""
        return tuple(one for one in await self.all() if one.open)

    async def acknowledge(self, alarm_id: int, by: str) -> Alarm:
        """Say that somebody has seen it; one that only says that something happened is over with that.

        Raises:
            NotFound: no such alarm is remembered.
            WrongState: it was acknowledged already, or is over.
        """
        found = await self._get(alarm_id)
        if found.state is not AlarmState.RAISED:
            raise WrongState(f"alarm {alarm_id} is {found.state} already", state=found.state)
        await self.tell(found.subject, found.name, AlarmState.ACKNOWLEDGED, {"by": by})
        return await self._get(alarm_id)

    async def tell(
        self, subject: str, name: str, state: AlarmState, data: Mapping[str, JsonValue] | None = None
    ) -> Event:
        """Append what became of an alarm."""
        told = {**(data or {}), STATE: state.value}
        event = Event(id=0, at_s=time.time(), subject=subject, kind=EventKind.ALARM, name=name, data=told)
        return await self._store.append_event(event)

    async def _get(self, alarm_id: int) -> Alarm:
        found = next((one for one in await self.all() if one.id == alarm_id), None)
        if found is None:
            raise NotFound("alarm", alarm_id)
        return found


_IS_ALARM = events.c.kind == EventKind.ALARM.value


def _standing(before: int) -> sa.Select[Any]:
    """Events with a state, below an id, that nothing below it has cleared; the newest first."""
    told = _IS_ALARM, events.c.id < before
    # as events are written, without spaces: within a text a quote has a backslash before it
    clears = events.c.data.contains(f'"{STATE}":"{AlarmState.CLEARED.value}"')
    cleared = sa.select(events.c.subject, events.c.name, sa.func.max(events.c.id).label("id"))
    cleared = cleared.where(*told, clears).group_by(events.c.subject, events.c.name).subquery()
    same = sa.and_(cleared.c.subject == events.c.subject, cleared.c.name == events.c.name)
    since = events.c.id > sa.func.coalesce(cleared.c.id, 0)
    stated = events.c.data.contains(f'"{STATE}":"')
    of = sa.select(events).outerjoin(cleared, same)
    return of.where(*told, stated, since).order_by(events.c.id.desc())


def fold(told: Iterable[Event], *, now: float) -> tuple[Alarm, ...]:
    """Alarms, newest first, from their events in order.

    Args:
        now: Unix time; what happened once, last more than a day before, is over.
    """
    standing: dict[tuple[str, str], Alarm] = {}
    over: list[Alarm] = []
    for event in told:
        key = (event.subject, event.name)
        before = standing.get(key)
        if before is not None and _lapsed(before, event.at_s):
            over.append(replace(standing.pop(key), state=AlarmState.CLEARED))
            before = None
        state = event.data.get(STATE)
        if state == AlarmState.CLEARED:
            if before is not None:
                over.append(replace(before, state=AlarmState.CLEARED, cleared_at_s=event.at_s))
                del standing[key]
        elif state == AlarmState.ACKNOWLEDGED:
            if before is not None:
                standing[key] = _acknowledged(before, event)
                if _once(before):
                    over.append(replace(standing.pop(key), state=AlarmState.CLEARED, cleared_at_s=event.at_s))
        elif before is not None:
            standing[key] = replace(before, times=before.times + 1, newest_at_s=event.at_s, data=event.data)
        else:
            standing[key] = Alarm(
                id=event.id,
                subject=event.subject,
                name=event.name,
                state=AlarmState.RAISED,
                raised_at_s=event.at_s,
                newest_at_s=event.at_s,
                data=event.data,
            )
    for alarm in standing.values():
        over.append(replace(alarm, state=AlarmState.CLEARED) if _lapsed(alarm, now) else alarm)
    return tuple(sorted(over, key=lambda alarm: alarm.id, reverse=True))


def _once(alarm: Alarm) -> bool:
    """Nobody will clear it: its event says no state."""
    return STATE not in alarm.data


def _lapsed(alarm: Alarm, now: float) -> bool:
    return _once(alarm) and alarm.newest_at_s + ONCE_STANDS_S < now


def _acknowledged(alarm: Alarm, event: Event) -> Alarm:
    by = event.data.get("by")
    return replace(
        alarm,
        state=AlarmState.ACKNOWLEDGED,
        acknowledged_at_s=event.at_s,
        acknowledged_by=by if isinstance(by, str) else None,
    )
