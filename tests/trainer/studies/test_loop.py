from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.studies.loop import TASKS, ArmSpec, arm_config, arms, pooled_gain, study_figures

SEEDS = (0, 1, 2)


def leave(folder: Path, metrics: dict[str, Any], config: dict[str, Any] | None = None) -> None:
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(json.dumps({"policy_out": "p", "metrics": metrics, "seconds": 1}))
    (folder / "spec.json").write_text(json.dumps({"config": config or {}}))


def success(sampled: float, greedy: float, episodes: int = 256) -> dict[str, Any]:
    return {
        f"{name}_{mode}{end}": value
        for mode, rate in (("sampled", sampled), ("greedy", greedy))
        for name, end, value in (
            ("success", "", rate), ("success", "_low", rate - 0.05), ("success", "_high", rate + 0.05),
            ("episodes", "", episodes),
        )
    }  # fmt: skip


def arm_done(folder: Path, spec: ArmSpec, sampled: float, greedy: float, **training: Any) -> None:
    leave(folder / spec.name / "train", {"minutes": 9.0 + spec.seed, **training}, {"lr": 0.1})
    leave(folder / spec.name / "evaluate", success(sampled, greedy))


def test_newcombe_interval_equals_the_published_example() -> None:
    """56/70 against 48/80: difference .2, .0524 to .3339 (Newcombe 1998, table II, a, method 10)."""
    before = {"success_sampled": 48 / 80, "episodes_sampled": 80}
    after = [{"success_sampled": 56 / 70, "episodes_sampled": 70}]
    assert pooled_gain(before, after) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_arms_share_everything_but_the_algorithm() -> None:
    study = arms()
    assert len(study) == 3 * 3 * 4 + 3
    assert len({a.name for a in study}) == len(study)
    of_one = [asdict(arm_config(a)) for a in study if a.task is TASKS[0] and a.seed == 1]
    for config in of_one:
        config.pop("algorithm"), config.pop("shuffled_rewards")
    assert all(c == of_one[0] for c in of_one)
    assert len({arm_config(a).seed_offset for a in study}) == 3
    sent = json.loads(json.dumps(asdict(arm_config(study[0]))))
    assert parse_config(PpoConfig, sent) == arm_config(study[0])


def test_figures_appear_when_every_seed_is_done_and_report_the_worst(tmp_path: Path) -> None:
    task = TASKS[0]
    leave(tmp_path / "collapsible-start" / "evaluate", success(0.3, 0.5))
    for seed, sampled in ((0, 0.95), (1, 0.85)):
        arm_done(tmp_path, ArmSpec(task=task, arm="ppo", seed=seed), sampled, 0.97)
    assert study_figures(tmp_path, [task], SEEDS, minutes=15) == []
    arm_done(tmp_path, ArmSpec(task=task, arm="ppo", seed=2), 0.92, 0.99)
    figures = {f.name: f for f in study_figures(tmp_path, [task], SEEDS, minutes=15)}
    assert figures["ppo_collapsible_before_sampled_max"].met is True
    worst = figures["ppo_collapsible_after_sampled_min"]
    assert (worst.value, worst.met) == (0.85, False)  # a goal missed is shown as missed
    assert figures["ppo_collapsible_after_greedy_min"].value == 0.97
    assert figures["ppo_minutes_max"].value == 11.0
    assert worst.config == {"lr": 0.1}


def test_sabotage_figures(tmp_path: Path) -> None:
    leave(tmp_path / "collapsible-start-control" / "evaluate", success(0.3, 0.3, 1024))
    for seed, sampled in enumerate((0.31, 0.28, 0.37)):
        spec = ArmSpec(task=TASKS[0], arm="shuffled", seed=seed)
        arm_done(tmp_path, spec, sampled, 0.3, value_explained_variance=0.01 * seed)
    figures = {f.name: f for f in study_figures(tmp_path, TASKS[:1], SEEDS, minutes=15)}
    assert figures["sabotage_gain_max"].value == pytest.approx(0.07)
    assert figures["sabotage_gain_max"].met is False
    assert figures["sabotage_explained_variance_max"].met is True
