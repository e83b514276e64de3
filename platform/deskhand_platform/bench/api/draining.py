"""A hundred thousand tasks taken and drained, and two hundred streams that are told of it.

Drained means claimed, begun and settled through the queue by processes of their own, as workers do it,
without an episode in between: `python -m deskhand_platform.bench.api.draining HOME`. One of them is killed
with -9 in the middle and another takes its place.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

from deskhand_flywheel.database import Database
from deskhand_platform.bench.api.servers import Served, serving
from deskhand_platform.bench.api.submitting import COMMAND
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_platform.client import AsyncDeskhand
from deskhand_platform.queue import TaskQueue
from deskhand_platform.settings import load_settings
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import Outcome
from deskhand_trainer.results import Figure

DRAINERS = 3
HOLD_S = 5.0
IDLE_S = 2 * HOLD_S
"""A drainer that found nothing for so long is done: a claim of who died has run out before."""
BATCH = 2_000
FOLLOWED = "followed"


async def bench_draining(*, tasks: int, streams: int, told: int, say: Callable[[str], None]) -> list[Figure]:
    """Measure.

    Args:
        tasks: that are queued before the first is drained.
        streams: that follow at once.
        told: tasks that the streams are about.
    """
    with (
        tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder,
        serving("ours", Path(folder)) as ours,
    ):
        followed = await _follow(ours, Path(folder), streams, told)
        return [*followed, await _drain(ours, Path(folder), tasks, say)]


async def _drain(served: Served, home: Path, tasks: int, say: Callable[[str], None]) -> Figure:
    async with AsyncDeskhand(served.url, served.token, timeout_s=120) as client:
        begin = time.perf_counter()
        ids = await client.submit_batch(
            [{"task_id": "fake/press-button", "seed": seed} for seed in range(tasks)]
        )
        took_s = time.perf_counter() - begin
        say(f"{tasks} tasks accepted in {took_s:.0f} s")
        began_s = time.time()
        drainers = [_drainer(home) for _ in range(DRAINERS)]
        await _settled(home, tasks // 2)
        drainers[0].kill()
        drainers.append(_drainer(home))
        await asyncio.gather(*(asyncio.to_thread(each.wait) for each in drainers))
        done, last_s = Counter[str](), began_s
        async for event in client.task_events(follow=False):
            done[event.id] += event.state is WorkState.DONE
            last_s = event.at_s
        drained_s = last_s - began_s
        say(f"drained in {drained_s:.0f} s")
    lost = sum(done[id] != 1 for id in ids)
    return Figure(
        name="drained_lost",
        value=lost,
        unit="tasks",
        goal="<= 0",
        note=f"of {tasks} tasks accepted ({tasks / took_s:.0f} a second, {BATCH} in a request) and then "
        f"claimed, begun and settled by {DRAINERS} processes ({tasks / drained_s:.0f} a second), one of them "
        "killed with -9 halfway: those that did not come to be done exactly once",
        command=COMMAND,
        config={"tasks": tasks, "drainers": DRAINERS},
    )


async def _settled(home: Path, count: int) -> None:
    """Wait until so many tasks wait no more."""
    database = await Database.open(load_settings(home=home).db_url)
    try:
        queue = TaskQueue(database)
        while (await queue.count(WorkState.DONE)) < count:  # noqa: ASYNC110  # other processes do it
            await asyncio.sleep(0.2)
    finally:
        await database.close()


def _drainer(home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "deskhand_platform.bench.api.draining", str(home)])


async def drain(home: Path, *, hold_s: float, idle_s: float) -> None:
    """Claim, begin and settle until nothing has been there for a while."""
    database = await Database.open(load_settings(home=home).db_url)
    queue, found_s = TaskQueue(database), time.monotonic()
    worker = f"drainer-{time.monotonic_ns()}"
    try:
        while time.monotonic() - found_s < idle_s:
            claimed = await queue.claim(worker, hold_s)
            if claimed is None:
                await asyncio.sleep(0.2)
                continue
            found_s = time.monotonic()
            await queue.begun(claimed, worker, f"trajectory-{claimed.id}")
            outcome = Outcome(score=1.0, success=True, detail="")
            await queue.settle(claimed, worker, WorkState.DONE, outcome=outcome, reason=None)
    finally:
        await database.close()


async def _follow(served: Served, home: Path, streams: int, told: int) -> list[Figure]:
    headers = {"Authorization": f"Bearer {served.token}"}
    limits = httpx.Limits(max_connections=None)
    opened = asyncio.Semaphore(0)
    waits_ms: list[float] = []

    async def follow(http: httpx.AsyncClient) -> list[int]:
        seen: list[int] = []
        done = 0
        async with http.stream("GET", "/v1/tasks/events", params={"label": f"bench={FOLLOWED}"}) as response:
            opened.release()
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    seen.append(event["event_id"])
                    waits_ms.append((time.time() - event["at_s"]) * 1e3)
                    done += event["state"] == WorkState.DONE
                if done == told:
                    break
        return seen

    async with (
        AsyncDeskhand(served.url, served.token) as client,
        httpx.AsyncClient(
            base_url=served.url, headers=headers, limits=limits, timeout=600, trust_env=False
        ) as http,
    ):
        following = [asyncio.create_task(follow(http)) for _ in range(streams)]
        for _ in following:
            await opened.acquire()
        body = {"task_id": "fake/press-button", "labels": {"bench": FOLLOWED}}
        await client.submit_batch([body] * told)
        draining = asyncio.create_task(drain(home, hold_s=HOLD_S, idle_s=2.0))
        seen = await asyncio.gather(*following)
        await draining
        whole = [event.event_id async for event in client.task_events(follow=False)]
    lost = sum(len(set(whole) ^ set(each)) + len(each) - len(set(each)) for each in seen)
    config = {"streams": streams, "tasks": told}
    return [
        Figure(
            name="sse_lost",
            value=lost,
            unit="events",
            goal="<= 0",
            note=f"of {len(whole)} changes of {told} tasks, missed or told twice by {streams} streams",
            command=COMMAND,
            config=config,
        ),
        Figure(
            name="sse_ms",
            value=round(quantile(waits_ms, 0.5), 1),
            unit="ms",
            high=round(quantile(waits_ms, 0.99), 1),
            note=f"from a change until each of {streams} streams had been told; high: 99th percentile",
            command=COMMAND,
            config=config,
        ),
    ]


if __name__ == "__main__":
    asyncio.run(drain(Path(sys.argv[1]), hold_s=HOLD_S, idle_s=IDLE_S))
