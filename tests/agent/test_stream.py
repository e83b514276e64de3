from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace

import pytest

from deskhand_agent import worker
from deskhand_agent.sinks import MemorySink
from deskhand_agent.stream import stream_episodes
from deskhand_agent.worker import Job, WorkerSettings
from deskhand_sandbox.errors import BackendMissing

pytestmark = pytest.mark.usefixtures("simulated_time")

QUICK = WorkerSettings(backoff_s=0.001)


@pytest.fixture(autouse=True)
def stub_verifier(stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry knows no verifier for the stub sandbox."""
    monkeypatch.setattr(worker, "create_verifier", lambda spec: stub.Rewards())


def jobs(stub: SimpleNamespace, count: int) -> list[Job]:
    return [Job(task=stub.task(1 + number % 4)) for number in range(count)]


async def test_a_stream_yields_each_job_once_as_it_ends(stub: SimpleNamespace) -> None:
    sink = MemorySink()
    stream = stream_episodes(
        jobs(stub, 12), source=stub.Source(), policy=stub.Policy(), sink=sink, concurrency=4
    )
    ids = [trajectory.id async for trajectory in stream]
    assert sorted(ids) == sorted(trajectory.id for trajectory in sink.trajectories)
    assert len(ids) == 12


async def test_leaving_a_stream_stops_its_episodes(stub: SimpleNamespace) -> None:
    async def endless() -> AsyncIterator[Job]:
        while True:
            yield Job(task=stub.task(1))

    source = stub.Source()
    stream = stream_episodes(endless(), source=source, policy=stub.Policy(), sink=MemorySink(), concurrency=3)
    async for _ in stream:
        break
    await stream.aclose()
    assert source.out == 0


async def test_a_stream_passes_errors_on(stub: SimpleNamespace) -> None:
    source = stub.Source(refuse=[BackendMissing("no chromium")] * 9)
    stream = stream_episodes(jobs(stub, 1), source=source, policy=stub.Policy(), sink=MemorySink())
    with pytest.raises(BackendMissing):
        async for _ in stream:
            pass


@pytest.mark.parametrize("kind", ["list", "generator"])
async def test_a_slow_reader_holds_further_episodes_back(stub: SimpleNamespace, kind: str) -> None:
    begun = 0

    def counted() -> Iterator[Job]:
        nonlocal begun
        for job in jobs(stub, 40):
            begun += 1
            yield job

    async def as_made() -> AsyncIterator[Job]:
        for job in counted():
            yield job

    made = counted() if kind == "list" else as_made()
    stream = stream_episodes(
        made, source=stub.Source(), policy=stub.Policy(), sink=MemorySink(), concurrency=3
    )
    read = 0
    async for _ in stream:
        read += 1
        for _ in range(200):
            await asyncio.sleep(0)
        # under way, ended and unread, and the next one in a worker's hands
        assert begun <= read + 3 + 3 + 1
    assert (read, begun) == (40, 40)


async def test_leaving_a_stream_of_jobs_that_waits_ends_it(stub: SimpleNamespace) -> None:
    ended: list[str] = []

    async def never() -> AsyncIterator[Job]:
        yield jobs(stub, 1)[0]
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("yes")

    sink = MemorySink()
    stream = stream_episodes(never(), source=stub.Source(), policy=stub.Policy(), sink=sink, settings=QUICK)
    async for _ in stream:
        break
    await stream.aclose()
    await asyncio.sleep(0.01)
    assert ended == ["yes"]
