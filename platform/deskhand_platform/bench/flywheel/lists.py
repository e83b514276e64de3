"""Listing, filtering and searching a hundred thousand trajectories, in SQLite and in PostgreSQL."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import text

from deskhand_agent.types import Failure
from deskhand_flywheel import tables
from deskhand_flywheel.recording import said
from deskhand_flywheel.records import dumps
from deskhand_flywheel.store import Store
from deskhand_flywheel.temporary_postgresql import postgresql_server
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_platform.bench.flywheel.durable import COMMAND
from deskhand_platform.bench.flywheel.episodes import WORDS, end_of, screens, start_of, step_of
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_sandbox.types import Split
from deskhand_trainer.results import Figure

GOAL = "<= 100"
_AT_ONCE = 2_000
_DIFFERENT = 2_000
"""Turns; the others are copies."""
FILTERS: Mapping[str, TrajectoryFilter] = {
    "everything": TrajectoryFilter(),
    "task": TrajectoryFilter(task_ids=("bench/task-7",)),
    "policy": TrajectoryFilter(policy_id="policy-3"),
    "split": TrajectoryFilter(split=Split.TRAIN),
    "label": TrajectoryFilter(labels={"run": "run-4"}),
    "success": TrajectoryFilter(outcome=OutcomeFilter.SUCCESS),
    "rare failure": TrajectoryFilter(failure=Failure.VERIFIER),
    "no such failure": TrajectoryFilter(failure=Failure.MODEL_ERROR),
    "score and task": TrajectoryFilter(min_score=0.5, task_ids=("bench/task-7",)),
    "length": TrajectoryFilter(min_steps=299),
    "no such length": TrajectoryFilter(min_steps=1000),
    "date": TrajectoryFilter(since_s=5e7, until_s=5.01e7),
    "word": TrajectoryFilter(text=WORDS[17]),
    "two words": TrajectoryFilter(text=f"{WORDS[17]} {WORDS[18]}"),
    "beginning of a word": TrajectoryFilter(text=f"{WORDS[17]}*"),
    "no such word": TrajectoryFilter(text="nowhere"),
    "word and failure": TrajectoryFilter(text=WORDS[17], outcome=OutcomeFilter.FAILURE),
}
"""What is asked for, each as often as the others; the second page of everything, too."""


async def bench_lists(
    *, trajectories: int, steps: int, repeats: int, say: Callable[[str], None]
) -> list[Figure]:
    """Measure.

    Args:
        steps: rows of each trajectory; its recorded length is made up, 1 to 300.

    Raises:
        StoreUnavailable: PostgreSQL is not installed, or does not start.
    """
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder:
        url = f"sqlite+aiosqlite:///{folder}/store.db"
        figures.append(await _one("sqlite", url, Path(folder), trajectories, steps, repeats, say))
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as folder, postgresql_server() as host:
        url = f"postgresql+psycopg://deskhand@/postgres?host={host}"
        figures.append(await _one("postgresql", url, Path(folder), trajectories, steps, repeats, say))
    slower = max(figures, key=lambda figure: figure.value)
    both = Figure(
        name="list_100k_p95_ms",
        value=slower.value,
        unit="ms",
        low=slower.low,
        high=slower.high,
        goal=GOAL,
        note=f"the slower of SQLite and PostgreSQL; {slower.note}",
        command=COMMAND,
        config=slower.config,
    )
    return [both, *figures]


async def _one(
    name: str, url: str, folder: Path, trajectories: int, steps: int, repeats: int, say: Callable[[str], None]
) -> Figure:
    async with await Store.open(url, f"file://{folder}/blobs") as store:
        began = time.perf_counter()
        await fill(store, trajectories, steps)
        say(f"{name}: {trajectories} trajectories written in {time.perf_counter() - began:.0f} s")
        samples = {what: await _asked(store, chosen, repeats) for what, chosen in FILTERS.items()}
        cursor = (await store.trajectories(limit=50)).next_cursor
        samples["second page"] = await _asked(store, TrajectoryFilter(), repeats, cursor)
    for what, each in samples.items():
        say(f"  {what:20} median {quantile(each, 0.5):6.1f} ms, 95th {quantile(each, 0.95):6.1f} ms")
    every = [sample for each in samples.values() for sample in each]
    slowest = max(samples, key=lambda what: quantile(samples[what], 0.95))
    return Figure(
        name=f"list_100k_p95_ms_{name}",
        value=round(quantile(every, 0.95), 1),
        unit="ms",
        low=round(quantile(every, 0.5), 1),
        high=round(max(every), 1),
        goal=GOAL,
        note=f"a page of 50 of {trajectories} trajectories, {len(samples)} lists, filters and searches "
        f"{repeats} times each; low: median, high: most; slowest is {slowest!r}, "
        f"95th percentile {quantile(samples[slowest], 0.95):.0f} ms",
        command=COMMAND,
        config={"trajectories": trajectories, "steps": steps, "repeats": repeats},
        seeds=[0],
    )


async def _asked(
    store: Store, chosen: TrajectoryFilter, repeats: int, cursor: str | None = None
) -> list[float]:
    """Milliseconds of each time; the first, which no cache has met, among them."""
    samples: list[float] = []
    for _ in range(repeats):
        began = time.perf_counter()
        await store.trajectories(chosen, cursor=cursor, limit=50)
        samples.append((time.perf_counter() - began) * 1e3)
    return samples


async def fill(store: Store, trajectories: int, steps: int) -> None:
    """Write so many trajectories, of so many rows each, straight into the tables."""
    draw = random.Random(0)
    image = next(screens(0))
    written = [step_of(0, image, draw) for _ in range(_DIFFERENT)]
    texts = [(dumps(step), said(step)) for step in written]
    for begin in range(0, trajectories, _AT_ONCE):
        rows: list[dict[str, Any]] = []
        labels: list[dict[str, Any]] = []
        turns: list[dict[str, Any]] = []
        for number in range(begin, min(begin + _AT_ONCE, trajectories)):
            start, end = start_of(f"{number:032x}", draw, seed=number), end_of(success=draw.random() < 0.5)
            outcome = end.outcome
            rows.append(
                {
                    "id": start.id, "task_id": start.task.id, "seed": number, "policy_id": start.policy_id,
                    "split": start.split.value, "started_at_s": start.started_at_s, "start": dumps(start),
                    "instruction": start.instruction, "ended_at_s": end.ended_at_s,
                    "stop_reason": end.stop_reason.value,
                    "failure": Failure.VERIFIER.value if draw.random() < 0.01 else None,
                    "success": outcome.success if outcome else None,
                    "score": outcome.score if outcome else None,
                    "length": draw.randint(1, 300), "end": dumps(end), "stored_at_s": end.ended_at_s,
                }
            )  # fmt: skip
            labels += [
                {"trajectory_id": start.id, "key": key, "value": value} for key, value in start.labels.items()
            ]
            for index in range(steps):
                written, thought = draw.choice(texts)
                turns.append(
                    {"trajectory_id": start.id, "step_index": index, "reward": 0.0, "step": written,
                     "said": thought}
                )  # fmt: skip
        async with store.database.write() as connection:
            await connection.execute(tables.trajectories.insert(), rows)
            await connection.execute(tables.trajectory_labels.insert(), labels)
            await connection.execute(tables.steps.insert(), turns)
    if not store.database.is_sqlite:
        # what PostgreSQL's own housekeeping does a minute after so many rows
        async with store.database.write() as connection:
            await connection.execute(text("ANALYZE"))
