"""What becomes of rounds that two ask for something at once; PostgreSQL lets two in at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.errors import WrongState
from deskhand_platform.rounds.book import RoundBook, key_of
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.states import WorkState
from deskhand_platform.tables import rounds

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
LOCKED = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)


@pytest.fixture
def waiting(store: Store) -> Callable[[int], Awaitable[None]]:
    """Until so many wait for somebody else's transaction."""

    async def wait(number: int) -> None:
        async with asyncio.timeout(120):
            while True:
                async with store.database.read() as connection:
                    if await connection.scalar(LOCKED) == number:
                        return
                await asyncio.sleep(0.02)

    return wait


@pytest.fixture
async def failed(store: Store) -> int:
    book = RoundBook(store.database)
    round_id, _ = await book.create("smoke", checked_preset("smoke", {}))
    await book.close(round_id, WorkState.FAILED, "it broke", 0)
    return round_id


async def test_a_retry_and_a_start_of_an_equal_config_go_well_together(
    store: Store, failed: int, waiting: Callable[[int], Awaitable[None]]
) -> None:
    book, controls = RoundBook(store.database), RoundControls(store.database)
    config = (await book.get(failed)).config
    async with asyncio.TaskGroup() as together, store.database.write() as connection:
        begun = {"preset": "smoke", "config": config, "state": WorkState.QUEUED, "created_at_s": 1.0}
        await connection.execute(sa.insert(rounds).values(**begun, key=key_of(config)))
        together.create_task(controls.retry(failed, None, afresh=False))
        await waiting(1)
    first, started = [await book.get(each) for each in (failed, failed + 1)]
    assert {first.state, started.state} == {WorkState.QUEUED} and first.life == 1
    assert await book.create("smoke", checked_preset("smoke", {})) == (started.id, False)


async def test_of_two_retries_at_once_one_counts_and_the_other_is_told(
    store: Store, failed: int, waiting: Callable[[int], Awaitable[None]]
) -> None:
    controls = RoundControls(store.database)
    async with store.database.write() as connection:
        await connection.execute(sa.select(rounds).where(rounds.c.id == failed).with_for_update())
        both = [asyncio.ensure_future(controls.retry(failed, None, afresh=False)) for _ in range(2)]
        await waiting(2)
    done = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(map(type, done), key=str) == [type(None), WrongState]
    assert (await RoundBook(store.database).get(failed)).life == 1
