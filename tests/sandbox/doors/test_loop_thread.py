from __future__ import annotations

import asyncio
import threading

import pytest

from deskhand_sandbox.doors.loop_thread import LoopThread
from deskhand_sandbox.errors import InvalidAction, SandboxDied, SandboxTimeout


async def where() -> str:
    return threading.current_thread().name


def test_work_runs_in_the_thread_and_what_it_raises_comes_back() -> None:
    async def refuse() -> None:
        raise InvalidAction("no")

    async def late() -> None:
        raise TimeoutError("its own")

    loop = LoopThread("elsewhere")
    assert loop.run(where(), limit_s=60) == "elsewhere"
    with pytest.raises(InvalidAction, match="no"):
        loop.run(refuse(), limit_s=60)
    with pytest.raises(TimeoutError, match="its own"):
        loop.run(late(), limit_s=60)
    loop.stop()
    loop.stop()
    with pytest.raises(SandboxDied, match="closed"):
        loop.run(where(), limit_s=60)
    assert "elsewhere" not in [thread.name for thread in threading.enumerate()]


def test_work_that_takes_too_long_is_cancelled() -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    loop = LoopThread("elsewhere")
    with pytest.raises(SandboxTimeout, match=r"more than 0\.01 s"):
        loop.run(hang(), limit_s=0.01)
    assert ended.wait(60)
    loop.stop()


async def test_it_works_inside_another_loop() -> None:
    loop = LoopThread("elsewhere")
    assert loop.run(where(), limit_s=60) == "elsewhere"
    loop.stop()
