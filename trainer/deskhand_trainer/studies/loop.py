"""Does the loop learn? PPO and the arms beside it at equal compute, on three tasks and three seeds.

    deskhand study loop [FOLDER] [--seeds 0 1 2] [--arms ppo …] [--tasks sequence …] [--workers 2]

Everything stands on real pages and begins from nothing: per task and seed a model with fresh weights is
warm-started on a few demonstrations, measured, trained by every arm from that same start, and measured again
on test seeds. PPO has its minutes; the other arms get the episodes it used in them, its start policy,
training seeds and optimizer settings, and as long as they need. REINFORCE so makes PPO's three passes over
each batch, and has no ratio that would correct the second and third. FOLDER holds the store and a folder per
run: a finished run is not done again, a killed one goes on. An arm whose training diverges counts with what
it started from, its figures say so, and the others go on; where it is PPO, the arms beside it get its minutes
in place of its episodes. It is tried again once its folder is removed. Left out of METHODS §7's ladder:
Sokoban, ST-PPO, and everything whose method is not built yet.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from deskhand_trainer.config import CollectConfig, EvaluateConfig, PpoConfig
from deskhand_trainer.results import results_file, write_figures, write_results_page
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.runs import RunKind
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.studies.loop_figures import CONTROL_TASK, study_figures
from deskhand_trainer.studies.runs import StudyRuns, result_of, run_id, until_done

Arm = Literal["ppo", "reinforce", "rejection", "cloning", "shuffled"]
ARMS: tuple[Arm, ...] = get_args(Arm)
TEST_EPISODES = 256
CONTROL_EPISODES = 1024
SEED_SPACING = 20_000
"""Training seeds of study seed k begin (k + 1)·SEED_SPACING into the train split, demonstrations at 0: no two
overlap."""
FOLDER = Path(".deskhand/studies/loop")


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyTask:
    """A task of the study, what its figures are called, and the warm start its arms begin from."""

    id: str
    name: str
    """"collapsible", "second", "sequence"."""
    demonstrations: int
    cloning_epochs: int
    max_tokens: int
    """Longest reply."""
    minutes: float = 14.0
    """Cap of PPO's training; the goal is 15."""
    iterations: int = 60
    concurrency: int = 16
    """Pages at a time: more where pages animate, for then they wait most of the time."""
    seeing: bool = False
    """Whether vision is taught first, on pages of many tasks: where a click needs a word to be read."""
    lr: float = 5e-4
    """Of the policy in training; the same for every arm."""


