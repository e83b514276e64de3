from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from deskhand_trainer.config import PpoConfig, parse_config
from deskhand_trainer.results import read_figures
from deskhand_trainer.run_folder import hold
from deskhand_trainer.studies.loop import (
    TASKS,
    LoopStudy,
    arm_config,
    arms_of,
    evaluation,
    main,
    warm_start,
)
from deskhand_trainer.studies.loop_figures import pooled_gain, study_figures
from deskhand_trainer.studies.runs import RunFailed, StudyRuns

SEEDS = (0, 1, 2)
TIMES = {"time_environment": 0.5, "time_inference": 0.2, "time_training": 0.3}


def leave(folder: Path, metrics: dict[str, Any], **spec: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"policy_out": "p", "metrics": metrics, "seconds": 1}))
    (folder / "spec.json").write_text(json.dumps(spec))


def success(sampled: float, greedy: float, episodes: int = 256) -> dict[str, Any]:
    return {
        "first_clicks_right_sampled": 3,
        "first_clicks_miss_sampled": 1,
    } | {
        f"{name}_{mode}{end}": value
        for mode, rate in (("sampled", sampled), ("greedy", greedy))
        for name, end, value in (
            ("success", "", rate), ("success", "_low", rate - 0.05), ("success", "_high", rate + 0.05),
            ("episodes", "", episodes),
        )
    }  # fmt: skip


def arm_done(
    folder: Path, arm: str, seed: int, before: float, after: float, greedy: float, measure: str = "evaluate"
) -> None:
    leave(folder / f"collapsible-start-{seed}" / measure, success(before, 0.5))
    leave(
        folder / f"collapsible-{arm}-{seed}" / "train",
        {"minutes": 9.0 + seed, "episodes": 10, **TIMES},
        config={"lr": 0.1, "epochs": 3},
        labels={"commit": f"c{seed % 2}", "date": f"2026-01-0{seed + 1}", "machine": "a small one"},
    )
    leave(folder / f"collapsible-{arm}-{seed}" / measure, success(after, greedy))


def test_newcombe_interval_equals_the_published_example() -> None:
    """56/70 against 48/80: difference .2, .0524 to .3339 (Newcombe 1998, table II, a, method 10)."""
    before = [{"success_sampled": 48 / 80, "episodes_sampled": 80}]
    after = [
        {"success_sampled": 1.0, "episodes_sampled": 50},
        {"success_sampled": 0.3, "episodes_sampled": 20},
    ]
    assert pooled_gain(before, after) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_arms_share_everything_but_the_algorithm() -> None:
    study = arms_of()
    assert len(study) == 3 * 3 * 4 + 3
    assert len({a.name for a in study}) == len(study)
    of_one = [a for a in study if a.task is TASKS[0] and a.seed == 1]
    used = 256 + 31 * 128
    configs = [asdict(arm_config(a, used)) for a in of_one]
    episodes = [
        c["iterations"] * c["episodes_per_iteration"]
        + (c["value_pretraining"]["episodes"] if c["algorithm"] == "ppo" else 0)
        for c in configs
    ]
    assert set(episodes) == {used}
    for config in configs:
        del config["algorithm"], config["shuffled_rewards"], config["iterations"]
    assert all(c == configs[0] for c in configs)
    assert len({json.dumps(asdict(warm_start(a))) for a in of_one}) == 1
    sent = json.loads(json.dumps(asdict(arm_config(study[0]))))
    assert parse_config(PpoConfig, sent) == arm_config(study[0])


def test_no_seed_serves_twice() -> None:
    """Demonstrations, and the training seeds of every study seed, are ranges of the train split apart."""
    for task in TASKS:
        used = [(0, task.demonstrations)]
        for spec in arms_of([task], chosen=["ppo"]):
            config = arm_config(spec)
            episodes = config.iterations * config.episodes_per_iteration + config.value_pretraining.episodes
            used.append((config.seed_offset, episodes))
            assert evaluation(spec, control=False).split == "test"
        used.sort()
        assert all(a + n <= b for (a, n), (b, _) in pairwise(used))


