"""What the base model is worth: MiniWoB++ as it comes, tasks never trained on, ten tasks after PPO.

    deskhand study base [FOLDER] [--policy deskhand-tiny] [--parts train never-shown …] [--seeds 0 1 2]

"train" measures, greedy on test seeds, every MiniWoB++ task the base was shown demonstrations of;
"never-shown" those with an oracle that it was shown nothing of, and "held-out" the twenty that nothing is
ever trained on: together all tasks with an oracle. "probe" measures how fast each of the held-out is
learned, by PPO from the base in 50 and in 500 episodes, whose policies are measured and serve nothing else;
"ten" measures ten multi-turn tasks, trains each alone by PPO from the base, per seed, and measures again on
the same test seeds.

PPO has no critic there: a turn is compared with the others of its number and its episode with the others
(`step_and_episode`), by the outcome and by the page's own rewards for the way there, at a discount of .5 a
turn. The settings were chosen by short trials on training seeds of three of the ten, each on one core and
measured on 50 validation seeds, greedy: banner came from .14 to .96 and sort from .24 to 1.00 in twelve
minutes, confirm-long, at a rate of 3e-4, from .34 to .68 in five. Before, advantages were the outcomes as
they are, with successes learned again beside each iteration's own: so banner came to .86 and confirm-long
to .44 in twelve minutes on two cores, and sort to .44 in ten on one. PPO ends where it does nearly all
validation seeds.

The ten are chosen by a rule, before any PPO of them that counts: of all workflows (small generated pages
whose words the base can read and whose ways it was not taught), those that the base does less than 40 % of,
greedy on validation seeds; of these the ten of which most start states have a success among eight sampled
tries, for what never succeeds teaches PPO nothing. They were written for this at the end of November 2026:
the longer ones after the others had been measured, and the chains of steps that the base knows (`chains.js`)
after a first trial of such a chain had risen fastest. Until then the ten were to be chosen of
MiniWoB++, a shop and text worlds: of all but one of those that the model before did now and then, eight tries
succeeded at fewer than six of ten starts, and PPO brought the first of them from .34 to .39.

FOLDER holds the store and a folder per run: a finished run is not done again, a stopped one goes on. Figures
of single tasks are written as they come, means over them once all are there. What the results have of the
same model and settings already is not measured again, so that the study can go on on another machine. A task
whose training diverges counts with what the base does of it: its figures and the means say so. What is
published is of deskhand-tiny and the usual seeds; figures of another policy or of other seeds, over which the
means after PPO are then, go where `--results` says.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import PolicyRecord
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.config import EvaluateConfig, PpoConfig
from deskhand_trainer.results import (
    Figure,
    published_or,
    read_figures,
    results_file,
    write_figures,
    write_results_page,
)
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.base_figures import (
    means,
    short_name,
    task_figure_name,
    task_figures,
    ten_figure_names,
    ten_figures,
)
from deskhand_trainer.studies.base_tasks import (
    CANDIDATE,
    CANDIDATES,
    LEARNABLE,
    NEVER_SHOWN,
    done_seldom,
    the_ten,
    train_tasks,
)
from deskhand_trainer.studies.done_elsewhere import same_settings
from deskhand_trainer.studies.publishing import counted_at_start
from deskhand_trainer.studies.runs import StudyRuns, model_named, until_done

Part = Literal["train", "never-shown", "held-out", "probe", "ten"]
PARTS: tuple[Part, ...] = get_args(Part)
EPISODES, TEN_EPISODES, CANDIDATE_EPISODES = 100, 200, 50
LEARNABLE_EPISODES, TRIES = 12, 8
"""Start states of each candidate that is done seldom, and tries at each."""
PROBE_EPISODES = (50, 500)
AT_ONCE = 8
"""Tasks that one run measures."""
MINUTES = 12.0
"""Cap of PPO's training, to which its evaluations come besides; the goal is 15."""
SOLVED = 0.97
"""Validation success at which it ends."""
TEN_TURNS = 8
"""Longest episode that is learned from; those that are measured go on for as long as the task lets them."""
MAX_TOKENS = 40
"""Of a reply."""
SEED_SPACING = 20_000
SEEDS = (0, 1, 2)
FOLDER, PUBLISHED = Path(".deskhand/studies/base"), Path("docs/results/base.json")


