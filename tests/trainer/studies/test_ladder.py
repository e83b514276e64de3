"""The ladder of methods: what its arms share, and what it makes of runs that are done."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.presets import method
from deskhand_trainer.results import read_figures
from deskhand_trainer.studies.ladder import (
    ARMS,
    RUNGS,
    SEED_SPACING,
    arm_config,
    arms_of,
    evaluation,
    main,
    start_config,
)
from deskhand_trainer.studies.ladder_curves import read_curves
from deskhand_trainer.studies.ladder_figures import COMPARISONS, CONTROL
from deskhand_trainer.studies.runs import StudyRuns, run_id

SEEDS = (0, 1, 2)
RATES = {
    "turn-ppo": (0.8, 0.7, 0.9), "ppo": (0.6, 0.6, 0.6), "grpo": (0.1, 0.0, 0.2), "rebn": (0.5, 0.5, 0.5),
    "st-ppo": (0.8, 0.7, 0.9), "unpretrained": (0.7, 0.7, 0.7), "bilevel": (0.6, 0.5, 0.7),
}  # fmt: skip


def leave(folder: Path, metrics: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"policy_out": "p", "metrics": metrics, "seconds": 1}))
    labels = {"commit": "abc", "date": "2026-01-02"}
    (folder / "spec.json").write_text(json.dumps({"config": {"lr": 0.1}, "labels": labels}))


def arm_done(study: Path, arm: str, seed: int, after: float, measure: str = "evaluate") -> None:
    leave(study / f"sokoban/start-{seed}" / measure, {"success_sampled": 0.3})
    leave(study / f"sokoban/{arm}-{seed}/train", {"minutes": 5.0 + seed, "turns": 20_000})
    leave(study / f"sokoban/{arm}-{seed}" / measure, {"success_sampled": after, "success_greedy": after})


def figures(study: Path, tmp_path: Path) -> dict[str, Any]:
    results = tmp_path / "results/ladder.json"
    assert main([str(study), "--report", "--results", str(results)]) == 0
    return {figure.name: figure for figure in read_figures(results)} if results.exists() else {}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A folder with a store in it."""
    folder = tmp_path / "study"
    folder.mkdir()
    return folder


def test_arms_differ_by_their_presets_alone() -> None:
    for rung in RUNGS:
        shared: list[dict[str, Any]] = []
        for spec in arms_of([rung], ARMS, [1]):
            config = asdict(arm_config(spec))
            assert parse_config(PpoConfig, json.loads(json.dumps(config))) == arm_config(spec)
            name = "turn-ppo" if spec.arm in ("unpretrained", CONTROL) else spec.arm
            told = {*method(name).ppo, "value_pretraining", "shuffled_rewards", "normalisation"}
            every = {field for arm in ARMS[:5] for field in method(arm).ppo} | {*method("bilevel").ppo}
            shared.append({key: value for key, value in config.items() if key not in told | every})
            assert config["environment_steps"] == rung.turns and config["minutes"] == 0
            assert evaluation(spec, control=False).split == "test"
        assert all(each == shared[0] for each in shared)
        assert rung.task not in HELD_OUT_TASKS
        assert start_config(rung, 0).demonstrations_per_task < SEED_SPACING


def test_what_a_variant_changes_is_one_thing() -> None:
    of = {spec.arm: asdict(arm_config(spec)) for spec in arms_of(RUNGS[:1], ARMS, [0])}
    turn = of["turn-ppo"]
    assert {key for key in turn if turn[key] != of["unpretrained"][key]} == {"value_pretraining"}
    assert {key for key in turn if turn[key] != of[CONTROL][key]} == {"shuffled_rewards"}
    assert of["grpo"]["group_size"] == 8 and of["st-ppo"]["scale_by_clipping_bias"]


def test_controls_stand_on_one_rung_and_a_seed_comes_whole() -> None:
    specs = arms_of(RUNGS, ARMS, SEEDS)
    assert [s.rung.name for s in specs if s.arm == CONTROL] == ["sokoban"] * 3
    assert {s.arm for s in specs[: len(ARMS)]} == set(ARMS) and {s.seed for s in specs[: len(ARMS)]} == {0}
    assert len({s.name for s in specs}) == len(specs)


