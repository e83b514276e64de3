"""Durable steps per second: the store beside bare SQLite inserts and bare file writes of the same bytes.

Both sides keep what survives the death of the process: SQLite in WAL mode with `synchronous=NORMAL`, a commit
before a step is acknowledged, its picture in place before its row. The bare side is one loop over prepared
text and bytes: no records, no digests, no index of words, no second reader.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from itertools import islice
from pathlib import Path

from deskhand_agent.types import Step, TrajectoryStart
from deskhand_flywheel.records import dumps
from deskhand_flywheel.store import Store
from deskhand_platform.bench.flywheel.episodes import screens, start_of, step_of
from deskhand_trainer.results import Figure

COMMAND = "deskhand bench flywheel"
Episodes = list[tuple[TrajectoryStart, list[Step]]]


def bench_durable(*, steps: int, repeats: int) -> list[Figure]:
    """Measure, with sixteen episodes at once and with one alone."""
    return [
        *_ratio("store_vs_sqlite", 16, steps, repeats, goal=">= 0.5", said="sixteen episodes at once"),
        *_ratio("store_vs_sqlite_alone", 1, max(1, steps // 4), repeats, said="one episode by itself"),
    ]


def _ratio(
    name: str, at_once: int, steps: int, repeats: int, *, said: str, goal: str | None = None
) -> list[Figure]:
    _pair(at_once, min(steps, 64), seed=0)
    pairs = [_pair(at_once, steps, seed=1 + number) for number in range(repeats)]
    ratios = [ours / bare for ours, bare in pairs]
    ours, bare = (statistics.median(each) for each in zip(*pairs, strict=True))
    config = {"steps": steps, "at_once": at_once, "repeats": repeats}
    picture = next(screens(1)).data or b""
    return [
        Figure(
            name=name,
            value=round(statistics.median(ratios), 3),
            unit="ratio",
            low=round(min(ratios), 3),
            high=round(max(ratios), 3),
            goal=goal,
            note=f"durable steps per second, {said}: the store {ours:.0f}, bare SQLite and files {bare:.0f}; "
            f"pictures of {len(picture) // 1024} KiB; median of {repeats} pairs; low, high: least, most",
            command=COMMAND,
            config=config,
            seeds=list(range(1, 1 + repeats)),
        )
    ]


def _pair(at_once: int, steps: int, *, seed: int) -> tuple[float, float]:
    """Steps per second of the store and of the bare side, in turns which comes first."""
    episodes = _made_up(at_once, steps, seed)
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        if seed % 2:
            ours = asyncio.run(_with_store(Path(folder), episodes))
            return ours, _bare(Path(folder), episodes)
        bare = _bare(Path(folder), episodes)
        return asyncio.run(_with_store(Path(folder), episodes)), bare


def _made_up(at_once: int, steps: int, seed: int) -> Episodes:
    draw, shown = random.Random(seed), screens(seed)
    return [
        (
            start_of(f"{seed:08}{number:08}", draw, seed=number),
            [step_of(index, image, draw) for index, image in enumerate(islice(shown, steps // at_once))],
        )
        for number in range(at_once)
    ]


async def _with_store(folder: Path, episodes: Episodes) -> float:
    async def write(store: Store, trajectory_id: str, steps: list[Step]) -> None:
        for step in steps:
            await store.step(trajectory_id, step)

    url = f"sqlite+aiosqlite:///{folder}/store.db"
    async with await Store.open(url, f"file://{folder}/blobs") as store:
        for start, _ in episodes:
            await store.begin(start)
        began = time.perf_counter()
        await asyncio.gather(*(write(store, start.id, steps) for start, steps in episodes))
        return sum(len(steps) for _, steps in episodes) / (time.perf_counter() - began)


def _bare(folder: Path, episodes: Episodes) -> float:
    rows = [
        (start.id, step.index, dumps(step), step.observation.screenshot)
        for start, steps in episodes
        for step in steps
    ]
    pictures = folder / "pictures"
    pictures.mkdir()
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("CREATE TABLE steps (id TEXT, at INTEGER, step TEXT, PRIMARY KEY (id, at))")
        began = time.perf_counter()
        for trajectory_id, index, text, image in rows:
            (pictures / image.digest).write_bytes(image.data or b"")
            database.execute("INSERT INTO steps VALUES (?, ?, ?)", (trajectory_id, index, text))
        return len(rows) / (time.perf_counter() - began)