def evaluation(
    tasks: Sequence[str], episodes: int, split: Literal["test", "validation"] = "test"
) -> EvaluateConfig:
    """Greedy, as a user would let it work."""
    return EvaluateConfig(
        tasks=tuple(tasks),
        unproven=True,
        episodes=episodes,
        split=split,
        modes=("greedy",),
        max_tokens=MAX_TOKENS,
        targets=False,
    )


def measuring(part: str, tasks: Sequence[str]) -> str:
    """Name of the run that measures a few tasks at once."""
    return f"{part}/{short_name(tasks[0])}-to-{short_name(tasks[-1])}"


def learnable(tasks: Sequence[str]) -> EvaluateConfig:
    """How often one of several tries succeeds, on other validation seeds."""
    greedy = evaluation(tasks, LEARNABLE_EPISODES, "validation")
    return replace(greedy, modes=("sampled",), tries=TRIES, seed_offset=CANDIDATE_EPISODES)


def ppo_config(task: str, seed: int) -> PpoConfig:
    """How one of the ten is trained: all of them alike."""
    return PpoConfig(
        tasks=(task,),
        unproven=True,
        advantage="step_episode",
        normalisation="none",
        gamma=0.5,
        environment_weight=1.0,
        minutes=MINUTES,
        iterations=200,
        episodes_per_iteration=64,
        minibatch=64,
        lr=4e-4,
        lr_warmup_iterations=0,
        lr_final=0.1,
        freeze="vision",
        turn_limits=(TEN_TURNS,),
        max_tokens=MAX_TOKENS,
        evaluate_every=5,
        solved=SOLVED,
        seed=seed,
        seed_offset=(seed + 1) * SEED_SPACING,
    )


def probe_config(task: str, episodes: int) -> PpoConfig:
    """So many episodes of a held-out task and no more, learned from in the same way."""
    each = PROBE_EPISODES[0]
    return replace(
        ppo_config(task, 0),
        probe=True,
        environment_weight=0.0,  # MiniWoB++'s own rewards are its outcomes
        minutes=0.0,
        iterations=episodes // each,
        episodes_per_iteration=each,
        solved=None,
        validation_episodes=32,  # which choose among three checkpoints at most
        seed_offset=0,
    )


def measured_tasks() -> dict[Part, tuple[str, ...]]:
    """The tasks of the parts that only measure."""
    return {
        "train": train_tasks(),
        "never-shown": NEVER_SHOWN,
        "held-out": tuple(sorted(HELD_OUT_TASKS)),
    }


