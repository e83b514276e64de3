"""What the simulated environments do, and that every way goes through all episodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deskhand_trainer.bench.streaming import (
    BOUNDS,
    LOCK_STEP,
    STREAMING,
    WAYS,
    Load,
    bench_streaming,
    measured,
    task_of,
)

SMALL = Load(
    environments=4, batch=6, updates=2, latency_ms=3.0, sigma=0.5, mean_turns=3.0, most_turns=6,
    hangs=0.0, crashes=0.0, reply_ms=1.0, update_ms=10.0, deadline_s=0.2,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_finishes_as_many_episodes(way: str) -> None:
    seen = await measured(way, replace(SMALL, deadline_s=30.0))
    assert seen.episodes == 12
    assert len(seen.steps_ms) == seen.turns >= 12
    assert 0 < seen.busy_s <= SMALL.environments * seen.seconds + 0.05


async def test_what_hangs_and_what_dies_is_left_out_and_holds_nobody_up() -> None:
    for share in ({"hangs": 0.5}, {"crashes": 0.5}):
        seen = await measured(STREAMING, replace(SMALL, updates=4, **share))
        assert 4 < seen.episodes < 20
        seen = await measured(LOCK_STEP, replace(SMALL, updates=4, **share))
        assert 4 < seen.episodes < 20


def test_episodes_are_of_the_length_that_is_asked_for() -> None:
    turns = [task_of(Load(), number).limits.turns for number in range(2000)]
    assert 1 <= min(turns) < max(turns) == Load().most_turns
    assert sum(turns) / len(turns) == pytest.approx(Load().mean_turns, rel=0.15)


@pytest.mark.parametrize("way", BOUNDS)
async def test_what_is_too_old_to_be_learned_from_is_no_throughput(way: str) -> None:
    """With updates so small that what was begun ahead is of many updates before."""
    slow = replace(SMALL, environments=32, batch=4, updates=12, most_turns=2, update_ms=40.0, deadline_s=30.0)
    seen = await measured(way, slow)
    assert seen.episodes == 48 == len(seen.staleness)
    assert max(seen.staleness) <= BOUNDS[way] and seen.beyond > 0


def test_the_figures_say_what_they_are_of() -> None:
    figures = {f.name: f for f in bench_streaming(SMALL, repeats=1, command="c", say=lambda _: None)}
    assert {"env_use_vs_ideal", "async_vs_sync", "async_vs_independent_sync", "simulated_staleness"} <= set(
        figures
    )
    for name in ("async_vs_sync", "async_vs_independent_sync"):
        assert figures[name].goal == ">= 3"
    for way in ("lock_step", "synchronous", "asynchronous", "streaming"):
        assert figures[f"simulated_{way}_p99_ms"].value > 0
    for way in ("lock_step", "synchronous", "asynchronous"):
        assert 0 < figures[f"simulated_{way}_env_use"].value <= 1 + 1e-3
    # who waits for every update learns from nothing that is old
    assert {name for name in figures if name.endswith("staleness")} == {
        "simulated_staleness",
        "simulated_asynchronous_staleness",
    }
    for name, bound in (("simulated_beyond_bound", 8), ("simulated_asynchronous_beyond_bound", 2)):
        assert 0 <= figures[name].value < 1 and f"more than {bound} updates" in figures[name].note
    assert figures["env_use_vs_ideal"].config["environments"] == 4
