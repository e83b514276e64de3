"""Does the loop learn? PPO and the arms beside it at equal compute, on three tasks and three seeds.

    python -m deskhand_trainer.studies.loop FOLDER --starts STARTS.json [--only NAME] [--results FILE]

STARTS.json names, per task, the store and the warm-started policy its arms begin from:
{"store_url", "blobs_url", "policies": {task id: policy id}}.

An arm is a folder under FOLDER holding two runs, `train` and `evaluate` (and one evaluation per start): a
finished one is not run again, a killed one goes on. Arms of one task and seed share start policy, training
seeds, environment episodes, optimizer settings and the cap on minutes. Left out of METHODS §7's ladder:
Sokoban, ST-PPO, and everything whose method is not built yet.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from deskhand_trainer.config import PpoConfig, ValuePretrainingConfig
from deskhand_trainer.results import Figure, write_figures
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.runs import RunKind, RunSpec
from deskhand_trainer.wilson import wilson

Arm = Literal["ppo", "reinforce", "rejection", "cloning", "shuffled"]
ARMS: tuple[Arm, ...] = ("ppo", "reinforce", "rejection", "cloning")
MINUTES = 15.0
TEST_EPISODES = 256
CONTROL_EPISODES = 1024
SEED_SPACING = 20_000
"""Training seeds of study seed k begin k·SEED_SPACING into the train split: no two overlap."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyTask:
    """A task of the study and what its figures are called."""

    id: str
    name: str
    """"collapsible", "second", "sequence"."""


