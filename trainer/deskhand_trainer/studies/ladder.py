"""Which method learns more from the same experience? The ladder, as it was registered before it was run.

    deskhand study ladder [FOLDER] [--rungs sokoban …] [--arms ppo …] [--seeds 0 1 2] [--workers 2]

A rung is a task. The arms of a seed go on from one policy that solves some of the start states: on Sokoban's
text a new model that has imitated a few of the oracle's episodes, on a web page the package's as it is, which
never saw that task. An arm is a preset of `deskhand train presets`, and nothing else set by arm. All of a
rung get the same number of turns in their sandboxes, those that value pretraining takes included, the same
rates, minibatches and rewards; the wall clock is told. What they come to is measured on test seeds, by
drawing and greedily.

Arms: `grpo`; `rebn` (REINFORCE with ReBN); `ppo` (over tokens); `turn-ppo`; `st-ppo`; `unpretrained`, which
is turn-PPO with a critic that begins untaught; `bilevel`. On Sokoban, registered after those had been
measured there, `critic-5`, `critic-50` and `critic-500`: turn-PPO whose critic learns at so many times the
policy's rate, where all others' does at ten (Turn-PPO is told of with 5 and with 500). They go on from
starts of their own, made in the same way, and are compared with one another alone. Control: `shuffled`,
turn-PPO with outcomes dealt out at random, and a critic trained on shuffled returns, neither of which may
learn anything; the critic's counts where it explains more of real returns than a control may.

Figures: success of every arm, its mean and its worst seed, failures too; and differences of arms, paired by
seed, with Student's interval over the seeds: turn − token, token − GRPO, ReBN − GRPO, ST − turn, pretrained −
unpretrained, bi-level − token, the critic's rates 50 − 5 and 500 − 5; and what a critic with a model of its
own explains beside one that is a head. Three seeds tell large differences only: the intervals say so.

Chosen by trying before anything was compared: how many demonstrations, and how often, give a start on Sokoban
that solves about two fifths of the start states, where the package's policy solves three fifths of the web
page's without any; that on Sokoban a new model does as well as the package's, whose learning takes several
times as long; and, with turn-PPO and a seed of its own, rates and batches with which Sokoban is learnt in
some 30,000 turns and the page gains in 2,000. On the page the vision tower stays as it is: where it learnt,
learning took five sixths of an iteration, and two fifths so. Three registrations before were withdrawn and
none of it is kept: the page's with a tower that learns and 12,000 turns, which would have taken days, after
one iteration; and after their first seed, two of Sokoban: from a start at a fifth the price of Sokoban's
moves made giving up worth as much as trying, and most arms learnt to give up; and at the loop study's rate,
twice Sokoban's, with half the batch, no arm learnt anything. GRPO's arms of both rungs were withdrawn too:
they ran while its mean over trajectories counted long episodes for more than short ones. The critic's control
was amended before it was run again: without the episodes that ran into their limit nine in ten that it read
were successes, and their returns hardly varied. Left out of METHODS §7: frozen lake, pixel forms, the shop,
rewards by a process model. FOLDER holds the store and a folder per run: a finished run is not done again, a
killed one goes on. What is kept of every arm stands beside the results and travels with them: a seed whose
arms are all there needs no folder. An arm that was told something else is done anew and in no figure.
One whose training diverges is kept as failed, with the reason and after how many iterations, and told of; the
others go on, and `--again` alone lets it go on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from deskhand_agent.errors import AgentError
from deskhand_flywheel.errors import FlywheelError
from deskhand_flywheel.store import Store
from deskhand_trainer.config import CollectConfig
from deskhand_trainer.results import results_file, write_figures, write_results_page
from deskhand_trainer.run_folder import write_json
from deskhand_trainer.runs import RunKind
from deskhand_trainer.studies.ladder_curves import draw_curves, iterations_done, read_curve
from deskhand_trainer.studies.ladder_figures import CONTROL, failed_figure, ladder_figures
from deskhand_trainer.studies.ladder_plan import (
    ARMS,
    CRITIC_RATES,
    RUNGS,
    ArmSpec,
    arm_config,
    arms_of,
    evaluation,
    start_config,
)
from deskhand_trainer.studies.ladder_record import (
    ArmRecord,
    FailedArm,
    LadderRecord,
    read_record,
    write_record,
)
from deskhand_trainer.studies.runs import RunFailed, StudyRuns, result_of, run_id, until_done

FOLDER = Path(".deskhand/studies/ladder")


class LadderStudy:
    """Does what is left of the study in a folder."""

    def __init__(self, folder: Path, record: LadderRecord, tell: Callable[[LadderRecord], None]) -> None:
        """
        Args:
            record: of what is done, here or elsewhere; of another model or by other settings it is done anew.
            tell: called after every arm with what is done then.
        """
        self.runs = StudyRuns(folder)
        self._tell = tell
        self._record, self._guard = record, threading.Lock()

    def run(self, specs: Sequence[ArmSpec], *, workers: int = 1) -> None:
        """Train and measure the arms, several at a time; one that diverges is kept as failed.

        Raises:
            StudyStopped: a run ended without a result for any other reason, or another process works at the
                study; says where.
            AgentError, FlywheelError: the policy cannot be had.
        """
        self.runs.folder.mkdir(parents=True, exist_ok=True)
        bases = asyncio.run(self._bases({spec.rung.name: spec.rung.policy for spec in specs}))
        self._record = self._record.made_of(bases)
        left = [spec for spec in specs if not self._record.have_all(_beside(spec, specs))]
        if not left:
            print(f"nothing left: all {len(specs)} arms are in the record", flush=True)
        self.runs.work([partial(self._arm, spec, bases[spec.rung.name]) for spec in left], workers=workers)

    async def _bases(self, named: Mapping[str, str | None]) -> dict[str, str | None]:
        """Ids of the models that the rungs' starts are made of."""
        store, blobs = self.runs.store
        async with await Store.open(store, blobs) as opened:
            return {
                rung: None if name is None else (await opened.policy_named(name)).id
                for rung, name in named.items()
            }

    def _arm(self, spec: ArmSpec, base: str | None) -> None:
        start = self._start(spec, base)
        model = asyncio.run(self.runs.model_of(start)) if start != base else start
        config = asdict(arm_config(spec))
        kept = self._record.have(spec.name, config)
        if kept is not None and kept.start == model:
            return
        control = spec.arm == CONTROL
        measure = "control" if control else "evaluate"
        measured = asdict(evaluation(spec, control=control))
        before = self.runs.run(f"{spec.start}/{measure}", RunKind.EVALUATE, measured, start)["metrics"]
        critic = self._critic(spec, start) if control else None
        try:
            trained = self.runs.run(f"{spec.name}/train", RunKind.PPO, config, start)
        except RunFailed as failure:
            if not failure.diverged:
                raise
            self._keep(spec, self._failed(spec, failure.reason, base=base, start=model))
            return
        tested = self.runs.run(f"{spec.name}/{measure}", RunKind.EVALUATE, measured, trained["policy_out"])
        after = tested["metrics"]
        arm = ArmRecord(
            base=base,
            start=model,
            before=before["success_sampled"],
            after=after["success_sampled"],
            greedy=after.get("success_greedy"),
            minutes=trained["metrics"]["minutes"],
            turns=trained["metrics"]["turns"],
            curve=read_curve(self.runs.store, f"{spec.name}/train"),
            critic=critic,
            config=json.loads(json.dumps(config)),
            **self.runs.made(f"{spec.name}/train"),
        )
        self._keep(spec, arm)

    def _failed(self, spec: ArmSpec, reason: str, *, base: str | None, start: str) -> FailedArm:
        return FailedArm(
            base=base,
            start=start,
            iterations=iterations_done(self.runs.store, f"{spec.name}/train"),
            reason=reason,
            config=json.loads(json.dumps(asdict(arm_config(spec)))),
            **self.runs.made(f"{spec.name}/train"),
        )

    def _keep(self, spec: ArmSpec, arm: ArmRecord | FailedArm) -> None:
        ended = "failed" if isinstance(arm, FailedArm) else "done"
        print(f"{ended}: {spec.name}", flush=True)
        with self._guard:
            self._record = self._record.with_arm(spec.name, arm)
            self._tell(self._record)

    def _start(self, spec: ArmSpec, base: str | None) -> str:
        """Id of the policy the arms of a seed begin from."""
        rung = spec.rung
        if base is not None and not rung.demonstrations:
            return base
        shown = asdict(CollectConfig(tasks=(rung.task,), episodes_per_task=rung.demonstrations))
        self.runs.run(f"{rung.name}/demonstrations", RunKind.COLLECT, shown, None)
        config = asdict(start_config(rung, spec.seed))
        return str(self.runs.run(f"{spec.start}/train", RunKind.SFT, config, base)["policy_out"])

    def _critic(self, spec: ArmSpec, start: str) -> dict[str, float]:
        place = self.runs.folder / spec.start / "critic"
        with self.runs.lock(place):
            done = result_of(place)
            if done is None:
                place.mkdir(parents=True, exist_ok=True)
                run = run_id(f"{spec.start}/control")
                # loads PyTorch, which nothing else here needs
                from deskhand_trainer.studies.critic_control import measure_critic

                done = {
                    "metrics": measure_critic(
                        *self.runs.store, policy=start, run=run, seed=spec.seed, folder=place, separate=True
                    )
                }
                write_json(place / "result.json", done)
            return {key: float(done["metrics"][key]) for key in ("real", "shuffled", "separate")}


