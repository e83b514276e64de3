"""Many episodes at once as a stream: each as it ends, and no further ones than somebody reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable

from deskhand_agent.jobs import Job
from deskhand_agent.types import Policy, StepSink, Trajectory
from deskhand_agent.worker import WorkerSettings, run_episodes
from deskhand_sandbox.base import SandboxSource


async def stream_episodes(
    jobs: Iterable[Job] | AsyncIterable[Job],
    *,
    source: SandboxSource,
    policy: Policy,
    sink: StepSink,
    settings: WorkerSettings | None = None,
    concurrency: int | None = None,
    policy_update: Callable[[], int] = lambda: 0,
    owner: str = "worker",
) -> AsyncGenerator[Trajectory, None]:
    """As `run_episodes`: each job's last attempt as it ends. Leaving the stream cancels what is under way.

    While as many have ended unread as there are episodes at once, no further one begins.

    Raises:
        As `run_episodes`.
    """
    settings = settings or WorkerSettings()
    ended = _Unread(settings.concurrency if concurrency is None else concurrency)
    running = asyncio.create_task(
        run_episodes(
            ended.as_read(jobs),
            source=source,
            policy=policy,
            sink=sink,
            settings=settings,
            concurrency=concurrency,
            policy_update=policy_update,
            owner=owner,
            on_done=ended.put,
        )
    )
    running.add_done_callback(lambda _: ended.put(None))
    try:
        while (trajectory := await ended.get()) is not None:
            yield trajectory
        await running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class _Unread:
    """Episodes that have ended and wait for the reader."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: asyncio.Queue[Trajectory | None] = asyncio.Queue()
        self._room = asyncio.Event()
        self._room.set()

    def put(self, trajectory: Trajectory | None) -> None:
        self._waiting.put_nowait(trajectory)
        if self._waiting.qsize() >= self._most:
            self._room.clear()

    async def get(self) -> Trajectory | None:
        trajectory = await self._waiting.get()
        if self._waiting.qsize() < self._most:
            self._room.set()
        return trajectory

    async def as_read(self, jobs: Iterable[Job] | AsyncIterable[Job]) -> AsyncGenerator[Job]:
        """The jobs, each once there is room for what will come of it."""
        if isinstance(jobs, AsyncIterable):
            async for job in jobs:
                await self._room.wait()
                yield job
        else:
            for job in jobs:
                await self._room.wait()
                yield job
