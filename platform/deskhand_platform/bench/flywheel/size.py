"""Bytes the store takes for real episodes, beside the screenshots they saw."""

from __future__ import annotations

import tempfile
from pathlib import Path

from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.worker import Job, run_episodes
from deskhand_flywheel.store import Store
from deskhand_platform.bench.flywheel.durable import COMMAND
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Image, Split
from deskhand_trainer.results import Figure

TASKS = (
    "miniwob/click-checkboxes",
    "miniwob/enter-text",
    "miniwob/login-user",
    "generated/fill-3-large",
    "games/sokoban-1",
    "store/buy",
)


async def bench_size(*, episodes: int, tabs: int = 4) -> list[Figure]:
    """Measure.

    Args:
        episodes: of each task, worked by its oracle.

    Raises:
        SandboxError: there is no Chromium, or it failed.
    """
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as name:
        folder = Path(name)
        url = f"sqlite+aiosqlite:///{folder}/store.db"
        async with await Store.open(url, f"file://{folder}/blobs") as store:
            chosen = [(task, seed) for task in TASKS for seed in seeds(task, Split.TRAIN, episodes)]
            jobs = [Job(task=make_task(task, seed)) for task, seed in chosen]
            pools = {"browser": PoolSettings(max_sandboxes=tabs)}
            async with SandboxManager(pools, state_folder=folder / "host") as source:
                stats = await run_episodes(
                    jobs, source=source, policy=ScriptedPolicy(), sink=store, concurrency=tabs
                )
            seen = [
                image
                async for trajectory in store.each_trajectory(await store.trajectory_ids(), images=True)
                for image in [
                    *(step.observation.screenshot for step in trajectory.steps),
                    *(
                        [trajectory.end.final_observation.screenshot]
                        if trajectory.end and trajectory.end.final_observation
                        else []
                    ),
                ]
            ]
        # closed: what was in the write-ahead log is in the database
        blobs = sum(file.stat().st_size for file in (folder / "blobs").rglob("*") if file.is_file())
        rows = (folder / "store.db").stat().st_size
    encoded = sum(len(image.data or b"") for image in seen)
    pixels = sum(_pixels(image) for image in seen)
    different = len({image.digest for image in seen})
    return [
        Figure(
            name="bytes_stored_vs_raw",
            value=round((blobs + rows) / encoded, 3),
            unit="ratio",
            note=f"blobs ({blobs >> 10} KiB) and rows with their indexes ({rows >> 10} KiB), over the "
            f"screenshots as the sandbox gave them ({encoded >> 10} KiB; {pixels >> 10} KiB of pixels); "
            f"{stats.episodes} episodes of oracles, {len(seen)} screens of which {different} differ",
            command=COMMAND,
            config={"tasks": list(TASKS), "episodes": episodes},
            seeds="train",
        )
    ]


def _pixels(image: Image) -> int:
    return 3 * image.width_px * image.height_px