def _beside(spec: ArmSpec, specs: Sequence[ArmSpec]) -> dict[str, Any]:
    """What the arms are told that it is compared with, of its rung and seed: they are done from one start."""
    same = [each for each in specs if each.rung is spec.rung and each.seed == spec.seed]
    rates = spec.arm in CRITIC_RATES
    return {each.name: asdict(arm_config(each)) for each in same if (each.arm in CRITIC_RATES) is rates}


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study ladder",
        description="The ladder of methods; stopped and started again it goes on.",
        epilog="Example:  deskhand study ladder --rungs sokoban --arms turn-ppo ppo grpo",
    )
    names = [rung.name for rung in RUNGS]
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="store and runs (%(default)s)")
    parser.add_argument("--rungs", nargs="+", choices=names, default=names)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument(
        "--seeds", nargs="+", type=int, default=[0, 1, 2],
        help="to do (%(default)s); figures are of all seeds in the record, too",
    )  # fmt: skip
    parser.add_argument("--workers", type=int, default=1, help="arms at a time (%(default)s)")
    parser.add_argument(
        "--results", type=results_file, default=Path("docs/results/ladder.json"), help="file of the figures"
    )
    parser.add_argument(
        "--record",
        type=Path,
        default=Path("docs/results/runs/ladder.json"),
        help="what is kept of arms that are done, here or elsewhere: they are not done again (%(default)s)",
    )
    parser.add_argument("--again", action="store_true", help="go on with arms that failed, too")
    parser.add_argument("--report", action="store_true", help="only write the figures of what is done")
    options = parser.parse_args(argv)
    rungs = [rung for rung in RUNGS if rung.name in options.rungs]

    def tell(done: LadderRecord) -> None:
        write_record(options.record, done)
        _publish(options.results, options.seeds, done)

    def work() -> None:
        record = read_record(options.record)
        if options.report:
            _publish(options.results, options.seeds, record)
            return
        specs = arms_of(rungs, options.arms, options.seeds)
        if options.again:
            record = record.without_failed([spec.name for spec in specs])
        LadderStudy(options.folder, record, tell).run(specs, workers=options.workers)

    return until_done(work, AgentError, FlywheelError)


def _publish(results: Path, seeds: Sequence[int], record: LadderRecord) -> None:
    """Write figures and curves of all that is done as registered; what was not stays in the record alone.

    Args:
        seeds: that are told of beside all the record has.
    """
    seeds = sorted({*seeds, *record.seeds})
    record = record.told({spec.name: asdict(arm_config(spec)) for spec in arms_of(RUNGS, ARMS, seeds)})
    for rung in RUNGS:
        named = {arm: [f"{rung.name}/{arm}-{seed}" for seed in seeds] for arm in ARMS}
        curves = {
            arm: [c for name in names if name in record.arms and (c := record.arms[name].curve)]
            for arm, names in named.items()
        }
        drawn = {arm: found for arm, found in curves.items() if found}
        if drawn:
            draw_curves(drawn, rung.task, results.parent / f"ladder-{rung.name}.png")
    figures = ladder_figures(record, {rung.name: ARMS for rung in RUNGS}, seeds)
    if figures:
        named = {figure.name for figure in figures}
        mended = {failed_figure(rung.name, arm) for rung in RUNGS for arm in ARMS} - named
        write_figures(results, figures, gone=sorted(mended))
        write_results_page(results.parent)
    print(*figures, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
