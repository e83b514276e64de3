"""The store as several processes use it: what was acknowledged survives `kill -9`, writers do not collide."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from flywheel_episodes import Urls

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import TrajectoryFilter
from deskhand_flywheel.upkeep import fsck

_WRITE = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from flywheel_episodes import make_end, make_start, make_step, picture
from deskhand_flywheel.store import Store

async def episode(store, name, steps):
    await store.begin(make_start(name, labels={"run": sys.argv[4]}))
    for index in range(steps):
        await store.step(name, make_step(index, image=picture(hash((name, index)))))
        # one system call a line: what the parent reads was acknowledged
        os.write(1, f"{name} {index}\\n".encode())
    await store.end(name, make_end())
    os.write(1, f"{name} end\\n".encode())

async def main():
    async with await Store.open(sys.argv[2], sys.argv[3]) as store:
        steps = int(sys.argv[5])
        await asyncio.gather(*(episode(store, f"{sys.argv[4]}-{n}", steps) for n in range(8)))

asyncio.run(main())
"""


def _writer(urls: Urls, run: str, steps: int) -> subprocess.Popen[str]:
    arguments = [str(Path(__file__).parent), urls.database, urls.blobs, run, str(steps)]
    return subprocess.Popen([sys.executable, "-c", _WRITE, *arguments], stdout=subprocess.PIPE, text=True)


async def _has(store: Store, acknowledged: list[str]) -> None:
    """Everything acknowledged is there, with its picture, and no step without the ones before it."""
    last: dict[str, int] = {}
    for line in acknowledged:
        name, index = line.split()
        last[name] = max(last.get(name, -1), -1 if index == "end" else int(index))
    async for trajectory in store.each_trajectory(sorted(last), images=True):
        indices = [step.index for step in trajectory.steps]
        assert indices == list(range(len(indices)))
        assert len(indices) > last[trajectory.id]
        assert all(step.observation.screenshot.data for step in trajectory.steps)
        if f"{trajectory.id} end" in acknowledged:
            assert trajectory.end is not None


@pytest.mark.parametrize("lives", [5, pytest.param(50, marks=pytest.mark.slow)])
async def test_acknowledged_steps_survive_kill_9(urls: Urls, lives: int) -> None:
    places = random.Random(20261121)
    acknowledged: list[str] = []
    for life in range(lives):
        writer = _writer(urls, f"life{life}", 10_000)
        assert writer.stdout is not None
        for _ in range(places.randint(1, 250)):
            acknowledged.append(writer.stdout.readline())
        # somewhere between two acknowledgements
        await asyncio.sleep(places.random() * 0.02)
        writer.kill()
        # lines already in the pipe were acknowledged too; the last may be cut
        acknowledged += writer.stdout.read().splitlines(keepends=True)
        writer.stdout.close()
        writer.wait()
    acknowledged = [line for line in acknowledged if line.endswith("\n")]
    assert len(acknowledged) >= lives
    async with await Store.open(urls.database, urls.blobs) as store:
        await _has(store, acknowledged)
        assert await store.count_trajectories() >= lives
        report = await fsck(store, repair=True, settle_s=0.0)
        # pictures whose step was in flight, episodes without an end: nothing that was recorded
        assert report.ok, report.counts
        assert await store.trajectory_ids(TrajectoryFilter(ended=False)) == ()
    connection = sqlite3.connect(urls.folder / "deskhand.db")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.parametrize("urls", ["sqlite", "postgresql"], indirect=True)
async def test_two_processes_write_one_store_at_once(urls: Urls) -> None:
    writers = [_writer(urls, run, 40) for run in ("one", "two")]
    said = await asyncio.gather(*(asyncio.to_thread(writer.communicate) for writer in writers))
    assert [writer.returncode for writer in writers] == [0, 0]
    async with await Store.open(urls.database, urls.blobs) as store:
        for run, (output, _) in zip(("one", "two"), said, strict=True):
            assert len(output.splitlines()) == 8 * 41
            await _has(store, output.splitlines(keepends=True))
            ids = await store.trajectory_ids(TrajectoryFilter(labels={"run": run}, ended=True))
            assert len(ids) == 8
