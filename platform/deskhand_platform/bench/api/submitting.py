"""How fast tasks are taken: beside the least that a server can do, and how long one waits at 200 a second."""

from __future__ import annotations

import asyncio
import gc
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from deskhand_platform.bench.api.servers import Served, serving
from deskhand_platform.bench.api.wire import Connection, request
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_platform.errors import ChildFailed
from deskhand_trainer.results import Figure

COMMAND = "deskhand bench api"
CONNECTIONS = 16
RATE = 200


async def bench_submitting(*, submissions: int, pairs: int, seconds: int) -> list[Figure]:
    """Measure.

    Args:
        submissions: by each side of a pair.
        pairs: of our server and the bare one, one after the other.
        seconds: at 200 submissions a second.
    """
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        home = Path(folder)
        with serving("ours", home) as ours, serving("bare", home) as bare:
            for each in (ours, bare):
                await _rate(each, min(submissions, 200))
            rates = [(await _rate(ours, submissions), await _rate(bare, submissions)) for _ in range(pairs)]
            waits_ms = await _waits_ms(ours, seconds)
    ratios = [one / other for one, other in rates]
    mine, least = (statistics.median(each) for each in zip(*rates, strict=True))
    return [
        Figure(
            name="submit_vs_bare",
            value=round(statistics.median(ratios), 3),
            unit="ratio",
            low=round(min(ratios), 3),
            high=round(max(ratios), 3),
            goal=">= 0.6",
            note=f"submissions a second over {CONNECTIONS} connections, each durable before it is answered: "
            f"POST /v1/tasks {mine:.0f}, bare FastAPI and one SQLAlchemy insert into the same table "
            f"{least:.0f}; median of {pairs} pairs; low, high: least, most",
            command=COMMAND,
            config={"submissions": submissions, "pairs": pairs, "connections": CONNECTIONS},
        ),
        Figure(
            name="p99_ms_at_200",
            value=round(quantile(waits_ms, 0.99), 1),
            unit="ms",
            low=round(quantile(waits_ms, 0.5), 1),
            high=round(max(waits_ms), 1),
            goal="<= 50",
            note=f"of {len(waits_ms)} submissions at {RATE} a second, from when each was due; low: median, "
            "high: most",
            command=COMMAND,
            config={"seconds": seconds, "rate": RATE},
        ),
    ]


async def _rate(served: Served, submissions: int) -> float:
    """Submissions per second."""
    left = iter(range(submissions))

    async def submit_some(connection: Connection) -> None:
        for number in left:
            await _submit(connection, served, number)

    connections = [await Connection.open(served) for _ in range(CONNECTIONS)]
    began = time.perf_counter()
    await asyncio.gather(*(submit_some(each) for each in connections))
    took_s = time.perf_counter() - began
    await asyncio.gather(*(each.close() for each in connections))
    return submissions / took_s


async def _waits_ms(served: Served, seconds: int) -> list[float]:
    """Milliseconds from when each was due until it was answered: who comes while others wait waits too."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(4 * CONNECTIONS):
        free.put_nowait(await Connection.open(served))
    gc.collect()
    gc.freeze()  # or who asks would count its own collector's pauses as the server's
    began = time.perf_counter()

    async def submit_one(number: int) -> float:
        due = began + number / RATE
        await asyncio.sleep(due - time.perf_counter())
        connection = await free.get()
        await _submit(connection, served, number)
        free.put_nowait(connection)
        return (time.perf_counter() - due) * 1e3

    waits = await asyncio.gather(*(submit_one(number) for number in range(seconds * RATE)))
    gc.unfreeze()
    while not free.empty():
        await free.get_nowait().close()
    return [*waits]


async def _submit(connection: Connection, served: Served, number: int) -> None:
    body: dict[str, Any] = {"task_id": "fake/press-button", "seed": number, "labels": {"bench": "api"}}
    status, said = await connection.ask(request(served, "POST", "/v1/tasks", body))
    if status != 201:
        raise ChildFailed(f"a submission was answered {status}: {said[:200].decode(errors='replace')}")
