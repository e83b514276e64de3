"""Steps that were acknowledged and are gone after `kill -9`: there are to be none.

A process writes episodes into one store and is killed at a random step and a random moment within it, again
and again. Whatever it had acknowledged is then looked for, picture and all, and `fsck` looks at the rest.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_flywheel.upkeep import fsck
from deskhand_platform.bench.flywheel.durable import COMMAND
from deskhand_trainer.results import Figure

MOST_STEPS = 150
"""A life ends after 1 to this many acknowledged steps, and up to `MOMENT_S` later."""
MOMENT_S = 0.02


async def bench_crash(*, deaths: int, seed: int, say: Callable[[str], None]) -> list[Figure]:
    """Kill a writing process so many times, and count what is lost."""
    places = random.Random(seed)
    acknowledged: dict[str, set[str]] = defaultdict(set)
    most = 0
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as name:
        folder = Path(name)
        urls = f"sqlite+aiosqlite:///{folder}/store.db", f"file://{folder}/blobs"
        for life in range(deaths):
            after, wait_s = places.randint(1, MOST_STEPS), places.random() * MOMENT_S
            for line in await asyncio.to_thread(_live, urls, f"life{life}", after, wait_s):
                trajectory_id, what = line.split()
                acknowledged[trajectory_id].add(what)
            async with await Store.open(*urls) as store:
                report = await fsck(store, repair=True, settle_s=0.0)
                wrong = sum(not (each.mended or each.kind.harmless) for each in report.findings)
                lost = await _lost(store, acknowledged)
            most = max(most, lost + wrong)
            known = sum(map(len, acknowledged.values()))
            say(f"death {life + 1}: {known} acknowledged, {lost} lost, {wrong} damaged")
    steps = sum(len(each - {"end"}) for each in acknowledged.values())
    return [
        Figure(
            name="crash_lost_steps",
            value=most,
            unit="steps",
            goal="<= 0",
            note=f"{deaths} deaths by kill -9 of a process that wrote {steps} steps of {len(acknowledged)} "
            "episodes, eight at once; after each every acknowledged step and end was read back with its "
            "picture, and fsck found nothing lost",
            command=COMMAND,
            config={"deaths": deaths},
            seeds=[seed],
        )
    ]


def _live(urls: tuple[str, str], life: str, after: int, wait_s: float) -> list[str]:
    """What a writer acknowledged until it was killed."""
    command = [sys.executable, "-m", "deskhand_platform.bench.flywheel.writing", *urls, life]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(after)]
        time.sleep(wait_s)
        writer.kill()
        # lines already in the pipe were acknowledged too; the last may be cut
        lines += writer.stdout.read().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if not whole:
        raise RuntimeError(f"the writer ended by itself with status {writer.returncode}")
    return whole


async def _lost(store: Store, acknowledged: dict[str, set[str]]) -> int:
    """Steps and ends that were acknowledged and cannot be read, pictures included."""
    damaged: dict[str, FlywheelError] = {}
    read = store.each_trajectory(
        sorted(acknowledged), images=True, on_damaged=lambda name, why: damaged.update({name: why})
    )
    lost = 0
    async for trajectory in read:
        there = {str(step.index) for step in trajectory.steps} | ({"end"} if trajectory.end else set())
        lost += len(acknowledged[trajectory.id] - there)
    return lost + sum(len(acknowledged[name]) for name in damaged)
