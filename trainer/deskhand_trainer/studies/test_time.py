"""What more computation at test time is worth to a model that is trained no further.

    deskhand study test-time [FOLDER] [--policy deskhand-tiny] [--reward-model FOLDER] [--parts held-out]

Every way of working is measured on the same test seeds of the same tasks: "trained" are the MiniWoB++ tasks
the model of the package was shown, "held-out" the twenty that nothing is ever trained on. The arms:

    greedy      the likeliest reply
    single      one reply at the study's temperature
    majority    of four such replies what most of them say
    best        of four such replies the one the process reward model scores highest
    check       greedy; the model is asked before "finished" counts, twice at most
    retry       single; the process reward model says whether an attempt failed: three of them
    turns-N     single, with N turns and no more

Registered before it was run: arms, tasks, seeds and budgets are those of this file; what is reported is every
arm's mean success and the tokens it took per success, the gain of majority, best and retry over single, of
check over greedy, and of the most turns over the fewest. The process reward model is trained on the policy's
own episodes of the trained tasks, train seeds alone, unless a folder with another is named. Intervals are
over episodes: one process reward model, one model. FOLDER holds the store and a folder per run: a finished
run is not done again, a stopped one goes on. Figures are written after each part, and those of a part's arms
that are done when it stops there.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.settings import Deliberation
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import CollectConfig, EvaluateConfig
from deskhand_trainer.results import published_or, results_file
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.base import MAX_TOKENS
from deskhand_trainer.studies.base_tasks import train_tasks
from deskhand_trainer.studies.publishing import publish
from deskhand_trainer.studies.runs import StudyRuns, StudyStopped, if_done, until_done
from deskhand_trainer.studies.test_time_figures import part_figures

Part = Literal["trained", "held-out"]
PARTS: tuple[Part, ...] = get_args(Part)
PUBLISHED = Path("docs/results/test-time.json")
EPISODES = 50
"""Per task and arm."""
SCORED_EPISODES = 40
"""Per trained task, for the process reward model."""
TEMPERATURE = 0.7
VOID_LIMIT = 3
SAMPLES, CHECKS, ATTEMPTS = 4, 2, 3
TURNS = (1, 2, 4, 8, 16)
FOLDER = Path(".deskhand/studies/test-time")


@dataclass(frozen=True, kw_only=True, slots=True)
class Arm:
    """A way of working."""

    name: str
    mode: Literal["sampled", "greedy"]
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Fields of `Deliberation`."""
    judged: bool = False
    """A process reward model is asked."""

    def test_time(self, judge: str) -> Deliberation:
        """Its settings, with that process reward model."""
        told: dict[str, Any] = {**self.extra}
        if self.judged:
            told["judge"] = judge
        return Deliberation(**told)


ARMS = (
    Arm(name="greedy", mode="greedy"),
    Arm(name="single", mode="sampled"),
    Arm(name="majority", mode="sampled", extra={"samples": SAMPLES}),
    Arm(name="best", mode="sampled", extra={"samples": SAMPLES, "choose": "judge"}, judged=True),
    Arm(name="check", mode="greedy", extra={"checks": CHECKS}),
    Arm(name="retry", mode="sampled", extra={"attempts": ATTEMPTS, "check": "judge"}, judged=True),
    *(Arm(name=f"turns-{turns}", mode="sampled", extra={"turns": turns}) for turns in TURNS),
)


Tell: TypeAlias = Callable[[Part, Mapping[str, Mapping[str, Any]], Mapping[str, str]], None]
"""Told a part, the metrics of those of its arms that are done, and their day, commit and machine."""


