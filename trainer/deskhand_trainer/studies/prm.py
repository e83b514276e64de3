"""What is the process reward model worth? Registered before it was run.

    deskhand study prm [FOLDER] [--parts quality verifier reward] [--seeds 0 1 2 3 4] [--workers 1]

"quality": the policy of the package plays training seeds of `Plan.tasks`, and test seeds of tasks that
nothing is ever trained on. Every step is labelled by Monte-Carlo continuation with the same policy, a model
is trained on the labels of the first, calibrated on those of tasks kept apart among them, and measured on the
held-out tasks' labels: AUC over the steps whose labels tell whether they help, expected calibration error
over all. A model trained on outcomes in place of continuations stands beside it, measured by the same labels.
Intervals are by bootstrap over episodes.

"verifier": the policy works test seeds of the tasks the model was trained on, acting once on its first reply
and once on the one of four that the model scores highest. Compared are the means over the tasks, with an
interval over episodes.

"reward": on Sokoban, per seed, a new policy that imitated a few episodes plays, its steps are labelled by
continuation, a model is trained on them, and two arms of turn-PPO go on from that policy: one is paid for
outcomes alone, the other for the model's scores too. Compared are the turns until either first has, on
validation seeds, the most success that both reach: their ratio, with Student's interval over the seeds' log
ratios. A seed in which neither rises counts as no difference. The turns that labelling took are not counted
among them, and are told.

FOLDER holds the store and a folder per run: a finished run is not done again, a killed one goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.settings import Deliberation
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import CollectConfig, EvaluateConfig, LabelConfig, PpoConfig, ScoreConfig
from deskhand_trainer.results import write_figures, write_results_page
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.ladder import RUNGS, ArmSpec, Rung, arm_config, start_config
from deskhand_trainer.studies.ladder_curves import read_curve
from deskhand_trainer.studies.prm_figures import quality_figures, reward_figures, verifier_figures
from deskhand_trainer.studies.prm_measuring import measure
from deskhand_trainer.studies.runs import StudyRuns, result_of, run_id, until_done

Part = Literal["quality", "verifier", "reward"]
PARTS: tuple[Part, ...] = get_args(Part)
FOLDER = Path(".deskhand/studies/prm")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is done; as it stands, what was registered."""

    tasks: tuple[str, ...] = (
        "miniwob/ascending-numbers",
        "miniwob/choose-list",
        "miniwob/click-button-sequence",
        "miniwob/click-checkboxes",
        "miniwob/click-collapsible",
        "miniwob/click-collapsible-2-nodelay",
        "miniwob/click-color",
        "miniwob/click-dialog-2",
        "miniwob/click-link",
        "miniwob/click-option",
        "miniwob/click-tab-2",
        "miniwob/click-tab-2-medium",
        "miniwob/click-test-2",
        "miniwob/click-widget",
        "miniwob/count-shape",
        "miniwob/enter-text",
        "miniwob/focus-text-2",
        "miniwob/grid-coordinate",
        "miniwob/identify-shape",
        "miniwob/navigate-tree",
    )
    """Labelled and trained on: some of several turns, some that the policy does now and then."""
    unseen: tuple[str, ...] = tuple(sorted(HELD_OUT_TASKS))
    episodes: int = 24
    """Of each task."""
    continuations: int = 8
    max_tokens: int = 24
    model: ScoreConfig = field(
        default_factory=lambda: ScoreConfig(
            labels=("monte-carlo",), epochs=10, trunk_lr=1e-4, max_trajectories=4096, minutes=60.0
        )
    )
    """How the model is trained, here and for the reward."""
    candidates: int = 4
    """Of which the verifier chooses."""
    judged_episodes: int = 50
    """Of each task, with and without it."""
    rung: Rung = RUNGS[0]
    """Task, start and size of the arms."""
    played: int = 96
    """Episodes that the reward's model learns from."""
    reward_continuations: int = 4
    process_weight: float = 0.5
    concurrency: int = 16


