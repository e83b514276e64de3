"""One call at a time, each with a deadline, none after a failure."""

from __future__ import annotations

import asyncio

import pytest

from deskhand_sandbox.backends.calls import Calls
from deskhand_sandbox.errors import InfrastructureError, InvalidAction, SandboxDied, SandboxTimeout


async def call(calls: Calls, until: asyncio.Event, deadline_s: float = 30.0) -> None:
    async with calls.call("looking", deadline_s):
        await until.wait()


async def under_way(calls: Calls, until: asyncio.Event) -> asyncio.Task[None]:
    """A call that has begun."""
    task = asyncio.create_task(call(calls, until))
    await asyncio.sleep(0)
    return task


async def test_calls_do_not_overlap() -> None:
    calls, first, second = Calls(), asyncio.Event(), asyncio.Event()
    one, two = await under_way(calls, first), await under_way(calls, second)
    second.set()
    done, _ = await asyncio.wait([one, two], timeout=0.05)
    assert not done
    first.set()
    await asyncio.gather(one, two)
    assert calls.usable


async def test_a_call_past_its_deadline_is_the_last() -> None:
    calls = Calls()
    with pytest.raises(SandboxTimeout, match=r"looking took longer than 0\.01 s"):
        await call(calls, asyncio.Event(), 0.01)
    assert not calls.usable
    with pytest.raises(SandboxTimeout, match="not to be used again"):
        await call(calls, asyncio.Event())


@pytest.mark.parametrize("lost", [SandboxDied, SandboxTimeout])
async def test_a_sandbox_that_is_lost_stays_lost(lost: type[InfrastructureError]) -> None:
    calls = Calls()
    with pytest.raises(lost, match="gone"):
        async with calls.call("looking", 30):
            raise lost("it is gone")
    with pytest.raises(lost, match=r"it is gone \(the sandbox is not to be used again\)"):
        await call(calls, asyncio.Event())


async def test_other_failures_are_looked_into() -> None:
    found: list[InfrastructureError] = []

    async def diagnose(error: InfrastructureError) -> SandboxDied | None:
        found.append(error)
        return SandboxDied("the device is gone") if "cable" in str(error) else None

    calls = Calls(diagnose)
    with pytest.raises(InvalidAction):
        async with calls.call("acting", 30):
            raise InvalidAction("off the screen")
    with pytest.raises(InfrastructureError, match="busy"):
        async with calls.call("looking", 30):
            raise InfrastructureError("busy")
    assert calls.usable
    assert len(found) == 1
    with pytest.raises(SandboxDied, match="the device is gone"):
        async with calls.call("looking", 30):
            raise InfrastructureError("the cable is out")
    assert not calls.usable


async def test_closing_ends_the_call_under_way_and_those_that_wait() -> None:
    calls, never = Calls(), asyncio.Event()
    cleaned = False

    async def working() -> None:
        nonlocal cleaned
        async with calls.call("reset", 30):
            try:
                await never.wait()
            finally:
                await asyncio.sleep(0.01)
                cleaned = True

    one = asyncio.create_task(working())
    await asyncio.sleep(0)
    two = await under_way(calls, never)
    await calls.close()
    assert cleaned
    await calls.close()
    with pytest.raises(SandboxDied, match="closed during reset"):
        await one
    with pytest.raises(SandboxDied, match="closed"):
        await two
    with pytest.raises(SandboxDied, match="closed"):
        await call(calls, never)


async def test_a_cancelled_call_lets_the_next_one_in() -> None:
    calls = Calls()
    one = await under_way(calls, asyncio.Event())
    one.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one
    done = asyncio.Event()
    done.set()
    await call(calls, done)
