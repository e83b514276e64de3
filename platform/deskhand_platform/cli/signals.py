"""Ctrl-C and SIGTERM: once, in order, to the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from deskhand_platform.cli.console import say

STOPPED = {signal.SIGINT: 130, signal.SIGTERM: 143}


def run_until_signal(
    main: Coroutine[Any, Any, int], *, run: Callable[[Coroutine[Any, Any, int]], int] = asyncio.run
) -> int:
    """Run `main`; a signal cancels it once, and everything it holds is put away before this returns.

    Args:
        run: `uvloop.run` for what serves many at once: queries are answered from threads, and its loop is
            woken by them at a fraction of the cost.

    Returns:
        What `main` returned, or 128 + the signal's number.
    """

    async def body() -> int:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(main)
        got: list[signal.Signals] = []

        def stop(number: signal.Signals) -> None:
            # a second Ctrl-C must not break off the putting away
            if not got:
                say("stopping …")
                task.cancel()
            got.append(number)

        for number in STOPPED:
            loop.add_signal_handler(number, stop, number)
        try:
            return await task
        except asyncio.CancelledError:
            if got:
                return STOPPED[got[0]]
            raise

    return run(body())
