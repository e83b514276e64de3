"""A sandbox that somebody looks at besides the one who works in it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task


class Onlooked(Sandbox):
    """Passes everything on, one call at a time, and shows every observation to an onlooker."""

    def __init__(self, inner: Sandbox, show: Callable[[Observation], Awaitable[None]]) -> None:
        """
        Args:
            show: awaited before the observation is returned.
        """
        self._inner = inner
        self._show = show
        self._lock = asyncio.Lock()
        self.id, self.kind, self.capabilities = inner.id, inner.kind, inner.capabilities

    async def reset(self, task: Task) -> Start:
        async with self._lock:
            start = await self._inner.reset(task)
            await self._show(start.observation)
            return start

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return await self._seen(lambda: self._inner.observe(text_tree=text_tree))

    async def act(self, action: DeviceAction) -> Observation:
        return await self._seen(lambda: self._inner.act(action))

    async def restore(self, snapshot_id: str) -> Observation:
        return await self._seen(lambda: self._inner.restore(snapshot_id))

    async def evaluate(self, expression: str) -> JsonValue:
        async with self._lock:
            return await self._inner.evaluate(expression)

    async def forget(self, snapshot_id: str) -> None:
        async with self._lock:
            await self._inner.forget(snapshot_id)

    async def snapshot(self) -> str:
        async with self._lock:
            return await self._inner.snapshot()

    async def fork(self, n: int) -> list[Sandbox]:
        """Copies that nobody looks at."""
        async with self._lock:
            return await self._inner.fork(n)

    async def ping(self) -> None:
        async with self._lock:
            await self._inner.ping()

    def alive(self) -> bool:
        return self._inner.alive()

    async def close(self) -> None:
        async with self._lock:
            await self._inner.close()

    async def _seen(self, asked: Callable[[], Awaitable[Observation]]) -> Observation:
        async with self._lock:
            seen = await asked()
            await self._show(seen)
            return seen
