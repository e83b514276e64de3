"""Rounds that begin by themselves: at times of a cron expression, or when enough new successes are there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import sqlalchemy as sa
from croniter import CroniterError, croniter

from deskhand_flywheel.database import Database
from deskhand_platform.errors import InvalidField, NotFound
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.tables import round_schedules
from deskhand_sandbox.types import JsonValue


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleOrder:
    """What somebody asks for; `cron` or `new_successes`, and not both."""

    preset: str
    overrides: Mapping[str, JsonValue]
    cron: str | None
    """Five fields: minute, hour, day of month, month, day of week."""
    timezone: str
    """In which the expression is read, by its IANA name."""
    new_successes: int | None
    """Successful episodes since the round before, of anybody, that begin one."""
    enabled: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(ScheduleOrder):
    """A stored one."""

    id: int
    since_s: float
    """Successes before this Unix time do not count."""
    next_at_s: float | None
    """None without `cron`, and while it is disabled."""
    last_at_s: float | None
    last_round: int | None
    note: str | None
    """Why the last time came to nothing; None when it began a round."""
    created_at_s: float


class Schedules:
    """Reads and writes schedules."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self) -> tuple[Schedule, ...]:
        """Every schedule, oldest first."""
        query = sa.select(round_schedules).order_by(round_schedules.c.id)
        async with self._database.read() as connection:
            return tuple(Schedule(**row) for row in (await connection.execute(query)).mappings())

    async def get(self, schedule_id: int) -> Schedule:
        """One schedule.

        Raises:
            NotFound: there is none of that number.
        """
        query = sa.select(round_schedules).where(round_schedules.c.id == schedule_id)
        row = await self._database.first(query)
        if row is None:
            raise NotFound("schedule", schedule_id)
        return Schedule(**row)

    async def create(self, order: ScheduleOrder) -> Schedule:
        """A new schedule. Its round is checked, as far as can be said without starting it.

        Raises:
            NotFound: no such preset.
            InvalidField: a field is refused, or an override.
        """
        check(order)
        now = time.time()
        values = _columns(order) | {"since_s": now, "created_at_s": now, "next_at_s": next_time(order, now)}
        new = sa.insert(round_schedules).values(values).returning(round_schedules.c.id)
        async with self._database.write() as connection:
            made = int((await connection.execute(new)).scalar_one())
        return await self.get(made)

    async def replace(self, schedule_id: int, order: ScheduleOrder) -> Schedule:
        """Change what a schedule says; its next time is worked out from now.

        Raises:
            NotFound: there is none of that number, or no such preset.
            InvalidField: as `create`.
        """
        await self.get(schedule_id)
        check(order)
        await self.note(schedule_id, **_columns(order), next_at_s=next_time(order, time.time()), note=None)
        return await self.get(schedule_id)

    async def note(self, schedule_id: int, **values: Any) -> None:
        """Change columns of a schedule."""
        where = round_schedules.c.id == schedule_id
        async with self._database.write() as connection:
            await connection.execute(sa.update(round_schedules).where(where).values(values))

    async def delete(self, schedule_id: int) -> None:
        """Forget a schedule; rounds that it began stay.

        Raises:
            NotFound: there is none of that number.
        """
        gone = sa.delete(round_schedules).where(round_schedules.c.id == schedule_id)
        async with self._database.write() as connection:
            if not (await connection.execute(gone)).rowcount:
                raise NotFound("schedule", schedule_id)


def check(order: ScheduleOrder) -> None:
    """Refuse what could never begin a round.

    Raises:
        InvalidField: there is no such preset, or a field or an override is refused.
    """
    if (order.cron is None) == (order.new_successes is None):
        raise InvalidField("cron", "give either cron or new_successes; for example cron=0 3 * * *")
    if order.new_successes is not None and order.new_successes < 1:
        raise InvalidField("new_successes", "must be at least 1; for example new_successes=200")
    try:
        ZoneInfo(order.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"no time zone {order.timezone!r}; for example timezone=Europe/Berlin"
        raise InvalidField("timezone", message) from error
    if order.cron is not None:
        if len(order.cron.split()) != 5:
            raise InvalidField("cron", f"{order.cron!r} has not five fields; for example cron=0 3 * * 1-5")
        try:
            next_time(replace(order, enabled=True), time.time())
        except (CroniterError, ValueError) as error:
            raise InvalidField("cron", f"{error}; for example cron=0 3 * * 1-5") from error
    checked_preset(order.preset, order.overrides)


def next_time(order: ScheduleOrder, after_s: float) -> float | None:
    """Unix time at which the expression next holds; None where there is none, or it is disabled.

    An hour that clocks show twice is one where the expression names hours, and two where it takes any (`*`).
    """
    if order.cron is None or not order.enabled:
        return None
    begin = datetime.fromtimestamp(after_s, UTC).astimezone(ZoneInfo(order.timezone))
    times = croniter(order.cron, begin)
    found: datetime = times.get_next(datetime)
    while found.fold and not order.cron.split()[1].startswith("*"):
        found = times.get_next(datetime)
    return found.timestamp()


def _columns(order: ScheduleOrder) -> dict[str, Any]:
    return {
        "preset": order.preset,
        "overrides": dict(order.overrides),
        "cron": order.cron,
        "timezone": order.timezone,
        "new_successes": order.new_successes,
        "enabled": order.enabled,
    }
