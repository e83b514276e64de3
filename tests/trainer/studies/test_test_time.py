"""The study of test time: what it measures, and what it makes of runs that are done."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import EvaluateConfig, parse_config
from deskhand_trainer.results import read_figures
from deskhand_trainer.studies.base import train_tasks
from deskhand_trainer.studies.runs import StudyRuns, StudyStopped
from deskhand_trainer.studies.test_time import ARMS, PARTS, evaluation, main, tasks_of

TASKS = (train_tasks()[0], train_tasks()[1], sorted(HELD_OUT_TASKS)[0])
RATES = {"greedy": 0.5, "single": 0.4, "majority": 0.5, "best": 0.8, "check": 0.5, "retry": 0.3}


def leave(folder: Path, metrics: dict[str, Any], policy: str | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(json.dumps({"policy_out": policy, "metrics": metrics, "seconds": 1}))


def measured(arm: str, mode: str, tasks: tuple[str, ...]) -> dict[str, Any]:
    """Half widths of .1, ten episodes, and a hundred tokens each; the more turns the more success."""
    rate = int(arm[6:]) / 20 if arm.startswith("turns-") else RATES[arm]
    names = [mode, *(f"{mode}:{task}" for task in tasks)] if len(tasks) > 1 else [mode]
    found: dict[str, Any] = {f"prompt_tokens_{mode}": 900.0, f"completion_tokens_{mode}": 100.0}
    for name in names:
        found |= {
            f"success_{name}": rate, f"success_{name}_low": rate - 0.1, f"success_{name}_high": rate + 0.1,
            f"episodes_{name}": 10,
        }  # fmt: skip
    return found


@pytest.fixture
def study(tmp_path: Path, packaged: Path) -> Path:
    """A folder in which every run is done."""
    folder = tmp_path / "study"
    leave(folder / "judge" / "episodes", {})
    leave(folder / "judge" / "training", {}, policy="the-judge")
    for part, tasks in tasks_of(PARTS, TASKS).items():
        for arm in ARMS:
            leave(folder / part / arm.name, measured(arm.name, arm.mode, tasks))
    return folder


def test_its_tasks_are_those_the_model_was_shown_and_those_held_out() -> None:
    tasks = tasks_of(PARTS)
    assert tasks == {"trained": train_tasks(), "held-out": tuple(sorted(HELD_OUT_TASKS))}
    assert tasks_of(PARTS, TASKS) == {"trained": TASKS[:2], "held-out": TASKS[2:]}
    with pytest.raises(StudyStopped, match="miniwob/click-tes: no task of trained"):
        tasks_of(("trained",), ["miniwob/click-tes"])


def test_what_it_tells_the_runs_is_understood() -> None:
    assert len({arm.name for arm in ARMS}) == len(ARMS)
    for arm in ARMS:
        told = json.loads(json.dumps(asdict(evaluation(TASKS, arm, "the-judge", 5))))
        config = parse_config(EvaluateConfig, told)
        assert config.modes == (arm.mode,) and config.test_time.judges is arm.judged
        assert config.test_time.samples == 1 or arm.mode == "sampled"


def test_figures_are_of_every_part_and_gains_have_intervals(study: Path, tmp_path: Path) -> None:
    results = tmp_path / "results" / "test-time.json"
    assert main([str(study), "--tasks", *TASKS, "--results", str(results)]) == 0
    found = {figure.name: figure for figure in read_figures(results)}
    assert found["success_best"].value == 0.8 and found["success_best_heldout"].value == 0.8
    assert found["tokens_per_success_best"].value == 1000 / (0.8 * 10)
    assert found["tokens_per_success_best"].low == round(1000 / (0.9 * 10), 1)
    gain = found["best_of_4_gain"]
    # two tasks of half width .1 each: that of a mean is .1/√2, of the difference of two means .1
    assert (gain.value, gain.low, gain.high) == pytest.approx((0.4, 0.3, 0.5))
    assert found["best_of_4_gain_low"].value == gain.low and found["best_of_4_gain_low"].met
    assert found["retry_gain"].value == pytest.approx(-0.1) and found["check_gain"].value == 0
    assert found["more_turns_gain"].value == pytest.approx(0.75)
    assert found["more_turns_gain_heldout_low"].met
    assert all(figure.config["episodes"] == 50 for figure in found.values())
    # runs that do not say where they were made were not made here and now
    assert {figure.commit for figure in found.values()} == {"unknown"}


@pytest.mark.slow
def test_a_stop_leaves_the_figures_of_what_was_done(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: StudyRuns, folder: object, log: object) -> None:
        """It leaves no result."""

    monkeypatch.setattr(StudyRuns, "_wait", killed)
    results = tmp_path / "results" / "test-time.json"
    (study / "held-out" / "retry" / "result.json").unlink()
    told = [str(study), "--tasks", *TASKS, "--results", str(results)]
    assert main(told) == 1 and "without a result" in capsys.readouterr().err
    found = {figure.name for figure in read_figures(results)}
    assert {"retry_gain", "more_turns_gain", "best_of_4_gain_heldout"} <= found
    assert not found & {"success_retry_heldout", "retry_gain_heldout", "success_turns_16_heldout"}
    # told again it says the same, without doing anything, and then what lies beyond the gap too
    assert main([*told, "--report"]) == 0
    found = {figure.name for figure in read_figures(results)}
    assert "more_turns_gain_heldout" in found and "retry_gain_heldout" not in found
    assert main([str(tmp_path / "none"), "--report"]) == 1
    assert "nothing is done" in capsys.readouterr().err and not (tmp_path / "none").exists()


def test_the_price_of_no_success_is_told(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = measured("best", "sampled", TASKS[2:])
    leave(study / "held-out" / "best", metrics | {"success_sampled": 0.0, "success_sampled_low": 0.0})
    results = tmp_path / "results" / "test-time.json"
    assert main([str(study), "--report", "--tasks", *TASKS, "--results", str(results)]) == 0
    assert "tokens_per_success_best_heldout" not in {figure.name for figure in read_figures(results)}
    assert "none of 10 episodes succeeded, for 1000 tokens" in capsys.readouterr().out


def test_what_cannot_be_is_said_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--episodes", "0"])
    assert "give 1 or more" in capsys.readouterr().err
    assert main([str(tmp_path / "none"), "--tasks", "miniwob/nothing"]) == 1
    assert "no task of" in capsys.readouterr().err and not (tmp_path / "none").exists()
