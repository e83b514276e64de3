"""Asking a process reward model that may be too slow."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from deskhand_trainer.config import PpoConfig
from deskhand_trainer.scoring_thread import ScoringThread


async def test_while_a_call_that_was_given_up_goes_on_no_other_is_begun() -> None:
    scoring = ScoringThread(PpoConfig(scoring_s=0.05, threads=1))
    begun, goes_on, ends = list[str](), threading.Event(), threading.Event()

    def hangs() -> None:
        begun.append("hangs")
        goes_on.set()
        assert ends.wait(60)

    calls = [
        asyncio.create_task(call) for call in (scoring.run(hangs), scoring.run(begun.append, "behind it"))
    ]
    await asyncio.sleep(0)
    assert goes_on.wait(60)  # in the event loop: what is late is so once the call goes on
    late = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(each) for each in late] == [TimeoutError, TimeoutError]
    with pytest.raises(TimeoutError):
        await scoring.run(begun.append, "after it")
    assert begun == ["hangs"]
    ends.set()
    async with asyncio.timeout(60):
        while len(begun) < 2:
            try:
                await scoring.run(begun.append, "next")
            except TimeoutError:
                await asyncio.sleep(0.001)
    assert begun == ["hangs", "next"]
    scoring.close()


def test_a_call_that_was_given_up_keeps_no_process_from_its_end() -> None:
    script = """
import asyncio, time
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.scoring_thread import ScoringThread

scoring = ScoringThread(PpoConfig(scoring_s=0.05, threads=1))
try:
    asyncio.run(scoring.run(time.sleep, 600))
except TimeoutError:
    print("late")
scoring.close()
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert (ended.returncode, ended.stdout) == (0, "late\n"), ended.stderr