class PrmStudy:
    """Does what is left of the study in a folder."""

    def __init__(self, folder: Path, plan: Plan, policy: str) -> None:
        """
        Args:
            policy: id in the study's store, or "deskhand-tiny".
        """
        self.runs, self.plan, self._policy = StudyRuns(folder), plan, policy

    def run(self, parts: Sequence[Part], seeds: Sequence[int], *, workers: int = 1) -> None:
        """Label, train and measure.

        Raises:
            StudyStopped: a run ended without a result, or another process works at the study; says where.
            AgentError, FlywheelError: the policy cannot be had.
        """
        self.runs.folder.mkdir(parents=True, exist_ok=True)
        base = asyncio.run(self._base())
        jobs = [partial(self._verifier, base)] if "verifier" in parts else []
        jobs += [partial(self._quality, base)] if "quality" in parts else []
        rung_base = None if self.plan.rung.policy is None else base
        jobs += [partial(self._reward, rung_base, seed) for seed in seeds] if "reward" in parts else []
        self.runs.work(jobs, workers=workers)

    async def _base(self) -> str:
        async with await Store.open(*self.runs.store) as opened:
            return (await opened.policy_named(self._policy)).id

    # ---- quality ----

    def _verifier(self, base: str) -> None:
        model = self._model(base)[0]
        for name, told in (
            ("single", Deliberation()),
            ("best", Deliberation(samples=self.plan.candidates, choose="judge", judge=model)),
        ):
            work = asdict(verifying(self.plan, told))
            self.runs.run(f"verifier/{name}", RunKind.EVALUATE, work, base)
        print("done: verifier", flush=True)

    def _model(self, base: str) -> tuple[str, ScoreConfig, dict[str, Any]]:
        """Id of the model that learned from continuations, what it was told, and what labelling came to."""
        plan = self.plan
        collected = CollectConfig(
            tasks=plan.tasks,
            policy="local",
            unproven=True,
            episodes_per_task=plan.episodes,
            max_tokens=plan.max_tokens,
            concurrency=plan.concurrency,
        )
        self.runs.run("quality/seen", RunKind.COLLECT, asdict(collected), base)
        met = EvaluateConfig(
            tasks=plan.unseen,
            unproven=True,
            episodes=plan.episodes,
            modes=("sampled",),
            targets=False,
            max_tokens=plan.max_tokens,
            concurrency=plan.concurrency,
        )
        self.runs.run("quality/unseen", RunKind.EVALUATE, asdict(met), base)
        runs = run_id("quality/seen"), run_id("quality/unseen")
        labels = LabelConfig(
            tasks=(*plan.tasks, *plan.unseen),
            runs=runs,
            continuations=plan.continuations,
            max_tokens=plan.max_tokens,
            max_trajectories=100_000,
            concurrency=plan.concurrency,
        )
        labelled = self.runs.run("quality/labels", RunKind.LABEL, asdict(labels), base)
        labeller = str(labelled["metrics"]["labeller"])
        told = replace(plan.model, labeller=labeller, runs=runs[:1], leave_out=plan.unseen)
        model = self.runs.run("quality/model", RunKind.SCORE, asdict(told), base)["policy_out"]
        return str(model), told, labelled["metrics"]

    def _quality(self, base: str) -> None:
        model, told, labelled = self._model(base)
        runs = run_id("quality/seen"), run_id("quality/unseen")
        guess = replace(told, labels=("outcome",))
        guessing = self.runs.run("quality/outcome-model", RunKind.SCORE, asdict(guess), base)["policy_out"]
        place = self.runs.folder / "quality/measured"
        if result_of(place) is None:
            place.mkdir(parents=True, exist_ok=True)
            found = {
                name: asyncio.run(
                    measure(
                        self.runs.store, each, replace(told, runs=runs), self.plan.unseen, folder=place / name
                    )
                )
                for name, each in (("model", model), ("outcome_model", guessing))
            }
            write_json(place / "result.json", {"metrics": found, "labelled": labelled})
        print("done: quality", flush=True)

    # ---- reward ----

    def _reward(self, base: str | None, seed: int) -> None:
        plan, rung, home = self.plan, self.plan.rung, f"reward/{seed}"
        shown = CollectConfig(tasks=(rung.task,), episodes_per_task=rung.demonstrations)
        self.runs.run("reward/demonstrations", RunKind.COLLECT, asdict(shown), None)
        start = self.runs.run(f"{home}/start", RunKind.SFT, asdict(start_config(rung, seed)), base)
        start = str(start["policy_out"])
        played = CollectConfig(
            tasks=(rung.task,),
            policy="local",
            episodes_per_task=plan.played,
            max_tokens=rung.max_tokens,
            concurrency=rung.concurrency,
            seed=seed,
            # behind those of every arm
            seed_offset=400_000 + seed * plan.played,
        )
        self.runs.run(f"{home}/played", RunKind.COLLECT, asdict(played), start)
        labels = LabelConfig(
            tasks=(rung.task,),
            runs=(run_id(f"{home}/played"),),
            continuations=plan.reward_continuations,
            max_tokens=rung.max_tokens,
            concurrency=rung.concurrency,
        )
        labelled = self.runs.run(f"{home}/labels", RunKind.LABEL, asdict(labels), start)["metrics"]
        told = replace(plan.model, labeller=labelled["labeller"], runs=labels.runs)
        model = self.runs.run(f"{home}/model", RunKind.SCORE, asdict(told), start)["policy_out"]
        outcome, process = arms(plan, seed)
        self.runs.run(f"{home}/outcome", RunKind.PPO, asdict(outcome), start)
        self.runs.run(f"{home}/process", RunKind.PPO, asdict(process), start, reward_model=model)
        found = {arm: read_curve(self.runs.store, f"{home}/{arm}") for arm in ("outcome", "process")}
        place = self.runs.folder / home / "compared"
        place.mkdir(parents=True, exist_ok=True)
        write_json(place / "result.json", {"metrics": found, "labelled": labelled})
        print(f"done: reward, seed {seed}", flush=True)