def test_figures_appear_when_every_seed_is_done_and_report_the_worst(tmp_path: Path) -> None:
    arm_done(tmp_path, "ppo", 0, 0.2, 0.95, 0.97)
    arm_done(tmp_path, "ppo", 1, 0.35, 0.85, 0.98)
    assert study_figures(tmp_path, ["collapsible"], SEEDS) == []
    arm_done(tmp_path, "cloning", 1, 0.35, 0.9, 0.98)
    beside = {f.name: f for f in study_figures(tmp_path, ["collapsible"], SEEDS)}
    assert beside["cloning_collapsible_after_sampled_min"].seeds == [1]  # the arms beside PPO: what there is
    arm_done(tmp_path, "ppo", 2, 0.3, 0.92, 0.99)
    figures = {f.name: f for f in study_figures(tmp_path, ["collapsible"], SEEDS)}
    assert figures["ppo_collapsible_before_sampled_max"].value == 0.35
    assert figures["ppo_collapsible_before_sampled_max"].met is True
    worst = figures["ppo_collapsible_after_sampled_min"]
    assert (worst.value, worst.met) == (0.85, False)  # a goal missed is shown as missed
    assert figures["ppo_collapsible_after_greedy_min"].value == 0.97
    assert figures["ppo_minutes_max"].value == 11.0
    assert worst.config == {"lr": 0.1, "epochs": 3}
    # of the runs, not of the report
    assert (worst.commit, worst.date, worst.machine) == ("c0, c1", "2026-01-03", "a small one")
    assert figures["ppo_collapsible_time_environment"].value == pytest.approx(0.5)
    assert figures["ppo_collapsible_after_first_right"].value == pytest.approx(0.75)
    for name in ("gain", "gain_low"):
        assert "tells nothing of other seeds" in figures[f"ppo_collapsible_{name}"].note


def test_what_is_gained_without_a_ratio_in_many_passes_says_so(tmp_path: Path) -> None:
    for arm in ("ppo", "reinforce"):
        for seed in SEEDS:
            arm_done(tmp_path, arm, seed, 0.2, 0.9, 0.9)
    figures = study_figures(tmp_path, ["collapsible"], SEEDS)
    said = {f.name for f in figures if "3 passes over each batch, without a ratio" in f.note}
    after = ("after_sampled_min", "after_greedy_min", "gain", "gain_low")
    assert said == {f"reinforce_collapsible_{each}" for each in after}


def ending(monkeypatch: pytest.MonkeyPatch, diverging: set[str]) -> dict[str, str | None]:
    """From now on runs end at once, the training of these arms by diverging in its fourth iteration.

    Returns:
        what is begun: the policy it starts from by the name of its folder.
    """
    begun: dict[str, str | None] = {}

    def ended(runs: StudyRuns, folder: Path, log: object) -> None:
        name = str(folder.relative_to(runs.folder))
        begun[name] = json.loads((folder / "spec.json").read_text())["policy_in"]
        if name in diverging:
            state = {"phase": "PPO", "done": 3, "total": 40, "pid": 1, "updated_at_s": 0.0}
            (folder / "state.json").write_text(json.dumps(state))
            (folder / "error.json").write_text(
                json.dumps({"type": "TrainingDiverged", "message": "no gradient"})
            )
            return
        metrics = (
            success(0.9 if "-start-" not in name else 0.3, 0.9) | {"minutes": 5.0, "episodes": 640} | TIMES
        )
        (folder / "result.json").write_text(json.dumps({"metrics": metrics, "policy_out": f"of {name}"}))

    monkeypatch.setattr(StudyRuns, "_wait", ended)
    return begun