TASKS = (
    StudyTask(id="miniwob/click-collapsible-nodelay", name="collapsible"),
    StudyTask(id="miniwob/click-dialog-2", name="second"),
    StudyTask(id="miniwob/click-button-sequence", name="sequence"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Starts:
    """Where the warm-started policies are."""

    store_url: str
    blobs_url: str
    policies: Mapping[str, str]
    """Task id to policy id."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSpec:
    """One run of one arm."""

    task: StudyTask
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task.name}-{self.arm}-{self.seed}"


def arms(tasks: Sequence[StudyTask] = TASKS, seeds: Sequence[int] = (0, 1, 2)) -> list[ArmSpec]:
    """Every arm of the study, and the sabotage control on each seed of the first task."""
    found = [ArmSpec(task=t, arm=a, seed=s) for t in tasks for s in seeds for a in ARMS]
    return found + [ArmSpec(task=tasks[0], arm="shuffled", seed=s) for s in seeds]


def arm_config(spec: ArmSpec, *, minutes: float = MINUTES) -> PpoConfig:
    """What an arm is told; arms differ in `algorithm` and nothing else."""
    return PpoConfig(
        tasks=(spec.task.id,),
        algorithm="ppo" if spec.arm == "shuffled" else spec.arm,
        shuffled_rewards=spec.arm == "shuffled",
        minutes=minutes,
        iterations=60,
        value_pretraining=ValuePretrainingConfig(),
        seed=spec.seed,
        seed_offset=spec.seed * SEED_SPACING,
    )


def run_loop_study(
    folder: Path,
    starts: Starts,
    *,
    only: str | None = None,
    tasks: Sequence[StudyTask] = TASKS,
    seeds: Sequence[int] = (0, 1, 2),
    minutes: float = MINUTES,
    sandbox_url: str | None = None,
    results: Path | None = None,
    config_changes: Mapping[str, Any] | None = None,
) -> list[Figure]:
    """Do what is left of the study, arm by arm, and write the figures of whatever is done.

    Args:
        folder: an arm is a folder in it; finished ones stay as they are.
        starts: the policies the arms begin from.
        only: only arms whose name begins with this ("collapsible-ppo", "sequence").
        tasks, seeds, minutes: of the study.
        sandbox_url: a host to use; None: each run starts its own.
        results: file to merge the figures into; None: none is written.
        config_changes: fields of every arm's `PpoConfig` to change, kept with the figures.

    Raises:
        RuntimeError: a run ended without a result; names its folder.
    """
    for spec in arms(tasks, seeds):
        if only is None or spec.name.startswith(only):
            _run_arm(folder, starts, spec, minutes, sandbox_url, config_changes or {})
    figures = study_figures(folder, tasks, seeds, minutes=minutes)
    if results is not None and figures:
        write_figures(results, figures)
    return figures


def study_figures(
    folder: Path, tasks: Sequence[StudyTask], seeds: Sequence[int], *, minutes: float
) -> list[Figure]:
    """The figures of the arms that are done; an aggregate appears once all its seeds are."""
    figures: list[Figure] = []
    for task in tasks:
        before = _result(folder / _start_name(task, "ppo") / "evaluate")
        for arm in ARMS:
            done = [_arm_results(folder, ArmSpec(task=task, arm=arm, seed=s)) for s in seeds]
            whole = [d for d in done if d is not None]
            if before is None or len(whole) < len(seeds):
                continue
            figures += _arm_figures(task, arm, before, whole, seeds)
    figures += _control_figures(folder, tasks[0], seeds)
    ppo = [_arm_results(folder, ArmSpec(task=t, arm="ppo", seed=s)) for t in tasks for s in seeds]
    done = [r for r in ppo if r is not None]
    if done and len(done) == len(ppo):
        longest = max(float(r["training"]["minutes"]) for r in done)
        of = partial(_figure, config=done[0]["config"], seeds=seeds)
        figures.append(of("ppo_minutes_max", value=longest, unit="minutes", goal=f"<= {minutes:g}"))
        figures.append(of("seeds", value=float(len(seeds)), unit="seeds", goal=">= 3"))
    return figures


# ---- running ----------------------------------------------------------------------------------------


def _run_arm(
    folder: Path,
    starts: Starts,
    spec: ArmSpec,
    minutes: float,
    sandbox_url: str | None,
    changes: Mapping[str, Any],
) -> None:
    start = starts.policies[spec.task.id]
    blank = RunSpec(
        id="", kind=RunKind.EVALUATE, config={}, store_url=starts.store_url, blobs_url=starts.blobs_url,
        sandbox_url=sandbox_url, policy_in=start,
    )  # fmt: skip
    episodes = CONTROL_EPISODES if spec.arm == "shuffled" else TEST_EPISODES
    test = replace(blank, config=_evaluation(spec, episodes))
    name = _start_name(spec.task, spec.arm)
    _run(folder / name / "evaluate", replace(test, id=f"study-{name}"))
    config = json.loads(json.dumps(asdict(replace(arm_config(spec, minutes=minutes), **changes))))
    train = replace(blank, id=f"study-{spec.name}", kind=RunKind.PPO, config=config)
    trained = _run(folder / spec.name / "train", train)
    after = replace(test, id=f"study-{spec.name}-evaluate", policy_in=trained["policy_out"])
    _run(folder / spec.name / "evaluate", after)


def _start_name(task: StudyTask, arm: Arm) -> str:
    """Folder of the start's evaluation; the control's has more episodes."""
    return f"{task.name}-start" + ("-control" if arm == "shuffled" else "")


def _evaluation(spec: ArmSpec, episodes: int) -> dict[str, Any]:
    modes = ["sampled"] if spec.arm == "shuffled" else ["sampled", "greedy"]
    return {"tasks": [spec.task.id], "episodes": episodes, "split": "test", "modes": modes}


def _run(folder: Path, spec: RunSpec) -> dict[str, Any]:
    """Make sure the run is finished; its result."""
    found = _result(folder)
    if found is not None:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "spec.json", asdict(spec))
    with (folder / "log.txt").open("ab") as log:
        command = [sys.executable, "-m", "deskhand_trainer.run", str(folder)]
        subprocess.run(command, stdout=log, stderr=log, check=False, env=dict(os.environ))
    found = _result(folder)
    if found is None:
        raise RuntimeError(f"the run in {folder} ended without a result: see {folder / 'log.txt'}")
    return found


# ---- figures ----------------------------------------------------------------------------------------


def _result(folder: Path) -> dict[str, Any] | None:
    path = folder / "result.json"
    return json.loads(path.read_text()) if path.exists() else None


def _arm_results(folder: Path, spec: ArmSpec) -> dict[str, Any] | None:
    """Test metrics of an arm with its training's metrics and config; None until both runs are done."""
    train, test = _result(folder / spec.name / "train"), _result(folder / spec.name / "evaluate")
    if train is None or test is None:
        return None
    config = json.loads((folder / spec.name / "train" / "spec.json").read_text())["config"]
    return {**test["metrics"], "training": train["metrics"], "config": config}


def _arm_figures(
    task: StudyTask,
    arm: Arm,
    before: Mapping[str, Any],
    after: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
) -> list[Figure]:
    start = before["metrics"]
    prefix = f"{arm}_{task.name}"
    of = partial(_figure, config=after[0]["config"], seeds=seeds)
    worst = min(after, key=lambda m: float(m["success_sampled"]))
    worst_greedy = min(after, key=lambda m: float(m["success_greedy"]))
    judged = arm == "ppo" and task.name != "sequence"
    figures = [
        of(f"{prefix}_before_sampled_max", goal="< 0.4" if judged else None, **_rate(start, "sampled")),
        of(f"{prefix}_after_sampled_min", goal=">= 0.9" if judged else None, **_rate(worst, "sampled")),
        of(f"{prefix}_after_greedy_min", goal=">= 0.95" if judged else None, **_rate(worst_greedy, "greedy")),
    ]
    gain, low, high = pooled_gain(start, after)
    note = "sampled success pooled over training seeds, less the start's; 95 % Newcombe interval"
    figures.append(of(f"{prefix}_gain", value=gain, unit="share", low=low, high=high, note=note))
    goal = "> 0" if arm == "ppo" and task.name == "sequence" else None
    figures.append(of(f"{prefix}_gain_low", value=low, unit="share", goal=goal, note=note + ", lower end"))
    minutes = max(float(m["training"]["minutes"]) for m in after)
    figures.append(of(f"{prefix}_minutes_max", value=minutes, unit="minutes"))
    return figures


def _control_figures(folder: Path, task: StudyTask, seeds: Sequence[int]) -> list[Figure]:
    start = _result(folder / _start_name(task, "shuffled") / "evaluate")
    results = [_arm_results(folder, ArmSpec(task=task, arm="shuffled", seed=s)) for s in seeds]
    done = [d for d in results if d is not None]
    if start is None or len(done) < len(seeds):
        return []
    of = partial(_figure, config=done[0]["config"], seeds=seeds)
    before = float(start["metrics"]["success_sampled"])
    gain = max(float(d["success_sampled"]) - before for d in done)
    note = f"largest gain of sampled success under shuffled rewards, {CONTROL_EPISODES} episodes an arm"
    figures = [of("sabotage_gain_max", value=gain, unit="share", goal="<= 0.05", note=note)]
    explained = [d["training"].get("value_explained_variance") for d in done]
    known = [float(e) for e in explained if e is not None]
    if known:
        note = "largest held-out explained variance of a critic trained on shuffled returns"
        figures.append(
            of("sabotage_explained_variance_max", value=max(known), unit="share", goal="<= 0.05", note=note)
        )
    return figures


def pooled_gain(before: Mapping[str, Any], after: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Difference of two success rates with Newcombe's hybrid score interval (1998, method 10).

    Args:
        before: metrics of the start's evaluation.
        after: metrics of the evaluations of the trained policies.
    """
    trials = sum(int(m["episodes_sampled"]) for m in after)
    new = wilson(round(sum(float(m["success_sampled"]) * int(m["episodes_sampled"]) for m in after)), trials)
    count = int(before["episodes_sampled"])
    old = wilson(round(float(before["success_sampled"]) * count), count)
    gain = new.value - old.value
    low = gain - ((new.value - new.low) ** 2 + (old.high - old.value) ** 2) ** 0.5
    high = gain + ((new.high - new.value) ** 2 + (old.value - old.low) ** 2) ** 0.5
    return gain, low, high


def _rate(metrics: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Value, unit, interval and note of a success rate."""
    return {
        "value": float(metrics[f"success_{mode}"]),
        "unit": "share",
        "low": float(metrics[f"success_{mode}_low"]),
        "high": float(metrics[f"success_{mode}_high"]),
        "note": f"{metrics[f'episodes_{mode}']} test seeds, {mode}",
    }


def _figure(
    name: str,
    *,
    value: float,
    unit: str,
    config: Mapping[str, Any],
    seeds: Sequence[int],
    goal: str | None = None,
    low: float | None = None,
    high: float | None = None,
    note: str = "",
) -> Figure:
    command = "python -m deskhand_trainer.studies.loop FOLDER --starts STARTS.json"
    return Figure(
        name=name, value=value, unit=unit, goal=goal, low=low, high=high, note=note, command=command,
        config=config, seeds=list(seeds),
    )  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="The loop study; stopped and started again it goes on.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--starts", type=Path, required=True)
    parser.add_argument("--only")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--results", type=Path, default=Path("docs/results/loop.json"))
    options = parser.parse_args(argv)
    starts = Starts(**json.loads(options.starts.read_text()))
    figures = run_loop_study(
        options.folder, starts, only=options.only, minutes=options.minutes, results=options.results
    )
    for figure in figures:
        verdict = {True: "met", False: "MISSED", None: ""}[figure.met]
        print(f"{figure.name:44} {figure.value:8.3f} {figure.unit:8} {figure.goal or '':8} {verdict}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