class BaseStudy:
    """Does what is left of the study in a folder."""

    def __init__(self, folder: Path, policy: str, results: Path) -> None:
        """
        Args:
            policy: id in the study's store, or "deskhand-tiny".
            results: file that figures are written to as they come.
        """
        self.runs = StudyRuns(folder)
        self._policy, self._results = policy, results
        self._figures: Mapping[str, Figure] = {}
        """What the results have, by name: read when the work begins, and as this study writes it."""
        self._writing = threading.Lock()
        self._seeds: Sequence[int] = SEEDS
        """What the means after PPO are over."""

    def run(self, parts: Sequence[Part], seeds: Sequence[int], *, workers: int = 1) -> None:
        """Do the parts.

        Raises:
            StudyStopped: a run ended without a result and not because training diverged, or another process
                works at the study; says where.
            AgentError, FlywheelError: the policy cannot be had.
            ResultsError: the results' file is not in their form.
        """
        # some of the usual ones are a part of the work: their mean waits for the others
        self._seeds = SEEDS if {*seeds} <= {*SEEDS} else tuple(dict.fromkeys(seeds))
        self.runs.folder.mkdir(parents=True, exist_ok=True)
        if self._results.exists():
            self._figures = _by_name(read_figures(self._results))
        start = asyncio.run(self._start())
        jobs: list[Callable[[], None]] = []
        for part, tasks in measured_tasks().items():
            if part in parts:
                jobs.append(partial(self._measure, part, evaluation(tasks, EPISODES), start))
        if "probe" in parts:
            jobs += [
                partial(self._probe, task, episodes, start)
                for episodes in reversed(PROBE_EPISODES)
                for task in sorted(HELD_OUT_TASKS)
            ]
        self.runs.work(jobs, workers=workers)
        if "ten" in parts:
            candidates = evaluation(CANDIDATES, CANDIDATE_EPISODES, "validation")
            self.runs.work([partial(self._measure, CANDIDATE, candidates, start)])
            model = model_named(start.manifest)
            seldom = done_seldom([*self._figures.values()], model)
            if seldom:
                self.runs.work([partial(self._measure, LEARNABLE, learnable(seldom), start)])
            ten = the_ten([*self._figures.values()], model)
            self.runs.work(
                [partial(self._ten, task, seed, start) for seed in seeds for task in ten], workers=workers
            )
        # where all that is asked for was known already, none was told
        self._tell([], start)

    async def _start(self) -> PolicyRecord:
        store, blobs = self.runs.store
        async with await Store.open(store, blobs) as opened:
            return await opened.policy_named(self._policy)

    def _measure(self, part: str, evaluating: EvaluateConfig, start: PolicyRecord) -> None:
        """A few tasks at a time: what they came to is known then, wherever the study goes on."""

        def known(task: str) -> bool:
            return self._known([task_figure_name(part, task)], replace(evaluating, tasks=(task,)), start)

        left = [task for task in evaluating.tasks if not known(task)]
        for index in range(0, len(left), AT_ONCE):
            tasks = left[index : index + AT_ONCE]
            config = asdict(replace(evaluating, tasks=tuple(tasks)))
            told = {**config, "policy": model_named(start.manifest)}
            name = measuring(part, tasks)
            found = self.runs.run(name, RunKind.EVALUATE, config, start.id)
            self._tell(self._made(task_figures(part, tasks, found["metrics"], told), name), start)

    def _probe(self, task: str, episodes: int, start: PolicyRecord) -> None:
        name, part = f"probe-{episodes}/{short_name(task)}", f"held-out-{episodes}"
        training, config = asdict(probe_config(task, episodes)), asdict(evaluation((task,), EPISODES))
        told = {**training, "policy": model_named(start.manifest)}
        if self._known([task_figure_name(part, task)], probe_config(task, episodes), start):
            return
        trained = self.runs.run(f"{name}/ppo", RunKind.PPO, training, start.id, may_diverge=True)
        found = self.runs.run(f"{name}/after", RunKind.EVALUATE, config, trained["policy_out"])
        figures = _lost(trained, task_figures(part, (task,), found["metrics"], told))
        self._tell(self._made(figures, f"{name}/ppo", f"{name}/after"), start)

    def _ten(self, task: str, seed: int, start: PolicyRecord) -> None:
        short = short_name(task)
        config, training = asdict(evaluation((task,), TEN_EPISODES)), asdict(ppo_config(task, seed))
        told = {**training, "policy": model_named(start.manifest)}
        # what a task had before PPO is written with every seed, and minutes where training did not diverge
        names = ten_figure_names(short, seed)
        if self._known(names[1:2], ppo_config(task, seed), start):
            return
        before = self.runs.run(f"{short}/before", RunKind.EVALUATE, config, start.id)
        trained = self.runs.run(f"{short}/ppo-{seed}", RunKind.PPO, training, start.id, may_diverge=True)
        after = self.runs.run(f"{short}/after-{seed}", RunKind.EVALUATE, config, trained["policy_out"])
        measured: tuple[dict[str, Any], ...] = (before["metrics"], after["metrics"], trained["metrics"])
        first, *others = ten_figures(short, seed, *measured, {**config, "policy": told["policy"]}, told)
        figures = self._made(_lost(trained, others), f"{short}/ppo-{seed}", f"{short}/after-{seed}")
        gone = names[2:] if "diverged" in trained else ()
        self._tell([*self._made([first], f"{short}/before"), *figures], start, gone=gone)

    def _made(self, figures: Sequence[Figure], *runs: str) -> list[Figure]:
        """The same, with day, commit and machine of the runs they stand on."""
        made = self.runs.made(*runs)
        return [replace(figure, **made) for figure in figures]

    def _known(self, names: Sequence[str], asked: EvaluateConfig | PpoConfig, start: PolicyRecord) -> bool:
        """Whether the results have these figures, found with these settings."""
        found, policy = self._figures, model_named(start.manifest)

        def same(settings: Mapping[str, Any]) -> bool:
            others = {name: value for name, value in settings.items() if name != "policy"}
            return settings.get("policy") == policy and same_settings(others, asked)

        return all(name in found and same(found[name].config) for name in names)

    def _tell(self, figures: Sequence[Figure], start: PolicyRecord, *, gone: Sequence[str] = ()) -> None:
        """Write figures of single tasks, and the means that are whole with them.

        Args:
            gone: names of figures that stood beside them and do not stay.
        """
        with self._writing:
            if figures:
                write_figures(self._results, figures, gone=gone)
                self._figures = _by_name(read_figures(self._results))
            known, policy = [*self._figures.values()], model_named(start.manifest)
            probes = {f"held-out-{episodes}": sorted(HELD_OUT_TASKS) for episodes in PROBE_EPISODES}
            tasks = {**measured_tasks(), **probes}
            ten = the_ten(known, policy)
            made = means(known, policy=policy, measured=tasks, ten=ten, seeds=self._seeds)
            made = [each for each in made if self._figures.get(each.name) != each]
            if not figures and not made:
                return
            write_figures(self._results, made)
            self._figures = _by_name([*known, *made])
            write_results_page(self._results.parent)
            for each in (*figures, *made):
                print(each, flush=True)