def test_an_arm_that_diverges_counts_as_its_start_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = ending(monkeypatch, {"collapsible-ppo-1/train"})
    results = tmp_path / "results/loop.json"
    asked = [
        str(tmp_path / "study"),
        "--tasks",
        "collapsible",
        "--arms",
        "ppo",
        "cloning",
        "--seeds",
        "0",
        "1",
    ]
    assert main([*asked, "--results", str(results)]) == 0
    # measured is what it started from
    assert begun["collapsible-ppo-0/evaluate"] == "of collapsible-ppo-0/train"
    assert begun["collapsible-ppo-1/evaluate"] == begun["collapsible-ppo-1/train"]
    figures = {figure.name: figure for figure in read_figures(results)}
    told = "; training diverged, counted as its start is: seed 1 after 3 iterations (no gradient)"
    for name in ("after_sampled_min", "gain", "gain_low"):
        assert figures[f"ppo_collapsible_{name}"].note.endswith(told)
    assert "diverged" not in figures["ppo_collapsible_before_sampled_max"].note
    assert "diverged" not in figures["cloning_collapsible_gain"].note
    assert figures["ppo_collapsible_minutes_max"].seeds == figures["ppo_collapsible_episodes"].seeds == [0]
    # the arm beside it has no episodes to go by
    configs = [
        json.loads((tmp_path / f"study/collapsible-cloning-{seed}/train/spec.json").read_text())["config"]
        for seed in (0, 1)
    ]
    assert [config["minutes"] for config in configs] == [0.0, TASKS[0].minutes]
    # it is done, and not begun again
    begun.clear()
    assert main([*asked, "--results", str(results)]) == 0
    assert begun == {}


def test_a_start_that_diverges_leaves_the_other_seeds_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = ending(monkeypatch, {"collapsible-start-0/train"})
    with pytest.raises(RunFailed, match="no gradient"):
        LoopStudy(tmp_path).run(arms_of(TASKS[:1], [0, 1], ["ppo"]))
    assert "collapsible-ppo-1/evaluate" in begun and "collapsible-ppo-0/train" not in begun


def test_sabotage_figures(tmp_path: Path) -> None:
    for seed, (after, shuffled) in enumerate(((0.31, 0.01), (0.28, -0.06), (0.37, 0.02))):
        arm_done(tmp_path, "shuffled", seed, 0.3, after, 0.3, measure="control")
        leave(tmp_path / f"collapsible-start-{seed}" / "critic", {"real": 0.2, "shuffled": shuffled})
    figures = {f.name: f for f in study_figures(tmp_path, ["collapsible"], SEEDS)}
    assert figures["sabotage_gain_max"].value == pytest.approx(0.07)
    assert figures["sabotage_gain_max"].met is False
    assert figures["sabotage_explained_variance_max"].value == 0.06  # below zero counts as well
    assert figures["sabotage_explained_variance_max"].met is False


def test_a_run_that_ends_without_a_result_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(RuntimeError, match="collapsible-demonstrations"):
        LoopStudy(tmp_path).run(arms_of(TASKS[:1], [0], ["ppo"]))


def test_two_studies_do_not_work_in_one_folder(tmp_path: Path) -> None:
    with (
        hold(tmp_path, busy=pytest.fail),
        pytest.raises(RuntimeError, match="another process works at the study"),
    ):
        LoopStudy(tmp_path).run(arms_of())
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_a_study_told_to_end_ends_its_runs_first(tmp_path: Path) -> None:
    program, pid = tmp_path / "sleeper", tmp_path / "pid"
    program.write_text(f"#!/bin/sh\necho $$ > {pid}.draft; mv {pid}.draft {pid}; exec sleep 600\n")
    program.chmod(0o755)
    start = (
        "import sys; sys.executable = sys.argv[1]; from deskhand_trainer.studies.loop import main; "
        "sys.exit(main([sys.argv[2], '--arms', 'ppo', '--seeds', '0', '--tasks', 'collapsible']))"
    )
    study = subprocess.Popen(
        [sys.executable, "-c", start, str(program), str(tmp_path / "study")],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not pid.exists():
        assert study.poll() is None
        time.sleep(0.05)
    study.terminate()
    _, said = study.communicate(timeout=60)
    assert study.returncode == 130
    assert said == "stopped; the same command goes on from here\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
