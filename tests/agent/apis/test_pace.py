from __future__ import annotations

import asyncio
import math
import time

import pytest

from deskhand_agent.apis.pace import Pace
from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.time_limits import within

pytestmark = pytest.mark.usefixtures("simulated_time")


async def timed(pace: Pace, *, cost: float = 0.0) -> float:
    began_s = time.monotonic()
    pace.settle(await pace.begin(), cost)
    return time.monotonic() - began_s


async def test_without_limits_nobody_waits() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=math.inf)
    for _ in range(1000):
        assert await timed(pace, cost=1e9) < 1


async def test_a_minutes_requests_at_once_and_the_next_when_its_time_has_come() -> None:
    pace = Pace(requests_per_minute=120, tokens_per_minute=math.inf)
    began_s = time.monotonic()
    for _ in range(121):
        await pace.begin()
    assert time.monotonic() - began_s >= 0.49


async def test_what_replies_cost_is_paid_before_the_next() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=6000)
    await timed(pace, cost=6020)
    waiting = asyncio.create_task(pace.begin())
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    waiting.cancel()


async def test_a_request_that_came_to_nothing_gives_its_tokens_back() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=60_000)
    await timed(pace, cost=30_000)
    for _ in range(50):
        assert await timed(pace, cost=0) < 5


async def test_tokens_flow_at_the_rate() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=60_000)
    began_s = time.monotonic()
    for _ in range(61):
        await timed(pace, cost=1000)
    assert time.monotonic() - began_s >= 0.9


async def test_held_it_lets_nobody_begin() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=math.inf)
    began_s = time.monotonic()
    pace.hold(0.3)
    await pace.begin()
    assert time.monotonic() - began_s >= 0.29


async def test_who_gives_up_waiting_takes_nothing() -> None:
    pace = Pace(requests_per_minute=60, tokens_per_minute=math.inf)
    for _ in range(60):
        await pace.begin()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(pace.begin(), 0.05)
    assert await timed(pace) < 5


async def test_who_waits_is_not_late() -> None:
    pace = Pace(requests_per_minute=math.inf, tokens_per_minute=math.inf)
    pace.hold(0.7)
    waiting = (within(0.5, pace.begin(), InferenceTimeout("no decision")) for _ in range(2))
    assert await asyncio.gather(*waiting) == [0.0, 0.0]