TASKS = (
    StudyTask(
        id="miniwob/click-collapsible-nodelay",
        name="collapsible",
        demonstrations=48,
        cloning_epochs=7,
        max_tokens=12,
        minutes=10.0,
        iterations=40,
    ),
    StudyTask(
        id="miniwob/click-collapsible",
        name="second",
        demonstrations=48,
        cloning_epochs=7,
        max_tokens=12,
        iterations=40,
        concurrency=32,
    ),
    StudyTask(
        id="miniwob/click-button-sequence",
        name="sequence",
        demonstrations=512,
        cloning_epochs=4,
        max_tokens=12,
        seeing=True,
        lr=2e-4,
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSpec:
    """One run of one arm."""

    task: StudyTask
    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task.name}-{self.arm}-{self.seed}"

    @property
    def start(self) -> str:
        """Folder of the warm start."""
        return f"{self.task.name}-start-{self.seed}"


def arms_of(
    tasks: Sequence[StudyTask] = TASKS,
    seeds: Sequence[int] = (0, 1, 2),
    chosen: Sequence[Arm] = ARMS,
) -> list[ArmSpec]:
    """Every arm of the study, an arm at a time; the sabotage control stands on one task only."""
    return [
        ArmSpec(task=task, arm=arm, seed=seed)
        for arm in chosen
        for task in tasks
        for seed in seeds
        if arm != "shuffled" or task.name == CONTROL_TASK
    ]


def warm_start(spec: ArmSpec) -> SftConfig:
    """The start of an arm: of its task and seed, the same for every arm."""
    config = SftConfig(
        tasks=(spec.task.id,),
        demonstrations_per_task=spec.task.demonstrations,
        cloning_epochs=spec.task.cloning_epochs,
        cloning_lr_scale=1.0,
        threads=1,
        seed=spec.seed,
    )
    return config if spec.task.seeing else replace(config, perception_tasks=(), lr=0.002)


def arm_config(spec: ArmSpec, episodes: int | None = None) -> PpoConfig:
    """What an arm is told; arms differ in `algorithm` and in what follows from it.

    Args:
        episodes: what the arm gets, the critic's pretraining included; None: as many as fit the minutes.
    """
    base = PpoConfig()
    minutes, iterations = spec.task.minutes, spec.task.iterations
    if episodes is not None:
        pretraining = base.value_pretraining.episodes if spec.arm in ("ppo", "shuffled") else 0
        minutes, iterations = 0.0, (episodes - pretraining) // base.episodes_per_iteration
    return PpoConfig(
        tasks=(spec.task.id,),
        algorithm="ppo" if spec.arm == "shuffled" else spec.arm,
        shuffled_rewards=spec.arm == "shuffled",
        minutes=minutes,
        iterations=iterations,
        max_tokens=spec.task.max_tokens,
        concurrency=spec.task.concurrency,
        evaluate_every=20,
        lr=spec.task.lr,
        seed=spec.seed,
        seed_offset=(spec.seed + 1) * SEED_SPACING,
    )


def evaluation(spec: ArmSpec, *, control: bool) -> EvaluateConfig:
    """How a policy is measured, before and after."""
    return EvaluateConfig(
        tasks=(spec.task.id,),
        episodes=CONTROL_EPISODES if control else TEST_EPISODES,
        modes=("sampled",) if control else ("sampled", "greedy"),
        max_tokens=spec.task.max_tokens,
        seed=spec.seed,
    )


class LoopStudy:
    """Does what is left of the study in a folder."""

    def __init__(self, folder: Path) -> None:
        self.runs = StudyRuns(folder)
        self.folder = self.runs.folder

    def run(self, specs: Sequence[ArmSpec], *, workers: int = 1) -> None:
        """Train and measure the arms, several at a time.

        Raises:
            StudyStopped: a run ended without a result and not because an arm's training diverged, or another
                process works at the study; says where.
        """
        self.runs.work([partial(self._arm, spec) for spec in specs], workers=workers)

    def _arm(self, spec: ArmSpec) -> None:
        control = spec.arm == "shuffled"
        start = self._start(spec)
        measure = "control" if control else "evaluate"
        measured = asdict(evaluation(spec, control=control))
        self.runs.run(f"{spec.start}/{measure}", RunKind.EVALUATE, measured, start)
        if control:
            self._critic(spec, start)
        episodes = None if spec.arm == "ppo" else self._episodes_of_ppo(spec, start)
        trained = self._trained(spec, start, episodes)
        self.runs.run(f"{spec.name}/{measure}", RunKind.EVALUATE, measured, trained["policy_out"])
        print(f"done: {spec.name}", flush=True)

    def _trained(self, spec: ArmSpec, start: str, episodes: int | None = None) -> dict[str, Any]:
        config = asdict(arm_config(spec, episodes))
        return self.runs.run(f"{spec.name}/train", RunKind.PPO, config, start, may_diverge=True)

    def _episodes_of_ppo(self, spec: ArmSpec, start: str) -> int | None:
        """How many episodes PPO used in its minutes, of the same task and seed; None: it diverged."""
        done = self._trained(replace(spec, arm="ppo"), start)
        return None if "diverged" in done else int(done["metrics"]["episodes"])

    def _start(self, spec: ArmSpec) -> str:
        """The warm-started policy's id."""
        demonstrations = asdict(
            CollectConfig(tasks=(spec.task.id,), episodes_per_task=spec.task.demonstrations)
        )
        self.runs.run(f"{spec.task.name}-demonstrations", RunKind.COLLECT, demonstrations, None)
        started = self.runs.run(f"{spec.start}/train", RunKind.SFT, asdict(warm_start(spec)), None)
        return str(started["policy_out"])

    def _critic(self, spec: ArmSpec, start: str) -> None:
        place = self.folder / spec.start / "critic"
        with self.runs.lock(place):
            if result_of(place) is None:
                place.mkdir(parents=True, exist_ok=True)
                run = run_id(f"{spec.start}/control")
                # loads PyTorch, which nothing else here needs
                from deskhand_trainer.studies.critic_control import measure_critic

                found = measure_critic(*self.runs.store, policy=start, run=run, seed=spec.seed, folder=place)
                write_json(place / "result.json", {"metrics": found})


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study loop", description="The loop study; stopped and started again it goes on."
    )
    names = [task.name for task in TASKS]
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="store and runs (%(default)s)")
    parser.add_argument("--tasks", nargs="+", choices=names, default=names)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        help="arms at a time (%(default)s); PPO's minutes are worth less where it shares the cores",
    )
    parser.add_argument(
        "--results", type=results_file, default=Path("docs/results/loop.json"), help="file of the figures"
    )
    parser.add_argument("--report", action="store_true", help="only write the figures of what is done")
    options = parser.parse_args(argv)
    tasks = [task for task in TASKS if task.name in options.tasks]
    study = LoopStudy(options.folder)

    def work() -> None:
        if not options.report:
            study.run(arms_of(tasks, options.seeds, options.arms), workers=options.workers)
        figures = study_figures(study.folder, [task.name for task in TASKS], options.seeds)
        if figures:
            write_figures(options.results, figures)
            write_results_page(options.results.parent)
        print(*figures, sep="\n")

    return until_done(work)


if __name__ == "__main__":
    sys.exit(main())
