"""Episodes to be run, and the queue that workers take them from."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from deskhand_sandbox.types import Split, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """One episode to be run."""

    task: Task
    group_id: str | None = None
    """Episodes of one task and seed sampled together share it."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    split: Split | None = None
    """None: the one the task's id and seed belong to."""


class JobQueue:
    """Jobs taken one by one by several workers."""

    def __init__(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> None:
        self._iterator: AsyncIterator[Job] | Iterator[Job]
        self._iterator = aiter(jobs) if isinstance(jobs, AsyncIterable) else iter(jobs)
        self._lock = asyncio.Lock()
        self._coming: asyncio.Future[Job | None] | None = None

    async def take(self, *, within_s: float | None = None) -> Job | None:
        """The next one; None where there are no more.

        Raises:
            TimeoutError: none came within `within_s`; it is for whoever asks next.
        """
        async with asyncio.timeout(within_s), self._lock:
            return await self._following()

    async def _following(self) -> Job | None:
        if isinstance(self._iterator, Iterator):
            return next(self._iterator, None)
        # asking must not be broken off: that would end a generator for good
        self._coming = self._coming or asyncio.ensure_future(anext(self._iterator, None))
        job = await asyncio.shield(self._coming)
        self._coming = None
        return job

    def close(self) -> None:
        """Stop waiting for one that has not come."""
        if self._coming is not None:
            self._coming.cancel()
