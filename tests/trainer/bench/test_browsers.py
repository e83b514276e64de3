"""That every way of training does its work, and what of it is measured; on a small page of our own."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from deskhand_agent.models.bundle import ModelBundle
from deskhand_trainer.bench.browsers import (
    PageLoad,
    Played,
    _figures,  # pyright: ignore[reportPrivateUsage]
    measured,
)
from deskhand_trainer.bench.processor import processor_s
from deskhand_trainer.bench.streaming import ASYNCHRONOUS, STREAMING, SYNCHRONOUS
from deskhand_trainer.learner import Learner

LOAD = PageLoad(environments=4, batch=8, turns=30, tasks=("fake/spot",))


@pytest.mark.parametrize("way", [SYNCHRONOUS, ASYNCHRONOUS, STREAMING])
async def test_every_way_learns_from_as_many_turns(
    way: str, spot: Any, tiny: ModelBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a model that knows nothing fails, and failures alone teach nothing
    monkeypatch.setattr(Learner, "_teach", lambda *_: True)
    seen = await measured(way, LOAD, tiny, spot)
    assert LOAD.turns <= seen.turns < LOAD.turns + 2 * LOAD.batch  # of two turns at most
    assert seen.turns <= 2 * seen.episodes
    assert seen.dropped == 0
    assert len(seen.steps_s) >= seen.turns
    assert 0 < seen.busy_s <= LOAD.environments * seen.seconds
    assert seen.processor_s > 0
    assert 0 < seen.learning_s <= seen.seconds
    ages = set(seen.staleness)
    assert ages == {0.0} if way == SYNCHRONOUS else max(ages) > 0


def test_ways_differ_in_whom_they_wait_for_and_the_policy_stays_what_it_is() -> None:
    told = {way: LOAD.config(way) for way in (SYNCHRONOUS, ASYNCHRONOUS, STREAMING)}
    assert [each.rollouts for each in told.values()] == ["batch", "stream", "stream"]
    assert [each.minimum_turns for each in told.values()] == [0, 0, LOAD.batch]
    for config in told.values():
        assert config.lr == config.critic_lr == config.weight_decay == 0.0


def test_the_figures_say_of_every_way_how_it_did_and_what_was_asked() -> None:
    """Of 100 s: 4 environments with an episode under way for 360 s in all, 40 s of learning."""
    played = Played(
        episodes=10, turns=50, began_s=100.0, ended_s=200.0, processor_s=20.0, busy_s=360.0, learning_s=40.0,
        steps_s=[1.0] * 60, staleness=[0.5, 1.5],
    )  # fmt: skip
    runs = {way: [played] for way in (SYNCHRONOUS, ASYNCHRONOUS, STREAMING)}
    figures = {f.name: f for f in _figures(runs, LOAD, 1, "c")}
    assert figures["browser_async_vs_sync"].goal == ">= 3"
    assert figures["browser_async_vs_sync"].met is False
    assert figures["browser_whole_batches_vs_sync"].goal is None
    assert figures["browser_learner_use"].value == pytest.approx(0.4)
    for called in ("browser", "browser_synchronous", "browser_asynchronous"):
        assert figures[f"{called}_env_use"].value == pytest.approx(0.9)
        assert figures[f"{called}_p99_step_s"].value == pytest.approx(1.0)
        assert figures[f"{called}_staleness"].value == pytest.approx(1.0)
    assert figures["browser_env_use"].goal == ">= 0.95"


def test_the_processor_time_of_what_was_started_counts_after_its_end_too() -> None:
    before = processor_s()
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", busy], check=True)
    assert processor_s() - before >= 0.25