def test_every_comparison_is_of_arms() -> None:
    assert {arm for pair in COMPARISONS.values() for arm in pair} <= set(ARMS)


def test_differences_are_paired_by_seed(study: Path, tmp_path: Path) -> None:
    assert figures(study, tmp_path) == {}
    for arm, rates in RATES.items():
        for seed, after in enumerate(rates):
            arm_done(study, arm, seed, after)
    found = figures(study, tmp_path)
    turn = found["sokoban_turn_minus_token"]
    assert turn.value == pytest.approx(0.2)
    # differences .2 .1 .3: deviation .1, t(.975, 2) = 4.3027
    assert (turn.low, turn.high) == pytest.approx((0.2 - 0.24841, 0.2 + 0.24841), abs=1e-4)
    assert found["sokoban_st_minus_turn"].value == 0 == found["sokoban_st_minus_turn"].low
    assert found["sokoban_token_minus_grpo"].value == pytest.approx(0.5)
    assert found["sokoban_value_pretraining_gain"].value == pytest.approx(0.1)
    assert found["sokoban_grpo_after_min"].value == 0  # an arm that failed is reported
    assert found["sokoban_turn_ppo_minutes"].value == 7
    assert found["arms_reported"].value == 7 and found["seeds"].met
    assert (turn.commit, turn.date, turn.config) == ("abc", "2026-01-02", {"lr": 0.1})
    assert "controls_passed" not in found


def test_an_arm_with_one_seed_says_nothing_yet(study: Path, tmp_path: Path) -> None:
    for arm in ("turn-ppo", "ppo"):
        arm_done(study, arm, 0, 0.5)
    arm_done(study, "ppo", 1, 0.6)
    found = figures(study, tmp_path)
    assert "sokoban_turn_minus_token" not in found and "sokoban_turn_ppo_after" not in found
    assert found["sokoban_ppo_after"].seeds == [0, 1] and found["arms_reported"].value == 0


@pytest.mark.parametrize(
    ("after", "explained", "passed"), [(0.33, -0.04, 1), (0.36, 0.0, 0), (0.3, -0.06, 0)]
)
def test_controls_pass_where_nothing_was_learned(
    study: Path, tmp_path: Path, after: float, explained: float, passed: int
) -> None:
    for seed in SEEDS:
        arm_done(study, CONTROL, seed, after if seed == 1 else 0.28, measure="control")
        assert "controls_passed" not in figures(study, tmp_path)
        leave(study / f"sokoban/start-{seed}/critic", {"real": 0.4, "shuffled": explained if seed else 0.0})
    found = figures(study, tmp_path)
    assert found["controls_passed"].value == passed
    assert found["critic_explained_variance_min"].value == 0.4


def test_curves_are_drawn_from_what_the_runs_reported(study: Path, tmp_path: Path) -> None:
    async def report() -> None:
        async with await Store.open(*StudyRuns(study).store) as store:
            for arm, seed, step, turns, rate in (
                ("ppo", 0, 0, 0, 0.3), ("ppo", 0, 8, 900, 0.2), ("ppo", 0, 8, 1000, 0.5),
                ("ppo", 1, 0, 0, 0.4), ("ppo", 1, 8, 1100, 0.6), ("grpo", 0, 0, 0, 0.3),
            ):  # fmt: skip
                subject = f"run:{run_id(f'sokoban/{arm}-{seed}/train')}"
                data = {"step": step, "turns": turns, "success_sampled": rate}
                event = Event(
                    id=0,
                    at_s=time.time(),
                    subject=subject,
                    kind=EventKind.METRIC,
                    name="ppo/validation",
                    data=data,
                )
                await store.append_event(event)

    asyncio.run(report())
    # what a killed run measured twice counts as measured last
    name = "sokoban/ppo-0/train"
    assert read_curves(StudyRuns(study).store, [name]) == {name: ((0, 0.3), (1000, 0.5))}
    assert figures(study, tmp_path) == {}
    with Picture.open(tmp_path / "results/ladder-sokoban.png") as picture:
        assert picture.size == (770, 440) and len(picture.convert("RGB").getcolors(1 << 20) or []) > 20
