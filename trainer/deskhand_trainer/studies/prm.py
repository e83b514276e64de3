"""What is the process reward model worth? Registered before it was run; "quality" stands measured again.

    deskhand study prm [FOLDER] [--parts quality verifier reward] [--seeds 0 1 2 3 4] [--workers 1]

"quality": the policy of the package plays training seeds of `Plan.tasks`, several times from each start, and
test seeds of tasks that nothing is ever trained on. Every step of episodes no longer than `Plan.longest` is
labelled by Monte-Carlo continuation with the same policy, a model is trained on the labels of the first,
calibrated on those of tasks kept apart among them, and measured on the held-out tasks' labels: AUC over the
steps whose labels tell whether they help, expected calibration error over all, as registered, and over those
that tell: of most steps the label does not tell from 1/2, and saying 1/2 of all does well. A model trained on
outcomes in place of continuations stands beside it, measured by the same labels; so do the AUC over labels
3 standard errors from 1/2, how many labels chance alone would have tell, and the AUC of who knows how often
each state succeeds and nothing of the step. Intervals are by bootstrap over start states.

"verifier": the policy works test seeds of the tasks the model was trained on, acting once on its first reply
and once on the one of four that the model scores highest. Compared are the means over the tasks, with an
interval over episodes.

"reward": on Sokoban, per seed, a new policy that imitated a few episodes plays, its steps are labelled by
continuation, a model is trained on them, and two arms of turn-PPO go on from that policy: one is paid for
outcomes alone, the other for the model's scores too. Compared are the turns until either first has, on
validation seeds, the success halfway from the start's, the mean of both arms' first measurements, to the best
that the better arm has: their ratio, with Student's interval over the seeds' log ratios. An arm that never
has it counts with all its turns; a seed in which neither rises above the start counts as no difference. The
turns that labelling took are not counted among them, and are told. Amended before any of it was run: the
success registered at first, the most that both arms reach, was one that an arm that learns nothing has from
its first measurement on, and it counted as thousands of times faster.

What is published of "quality" is the second measurement on the held-out tasks. The first (2026-11-26, commit
8b2ba83) found an AUC of .43 [.25, .67], over the 37 of 739 steps whose labels tell. Then the model came to
read how likely a reply is, the head to learn by dropout and at other rates, the trunk to stay as it is, all
chosen by trying on labels of the tasks that are trained on; and starts are tried several times: 3,481 labels
in place of 1,293. So these tasks are no longer untouched, and their AUC says what was found before. Amended
since, and not measured yet: the model reads by how much a reply falls short of the likeliest in place of
its mean log-probability, with more dropout. Labels of 1,284 steps by the package's model as it is since 27
November 2026, tasks left out in turn, gave an AUC of .43 as it was and about .6 so.

FOLDER holds the store and a folder per run: a finished run is not done again, a killed one goes on. A seed of
"reward" that is done stands beside the results too, and is not done again where FOLDER is not. An arm whose
training diverges counts as one that never rises above its start, and the figures say so.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_agent.test_time.settings import Deliberation
from deskhand_flywheel.errors import FlywheelError
from deskhand_trainer.config import CollectConfig, EvaluateConfig, LabelConfig, ScoreConfig
from deskhand_trainer.results import Figure, published_or, results_file
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.done_elsewhere import DoneElsewhere
from deskhand_trainer.studies.ladder_curves import read_curve
from deskhand_trainer.studies.prm_figures import (
    quality_figures,
    reward_figures,
    unimproved,
    verifier_figures,
)
from deskhand_trainer.studies.prm_measuring import measure
from deskhand_trainer.studies.prm_plan import Plan, reward_settings, verifying
from deskhand_trainer.studies.publishing import Unknown, made_by, publish
from deskhand_trainer.studies.runs import StudyRuns, if_done, run_id, until_done

Part = Literal["quality", "verifier", "reward"]
PARTS: tuple[Part, ...] = get_args(Part)
FOLDER = Path(".deskhand/studies/prm")
PUBLISHED = Path("docs/results/prm.json")
SEEDS = (0, 1, 2, 3, 4)


class PrmStudy:
    """Does what is left of the study in a folder."""

    def __init__(
        self, folder: Path, plan: Plan, policy: str, record: Path, *, only_done: bool = False
    ) -> None:
        """
        Args:
            policy: id in the study's store, or "deskhand-tiny".
            record: file of the reward's seeds that are done, here or elsewhere.
            only_done: nothing is begun; it tells of what is done.
        """
        self.runs, self.plan, self._policy = StudyRuns(folder, only_done=only_done), plan, policy
        self._elsewhere = DoneElsewhere(record)

    def run(self, parts: Sequence[Part], seeds: Sequence[int], *, workers: int = 1) -> None:
        """Label, train and measure.

        Raises:
            StudyStopped: a run ended without a result, or another process works at the study; says where.
            AgentError, FlywheelError: the policy cannot be had.
        """
        base = asyncio.run(self.runs.policy_named(self._policy))
        jobs: list[tuple[str, Callable[[], object]]] = []
        if "verifier" in parts:
            jobs.append(("verifier", partial(self._verifier, base)))
        if "quality" in parts:
            jobs.append(("quality", partial(self._quality, base)))
        if "reward" in parts:
            jobs += [(f"reward, seed {seed}", partial(self._reward, base, seed)) for seed in seeds]

        def told(name: str, job: Callable[[], object]) -> None:
            job()
            print(f"done: {name}", flush=True)

        self.runs.work([partial(told, *each) for each in jobs], workers=workers)

    def figures(self, parts: Sequence[Part], seeds: Sequence[int]) -> list[Figure | Unknown]:
        """Of what is done of the parts; `only_done` begins nothing more.

        Raises:
            StudyDiffers: some of it was done by another plan or with another policy.
            AgentError, FlywheelError: the policy cannot be had.
        """
        base = asyncio.run(self.runs.policy_named(self._policy))
        config: dict[str, Any] = {"policy": base, **asdict(self.plan)}
        made = self.runs.made
        found: list[Figure | Unknown] = []
        if "quality" in parts and (quality := if_done(partial(self._quality, base))):
            on = ("quality/labels", "quality/model", "quality/outcome-model", "quality/measured")
            found += quality_figures(quality, config, made(*on))
        if "verifier" in parts and (ways := if_done(partial(self._verifier, base))):
            on = ("verifier/best", "verifier/single")
            found += verifier_figures(ways["best"], ways["single"], self.plan.tasks, config, made(*on))
        if "reward" in parts:
            compared = {seed: if_done(partial(self._reward, base, seed)) for seed in seeds}
            done = {seed: each for seed, each in compared.items() if each}
            found += reward_figures(done, config, made_by([each["made"] for each in done.values()]))
        return found

    # ---- quality ----

    def _verifier(self, base: str) -> dict[str, dict[str, Any]]:
        """Metrics of the evaluations with a verifier and without."""
        model = self._model(base)[0]
        ways = {
            "single": Deliberation(),
            "best": Deliberation(samples=self.plan.candidates, choose="judge", judge=model),
        }
        return {
            name: self.runs.run(
                f"verifier/{name}", RunKind.EVALUATE, asdict(verifying(self.plan, told)), base
            )["metrics"]
            for name, told in ways.items()
        }

    def _model(self, base: str) -> tuple[str, ScoreConfig, dict[str, Any]]:
        """Id of the model that learned from continuations, what it was told, and what labelling came to."""
        plan = self.plan
        collected = CollectConfig(
            tasks=plan.tasks,
            policy="local",
            unproven=True,
            episodes_per_task=plan.episodes,
            tries=plan.tries,
            max_tokens=plan.max_tokens,
            concurrency=plan.concurrency,
        )
        self.runs.run("quality/seen", RunKind.COLLECT, asdict(collected), base)
        met = EvaluateConfig(
            tasks=plan.unseen,
            unproven=True,
            episodes=plan.episodes,
            tries=plan.unseen_tries,
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
            max_steps=plan.longest,
            max_tokens=plan.max_tokens,
            max_trajectories=100_000,
            concurrency=plan.concurrency,
        )
        labelled = self.runs.run("quality/labels", RunKind.LABEL, asdict(labels), base)
        labeller = str(labelled["metrics"]["labeller"])
        told = replace(plan.model, labeller=labeller, runs=runs[:1], leave_out=plan.unseen)
        model = self.runs.run("quality/model", RunKind.SCORE, asdict(told), base)["policy_out"]
        return str(model), told, labelled["metrics"]

    def _quality(self, base: str) -> dict[str, Any]:
        """What `measure` says of both models, and what labelling came to."""
        model, told, labelled = self._model(base)
        runs = run_id("quality/seen"), run_id("quality/unseen")
        guess = replace(told, labels=("outcome",))
        guessing = self.runs.run("quality/outcome-model", RunKind.SCORE, asdict(guess), base)["policy_out"]
        measuring = replace(told, runs=runs)

        def measured() -> dict[str, Any]:
            print("measuring: quality", flush=True)
            place, of = self.runs.folder / "quality/measured", {"model": model, "outcome_model": guessing}
            found = {
                name: asyncio.run(
                    measure(self.runs.store, each, measuring, self.plan.unseen, folder=place / name)
                )
                for name, each in of.items()
            }
            return {"metrics": found, "labelled": labelled}

        return self.runs.kept("quality/measured", measured)

    # ---- reward ----

    def _reward(self, policy: str, seed: int) -> dict[str, Any]:
        """The curves of both arms, what labelling came to, and where."""
        plan, rung, home = self.plan, self.plan.rung, f"reward/{seed}"
        base = None if rung.policy is None else policy
        told = reward_settings(plan, seed)
        if base is None and (found := self._elsewhere.found(home, told)):
            return found
        start_made, outcome, process = (asdict(told[each]) for each in ("start", "outcome", "process"))
        self.runs.run("reward/demonstrations", RunKind.COLLECT, asdict(told["demonstrations"]), None)
        start = str(self.runs.run(f"{home}/start", RunKind.SFT, start_made, base)["policy_out"])
        self.runs.run(f"{home}/played", RunKind.COLLECT, asdict(told["played"]), start)
        labels = asdict(told["labels"])
        labelled = self.runs.run(f"{home}/labels", RunKind.LABEL, labels, start)["metrics"]
        learned = replace(plan.model, labeller=labelled["labeller"], runs=told["labels"].runs)
        model = self.runs.run(f"{home}/model", RunKind.SCORE, asdict(learned), start)["policy_out"]
        trained = {
            "outcome": self.runs.run(f"{home}/outcome", RunKind.PPO, outcome, start, may_diverge=True),
            "process": self.runs.run(
                f"{home}/process", RunKind.PPO, process, start, reward_model=model, may_diverge=True
            ),
        }
        lost = {arm: each["diverged"] for arm, each in trained.items() if "diverged" in each}

        def compared() -> dict[str, Any]:
            curves = {arm: read_curve(self.runs.store, f"{home}/{arm}") for arm in trained}
            flat = {arm: unimproved([curves[arm], *curves.values()], rung.turns) for arm in lost}
            return {"metrics": curves | flat, "labelled": labelled, "diverged": lost}

        kept = self.runs.kept(f"{home}/compared", compared)
        found = {name: kept[name] for name in ("metrics", "labelled", "diverged") if kept.get(name)}
        made = self.runs.made(f"{home}/outcome", f"{home}/process")
        if base is None and not self.runs.only_done:
            self._elsewhere.keep(home, told, found, made)
        return {**found, "made": made}


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
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        help="what is measured; of the reward, turns halfway from the start to the better arm's best (all)",
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), help="of the reward's arms")
    parser.add_argument("--tasks", nargs="+", default=list(plan.tasks), help="other ones to train on")
    parser.add_argument("--unseen", nargs="+", default=list(plan.unseen), help="other ones to measure on")
    for name, told in {
        "--episodes": "start states of each task",
        "--tries": "episodes from each start that is learned from",
        "--unseen-tries": "episodes from each start that is measured on",
        "--continuations": "from each state",
        "--longest": "steps of an episode that is labelled, at most",
        "--played": "episodes that the model of the reward's arms learns from",
    }.items():
        default = getattr(plan, name.removeprefix("--").replace("-", "_"))
        parser.add_argument(name, type=int, default=default, help=f"{told} (%(default)s)")
    parser.add_argument("--turns", type=int, default=plan.rung.turns, help="of each arm (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="jobs at a time (%(default)s)")
    parser.add_argument(
        "--results",
        type=results_file,
        help=f"file of the figures ({PUBLISHED}, of {DESKHAND_TINY} and the plan as registered)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        default=Path("docs/results/runs/prm.json"),
        help="what is kept of the reward's seeds that are done, here or elsewhere (%(default)s)",
    )
    parser.add_argument("--report", action="store_true", help="only write the figures of what is done")
    options = parser.parse_args(argv)
    plan = replace(
        plan,
        tasks=tuple(options.tasks),
        unseen=tuple(options.unseen),
        episodes=options.episodes,
        tries=options.tries,
        unseen_tries=options.unseen_tries,
        continuations=options.continuations,
        longest=options.longest,
        played=options.played,
        rung=replace(plan.rung, turns=options.turns),
    )

    def work() -> None:
        results = published_or(
            options.results,
            PUBLISHED,
            of=f"{DESKHAND_TINY} and the plan as registered",
            other=options.policy != DESKHAND_TINY or plan != Plan() or not {*options.seeds} <= {*SEEDS},
        )
        told = options.folder, plan, options.policy, options.record
        try:
            if not options.report:
                PrmStudy(*told).run(options.parts, options.seeds, workers=options.workers)
        finally:
            done = PrmStudy(*told, only_done=True)
            publish(results, done.figures(options.parts, options.seeds))

    return until_done(work, AgentError, FlywheelError)


if __name__ == "__main__":
    sys.exit(main())
