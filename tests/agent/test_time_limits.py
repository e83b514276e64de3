from __future__ import annotations

import asyncio
import time

import pytest

from deskhand_agent.time_limits import TimeLimit, waiting_ones_turn, within
from deskhand_sandbox.errors import SandboxTimeout

pytestmark = pytest.mark.usefixtures("simulated_time")

LATE = SandboxTimeout("too slow")


async def waits(seconds: float) -> str:
    with waiting_ones_turn():
        await asyncio.sleep(seconds)
    return "done"


async def test_within_cancels_what_is_late() -> None:
    late = asyncio.Event()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            late.set()

    with pytest.raises(SandboxTimeout, match="too slow"):
        await within(0.01, slow(), SandboxTimeout("too slow"))
    assert late.is_set()


async def test_waiting_ones_turn_is_not_counted() -> None:
    assert await within(0.5, waits(0.7), LATE) == "done"
    assert await within(0.5, within(0.5, waits(0.7), LATE), LATE) == "done"


async def test_the_rest_counts_as_before() -> None:
    async def work() -> None:
        await waits(0.1)
        await asyncio.Event().wait()

    with pytest.raises(SandboxTimeout, match="too slow"):
        await within(0.2, work(), LATE)


async def test_tasks_that_wait_at_once_are_counted_once() -> None:
    limit, began_s = TimeLimit(30.0), time.monotonic()
    with limit.running():
        await asyncio.gather(*(waits(0.1) for _ in range(3)), waits(0.2))
    assert 0.2 <= limit.extended_s <= time.monotonic() - began_s
    assert limit.remaining_s > 29.9 - (time.monotonic() - began_s - limit.extended_s)


async def test_a_limit_stands_still_meanwhile() -> None:
    limit = TimeLimit(30.0)
    with limit.running(), waiting_ones_turn():
        before_s = limit.remaining_s
        await asyncio.sleep(0.01)
        assert limit.remaining_s == before_s


async def test_what_runs_out_is_not_brought_back_by_waiting() -> None:
    async def stubborn() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await waits(0.01)

    with pytest.raises(SandboxTimeout, match="too slow"):
        await within(0.01, stubborn(), LATE)


async def test_waiting_can_be_cancelled() -> None:
    waiting = asyncio.create_task(within(0.01, waits(60.0), LATE))
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
