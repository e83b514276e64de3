"""Rounds that begin by themselves, over real tables; what they would do stands still."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.rounds.scheduler import Scheduler
from deskhand_platform.rounds.schedules import ScheduleOrder, next_time
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState

DATABASES = ("sqlite", "postgresql")
NIGHTLY = ScheduleOrder(
    preset="smoke", overrides={}, cron="0 3 * * *", timezone="UTC", new_successes=None, enabled=True
)
EVERY_TWO = ScheduleOrder(
    preset="smoke", overrides={}, cron=None, timezone="UTC", new_successes=2, enabled=True
)


@pytest.mark.parametrize(
    ("cron", "times"),
    [
        ("30 2 * * *", ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]),
        ("*/30 2,3 * * *", ["2026-10-25T02:30:00+02:00", "2026-10-25T03:00:00+01:00"]),
        ("30 * * * *", ["2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00"]),
    ],
)
def test_an_hour_that_clocks_show_twice_is_one_to_who_names_it(cron: str, times: list[str]) -> None:
    order, zone = replace(NIGHTLY, cron=cron, timezone="Europe/Berlin"), ZoneInfo("Europe/Berlin")
    at_s = datetime(2026, 10, 25, 2, 10, tzinfo=zone).timestamp()
    for expected in times:
        at_s = next_time(order, at_s) or 0.0
        assert datetime.fromtimestamp(at_s, zone).isoformat() == expected


def scheduler(services: Services) -> Scheduler:
    return Scheduler(services.schedules, services.book, services.rounds, services.store)


async def test_a_time_that_has_come_begins_one_round(services: Services) -> None:
    made = await services.schedules.create(NIGHTLY)
    await scheduler(services).look()
    assert await services.book.list() == ()
    due = time.time() - 9 * 86400  # the platform was down for days
    await services.schedules.note(made.id, next_at_s=due)
    await scheduler(services).look()
    [record] = await services.book.list()
    noted = await services.schedules.get(made.id)
    assert noted.last_round == record.id and noted.note is None
    assert noted.next_at_s is not None and noted.next_at_s > time.time()
    # killed before it had noted what it began
    await services.schedules.note(made.id, next_at_s=due, last_round=None)
    await scheduler(services).look()
    assert (await services.schedules.get(made.id)).last_round == record.id
    assert len(await services.book.list()) == 1


async def test_what_nobody_foresaw_ends_no_schedule(
    services: Services, caplog: pytest.LogCaptureFixture, odd_once: Any
) -> None:
    Odd = odd_once(Scheduler)
    odd = Odd(services.schedules, services.book, services.rounds, services.store)
    running = asyncio.create_task(odd.run(look_s=0.01))
    async with asyncio.timeout(100):
        await odd.looked.wait()
    running.cancel()
    assert 'raise RuntimeError("odd")' in caplog.text


async def test_none_begins_while_another_is_not_over(services: Services) -> None:
    other = await services.rounds.start("smoke", {})
    made = await services.schedules.create(NIGHTLY)
    await services.schedules.note(made.id, next_at_s=time.time() - 1)
    await scheduler(services).look()
    noted = await services.schedules.get(made.id)
    assert noted.note == f"round {other.id} was not over; none was begun" and noted.last_round is None
    assert noted.next_at_s is not None and noted.next_at_s > time.time()
    assert len(await services.book.list()) == 1


async def test_enough_new_successes_begin_a_round(
    services: Services, store: Store, record_episode: Any
) -> None:
    await record_episode(store)  # before the schedule
    made = await services.schedules.create(EVERY_TWO)
    await record_episode(store)
    await record_episode(store, success=False)
    await scheduler(services).look()
    assert await services.book.list() == ()
    await record_episode(store)
    await scheduler(services).look()
    [record] = await services.book.list()
    assert (await services.schedules.get(made.id)).last_round == record.id
    for _ in range(3):
        await record_episode(store)  # played by the round
    await services.book.close(record.id, WorkState.DONE, None, 0)
    await scheduler(services).look()
    assert len(await services.book.list()) == 1
    for _ in range(2):
        await record_episode(store)
    await scheduler(services).look()
    assert len(await services.book.list()) == 2


async def test_a_round_that_is_refused_is_noted_and_not_asked_for_again(
    services: Services, store: Store, record_episode: Any
) -> None:
    made = await services.schedules.create(EVERY_TWO)
    await services.schedules.note(made.id, preset="gone")
    for _ in range(2):
        await record_episode(store)
    await scheduler(services).look()
    noted = await services.schedules.get(made.id)
    assert not noted.enabled and "no preset 'gone'" in str(noted.note)