class ThinkingStudy:
    """Does what is left of the study in a folder."""

    def __init__(
        self,
        folder: Path,
        *,
        policy: str,
        reward_model: Path | None,
        episodes: int,
        scored: int,
        only_done: bool = False,
    ) -> None:
        """
        Args:
            policy: id in the study's store, or "deskhand-tiny".
            reward_model: folder of a process reward model; None: one is trained.
            episodes: of each task by each arm.
            scored: of each trained task, for the process reward model.
            only_done: nothing is begun; it tells of what is done.
        """
        self.runs = StudyRuns(folder, only_done=only_done)
        self._policy, self._reward_model = policy, reward_model
        self._episodes, self._scored = episodes, scored

    def run(self, tasks: Mapping[Part, Sequence[str]], tell: Tell) -> None:
        """Measure every arm on the tasks of every part.

        Args:
            tell: called with what is done of a part when it is whole, or when it goes no further.

        Raises:
            StudyStopped: a run ended without a result, or another process works at the study; says where.
            StudyDiffers: some of it was done by other settings or with another policy.
            AgentError, FlywheelError: the policy or the process reward model cannot be had.
        """
        start = asyncio.run(self.runs.policy_named(self._policy))

        def work() -> None:
            judge = if_done(partial(self._judge, start, tasks.get("trained") or train_tasks()))
            if judge is not None:
                for part, of_part in tasks.items():
                    self._part(part, of_part, start, judge, tell)

        self.runs.work([work])

    def _part(self, part: Part, tasks: Sequence[str], start: str, judge: str, tell: Tell) -> None:
        found: dict[str, dict[str, Any]] = {}
        try:
            for arm in ARMS:
                config = asdict(evaluation(tasks, arm, judge, self._episodes))
                named = f"{part}/{arm.name}"
                if done := if_done(partial(self.runs.run, named, RunKind.EVALUATE, config, start)):
                    found[arm.name] = done["metrics"]
        finally:
            if found:
                tell(part, found, self.runs.made(*(f"{part}/{arm}" for arm in found)))

    def _judge(self, start: str, tasks: Sequence[str]) -> str:
        """Id of the process reward model."""
        if self._reward_model is not None:
            return asyncio.run(self._kept(self._reward_model, start))
        shown = CollectConfig(
            tasks=tuple(tasks),
            unproven=True,
            policy="local",
            episodes_per_task=self._scored,
            temperature=1.0,
            max_tokens=MAX_TOKENS,
            void_limit=VOID_LIMIT,
        )
        self.runs.run("judge/episodes", RunKind.COLLECT, asdict(shown), start)
        told = {"max_trajectories": self._scored * len(tasks), "epochs": 10}
        return str(self.runs.run("judge/training", RunKind.SCORE, told, start)["policy_out"])

    async def _kept(self, folder: Path, parent: str) -> str:
        async with await Store.open(*self.runs.store) as store:
            return (await store.keep_policy(folder, parent_id=parent, metadata={"reward_model": True})).id


def evaluation(tasks: Sequence[str], arm: Arm, judge: str, episodes: int) -> EvaluateConfig:
    """How an arm is measured."""
    return EvaluateConfig(
        tasks=tuple(tasks),
        unproven=True,
        episodes=episodes,
        modes=(arm.mode,),
        temperature=TEMPERATURE,
        max_tokens=MAX_TOKENS,
        void_limit=VOID_LIMIT,
        targets=False,
        test_time=arm.test_time(judge),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study test-time",
        description="What samples, checks, retries and turns are worth; started again it goes on.",
        epilog="Example:  deskhand study test-time --parts held-out",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="store and runs (%(default)s)")
    parser.add_argument("--policy", default=DESKHAND_TINY, help="what is measured (%(default)s)")
    parser.add_argument("--reward-model", type=Path, help="folder of the judge; none: one is trained")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--tasks", nargs="+", help="of the parts, these alone")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="per task and arm (%(default)s)")
    parser.add_argument(
        "--scored", type=int, default=SCORED_EPISODES, help="per trained task, for the judge (%(default)s)"
    )
    parser.add_argument(
        "--results",
        type=results_file,
        help=f"file of the figures ({PUBLISHED}, of {DESKHAND_TINY} on whole parts, {EPISODES} episodes)",
    )
    parser.add_argument("--report", action="store_true", help="only write the figures of what is done")
    options = parser.parse_args(argv)
    if min(options.episodes, options.scored) < 1:
        parser.error("--episodes and --scored: give 1 or more")
    return until_done(partial(_study, options), AgentError, FlywheelError)


def _study(options: argparse.Namespace) -> None:
    tasks = tasks_of(options.parts, options.tasks)
    usual = (DESKHAND_TINY, None, EPISODES, SCORED_EPISODES, None)
    asked = options.policy, options.reward_model, options.episodes, options.scored, options.tasks
    results = published_or(
        options.results,
        PUBLISHED,
        of=f"{DESKHAND_TINY}, judged by a model of its own, on whole parts, {EPISODES} episodes each",
        other=asked != usual,
    )
    study = ThinkingStudy(
        options.folder,
        policy=options.policy,
        reward_model=options.reward_model,
        episodes=options.episodes,
        scored=options.scored,
        only_done=options.report,
    )
    config = {"policy": options.policy, "temperature": TEMPERATURE, "episodes": options.episodes}
    modes = {arm.name: arm.mode for arm in ARMS}

    def tell(part: Part, arms: Mapping[str, Mapping[str, Any]], made: Mapping[str, str]) -> None:
        found = part_figures(part, tasks[part], arms, modes=modes, turns=TURNS, config=config, made=made)
        publish(results, found)

    study.run(tasks, tell)


def tasks_of(parts: Sequence[Part], chosen: Sequence[str] | None = None) -> dict[Part, tuple[str, ...]]:
    """The tasks of each part.

    Raises:
        StudyStopped: a task is chosen that is in none of them.
    """
    every: dict[Part, tuple[str, ...]] = {"trained": train_tasks(), "held-out": tuple(sorted(HELD_OUT_TASKS))}
    known = {task for part in parts for task in every[part]}
    if unknown := sorted(set(chosen or ()) - known):
        raise StudyStopped(f"{', '.join(unknown)}: no task of {' or '.join(parts)}")
    found: dict[Part, tuple[str, ...]] = {}
    for part in parts:
        if tasks := tuple(task for task in every[part] if not chosen or task in chosen):
            found[part] = tasks
    return found


if __name__ == "__main__":
    sys.exit(main())