def _lost(trained: Mapping[str, Any], figures: Sequence[Figure]) -> list[Figure]:
    """The figures of a training, which say so where it diverged."""
    said = counted_at_start({"PPO": trained["diverged"]} if "diverged" in trained else {})
    return [replace(figure, note=figure.note + said) for figure in figures]


def _by_name(figures: Sequence[Figure]) -> dict[str, Figure]:
    return {figure.name: figure for figure in figures}


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study base",
        description="What the base model is worth, before and after PPO; started again it goes on.",
        epilog="Example:  deskhand study base --parts train held-out",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="store and runs (%(default)s)")
    parser.add_argument("--policy", default=DESKHAND_TINY, help="what is measured and trained (%(default)s)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[*SEEDS], help="of PPO")
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        help="runs at a time (%(default)s); PPO's minutes are worth less where it shares the cores",
    )
    parser.add_argument(
        "--results",
        type=results_file,
        help=f"file of the figures ({PUBLISHED}, of {DESKHAND_TINY} and these seeds)",
    )
    options = parser.parse_args(argv)

    def work() -> None:
        results = published_or(
            options.results,
            PUBLISHED,
            of=f"{DESKHAND_TINY} and the seeds {', '.join(map(str, SEEDS))}",
            other=options.policy != DESKHAND_TINY or not {*options.seeds} <= {*SEEDS},
        )
        study = BaseStudy(options.folder, options.policy, results)
        study.run(options.parts, options.seeds, workers=options.workers)

    return until_done(work, AgentError, FlywheelError)


if __name__ == "__main__":
    sys.exit(main())
