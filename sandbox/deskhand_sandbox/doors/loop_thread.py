"""An event loop in a thread of its own: sandboxes for callers that do not await."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from deskhand_sandbox.errors import SandboxDied, SandboxTimeout

T = TypeVar("T")

STOP_S = 10.0
"""How long the loop may take to end."""


class LoopThread:
    """Runs coroutines one after the other; works inside another event loop (a notebook) too."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], *, limit_s: float) -> T:
        """The coroutine's result; when the caller is interrupted, it is cancelled.

        Raises:
            SandboxDied: the loop was stopped.
            SandboxTimeout: it took longer than `limit_s`, and was cancelled.
            Exception: what it raised itself.
        """
        if self._loop.is_closed():
            work.close()
            raise SandboxDied("what held the sandbox is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(limit_s)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            raise SandboxTimeout(f"a call on the sandbox took more than {limit_s:g} s") from None
        finally:
            future.cancel()

    def stop(self) -> None:
        """End the loop and its thread. Safe to call twice."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_S)
        if not self._thread.is_alive():
            self._loop.close()