def arms(plan: Plan, seed: int) -> tuple[PpoConfig, PpoConfig]:
    """Paid for outcomes alone, and for process scores too; alike in everything else."""
    rung = replace(plan.rung, environment_weight=0.0)
    outcome = replace(
        arm_config(ArmSpec(rung=rung, arm="turn-ppo", seed=seed)), evaluate_every=4, validation_episodes=128
    )
    return outcome, replace(outcome, process_weight=plan.process_weight)


def verifying(plan: Plan, test_time: Deliberation) -> EvaluateConfig:
    """How the policy works with and without a verifier."""
    return EvaluateConfig(
        tasks=plan.tasks,
        unproven=True,
        episodes=plan.judged_episodes,
        modes=("sampled",),
        targets=False,
        max_tokens=plan.max_tokens,
        concurrency=plan.concurrency,
        test_time=test_time,
    )


def report(folder: Path, plan: Plan, seeds: Sequence[int], results: Path) -> None:
    """Write the figures of what is done."""
    config: dict[str, Any] = asdict(plan)
    quality = result_of(folder / "quality/measured")
    compared = {seed: result_of(folder / f"reward/{seed}/compared") for seed in seeds}
    figures = [] if quality is None else quality_figures(quality, config)
    ways = [result_of(folder / f"verifier/{name}") for name in ("best", "single")]
    if all(ways):
        best, single = (each["metrics"] for each in ways if each is not None)
        figures += verifier_figures(best, single, plan.tasks, config)
    figures += reward_figures({seed: each for seed, each in compared.items() if each is not None}, config)
    if figures:
        write_figures(results, figures)
        write_results_page(results.parent)
    print(*figures, sep="\n", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study prm",
        description="What the process reward model is worth; stopped and started again it goes on.",
        epilog="Example:  deskhand study prm --parts quality",
    )
    plan = Plan()
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="store and runs (%(default)s)")
    parser.add_argument("--policy", default=DESKHAND_TINY, help="what plays and reads (%(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], help="of the reward's arms")
    parser.add_argument("--tasks", nargs="+", default=list(plan.tasks), help="other ones to train on")
    parser.add_argument("--unseen", nargs="+", default=list(plan.unseen), help="other ones to measure on")
    parser.add_argument("--episodes", type=int, default=plan.episodes, help="of each task (%(default)s)")
    parser.add_argument("--continuations", type=int, default=plan.continuations, help="(%(default)s)")
    parser.add_argument("--turns", type=int, default=plan.rung.turns, help="of each arm (%(default)s)")
    parser.add_argument("--played", type=int, default=plan.played, help="episodes a seed (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="jobs at a time (%(default)s)")
    parser.add_argument("--results", type=Path, default=Path("docs/results/prm.json"))
    parser.add_argument("--report", action="store_true", help="only write the figures of what is done")
    options = parser.parse_args(argv)
    plan = replace(
        plan,
        tasks=tuple(options.tasks),
        unseen=tuple(options.unseen),
        episodes=options.episodes,
        continuations=options.continuations,
        played=options.played,
        rung=replace(plan.rung, turns=options.turns),
    )
    stopped = 0
    if not options.report:
        study = PrmStudy(options.folder, plan, options.policy)
        work = partial(study.run, options.parts, options.seeds, workers=options.workers)
        stopped = until_done(work, AgentError, FlywheelError)
    report(options.folder, plan, options.seeds, options.results)
    return stopped


if __name__ == "__main__":
    sys.exit(main())
