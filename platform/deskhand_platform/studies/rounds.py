"""Do rounds make the model of the package better at many tasks, and better than imitation in the same time?

    deskhand study rounds [FOLDER] [--rounds 3] [--set ppo.minutes=5 …]

A platform in this process does the rounds of the preset "flywheel", each from what the last one promoted:
the policy's own episodes, continued pretraining on its failures, rejection fine-tuning on its successes, PPO.
Beside it stands cloning at equal compute: from the same model, on fresh demonstrations by the oracles of the
same tasks, for the wall clock that collecting, scoring and training took in all the rounds. Both, and what
they began from, are measured greedily on the same test seeds.

Registered before it was run: tasks, seeds and budgets are the preset's; what is reported is every task's
success before, after and cloned, and the means; the gain is the mean's. Intervals are over the episodes of
these tasks, one run each: they say nothing of other seeds of training. FOLDER holds the platform's home and
a folder per run: what is done is not done again, what was stopped or failed goes on, more rounds go on from
fewer, and a round of other settings is refused. What is published is of three rounds of the preset as it is;
figures of others go where `--results` says.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from deskhand_agent.errors import AgentError
from deskhand_agent.shipped import DESKHAND_TINY
from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.cli import overrides
from deskhand_platform.errors import InvalidField, PlatformError
from deskhand_platform.rounds.book import RoundRecord
from deskhand_platform.rounds.config import RoundConfig, as_json, merge, round_config
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.serving import Platform, platform
from deskhand_platform.settings import load_settings
from deskhand_platform.states import WorkState
from deskhand_platform.studies.rounds_figures import ARMS, rounds_figures
from deskhand_trainer.config import CollectConfig, EvaluateConfig
from deskhand_trainer.results import published_or, results_file, write_figures, write_results_page
from deskhand_trainer.runs import RunKind
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.studies.runs import StudyDiffers, StudyRuns, StudyStopped, until_done
from deskhand_trainer.studies.spec_differences import differing, summary

PRESET, ROUNDS = "flywheel", 3
FOLDER, PUBLISHED = Path(".deskhand/studies/rounds"), Path("docs/results/base.json")
WORK = ("explore", "pretrain", "rejection", "score", "ppo")
"""Phases whose time cloning gets; measuring is nobody's work."""
EPISODES, DEMONSTRATIONS = 100, 100
"""Per task: on test seeds, and to clone."""
SEED_SPACING = 50_000
"""Training seeds of a round begin so far behind those of the round before; demonstrations at 1,000,000."""
LOOK_S = 1.0


class RoundsStudy:
    """Does what is left of the study in a folder."""

    def __init__(self, folder: Path, *, rounds: int, changed: Mapping[str, Any]) -> None:
        """
        Args:
            rounds: how many.
            changed: overrides of the preset.
        """
        home = folder.resolve() / "home"
        told = {
            "database": f"sqlite+aiosqlite:///{home / 'deskhand.db'}",
            "blobs": f"file://{home / 'blobs'}",
        }
        self.settings = load_settings(home=home, port=0, **told)
        self.runs = StudyRuns(folder, store=(self.settings.db_url, self.settings.blobs_url))
        self._count, self._changed = rounds, dict(changed)
        self.config: RoundConfig = checked_preset(PRESET, changed)

    def run(self) -> list[dict[str, Any]]:
        """Metrics of the model as it was, after the rounds and after cloning, in this order, and of each the
        seconds of work as `seconds`.

        Raises:
            StudyStopped: a round or a run ended without a result, or another process works at the study.
            StudyDiffers: a round or a run there was told something else.
            PlatformError: the platform does not come up.
        """
        rounds = asyncio.run(self._rounds())
        found: list[dict[str, Any]] = []
        self.runs.work([lambda: found.extend(self._measured(*rounds))])
        return found

    async def _rounds(self) -> tuple[str, str, float]:
        """What the rounds began from, what they came to, and how many seconds of work they took."""
        async with platform(self.settings) as up:
            done = [await self.round_over(up, number) for number in range(self._count)]
        first = done[0].policy_in
        assert first is not None, "the preset starts from a model"
        promoted = [record.policy_out for record in done if record.promoted and record.policy_out is not None]
        work = sum(p.seconds or 0.0 for record in done for p in record.phases if p.name in WORK)
        return first, promoted[-1] if promoted else first, work

    async def round_over(self, up: Platform, number: int) -> RoundRecord:
        """The round of a number from 0, done; one that failed or was cancelled is tried again.

        Raises:
            StudyStopped: it ended without a result.
            StudyDiffers: the one there was told something else.
        """
        services = up.services
        known = sorted(await services.book.list(limit=200), key=lambda record: record.id)
        offset = {"seed_offset": 20_000 + number * SEED_SPACING}
        later = {"seed_offset": 20_000 + number * SEED_SPACING + SEED_SPACING // 2}
        changed = merge(self._changed, {"explore": offset, "ppo": later})
        if number < len(known):
            record = known[number]
            self._check(record, checked_preset(PRESET, changed))
            if record.state in (WorkState.FAILED, WorkState.CANCELLED):
                record = await services.rounds.retry(record.id, None)
        else:
            record = await services.rounds.start(PRESET, changed)
        seen = ""
        while not record.state.over:
            phase = next((p.name for p in record.phases if p.state is WorkState.RUNNING), "")
            if phase != seen:
                print(f"round {number + 1} of {self._count}: {phase}", flush=True)
            seen = phase
            await asyncio.sleep(LOOK_S)
            record = await services.book.get(record.id)
        if record.state is not WorkState.DONE:
            raise StudyStopped(
                f"round {record.id} {record.state}: {record.reason}; its runs: {self.settings.runs}. "
                "The same command tries it again from there"
            )
        return record

    def _check(self, record: RoundRecord, asked: RoundConfig) -> None:
        """Raises:
        StudyDiffers: the round was told something else.
        """
        try:
            told = as_json(round_config(record.config))
        except InvalidField:
            told = record.config  # of an older form
        if differ := differing(told, as_json(asked)):
            raise StudyDiffers(
                f"round {record.id} in {self.runs.folder} is not the one asked for: {summary(differ)}. "
                "Ask for the same again, or give the study another folder"
            )

    def _measured(self, before: str, after: str, seconds: float) -> list[dict[str, Any]]:
        cloned, spent = self._cloned(before, seconds)
        found: list[dict[str, Any]] = []
        for name, policy, took in (
            ("before", before, 0.0),
            ("after", after, seconds),
            ("cloned", cloned, spent),
        ):
            run = self.measurements[name]
            done = self.runs.run(run, RunKind.EVALUATE, asdict(self._evaluation()), policy)
            found.append({**done["metrics"], "seconds": took})
        return found

    @property
    def measurements(self) -> dict[str, str]:
        """Name of the run that measures each arm: all but the first are of so many rounds."""
        return {arm: f"measure-{arm}" + (f"-{self._count}" if arm != ARMS[0] else "") for arm in ARMS}

    def _evaluation(self) -> EvaluateConfig:
        told = self.config.evaluate or {}
        tokens = told.get("max_tokens", EvaluateConfig().max_tokens)
        assert isinstance(tokens, int)
        return EvaluateConfig(
            tasks=self.tasks, episodes=EPISODES, modes=("greedy",), max_tokens=tokens, targets=False
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """What the rounds are about."""
        assert self.config.ppo is not None
        return tuple(map(str, self.config.ppo["tasks"]))  # pyright: ignore[reportArgumentType]

    def _cloned(self, start: str, seconds: float) -> tuple[str, float]:
        """Imitation of fresh demonstrations for about so many seconds: its policy, and what it took."""
        shown = CollectConfig(tasks=self.tasks, episodes_per_task=DEMONSTRATIONS, seed_offset=1_000_000)
        spent = float(self.runs.run("demonstrations", RunKind.COLLECT, asdict(shown), None)["seconds"])
        policy, taken, epoch = self._clone("cloning-first", start, epochs=1)
        spent += taken
        # one epoch has told how long they take, and what comes to a run besides
        left = round((seconds - spent - (taken - epoch)) / epoch)
        if left > 0:
            policy, taken, _ = self._clone(f"cloning-rest-{self._count}", policy, epochs=left)
            spent += taken
        return policy, spent

    def _clone(self, name: str, policy: str, *, epochs: int) -> tuple[str, float, float]:
        """The policy, what the run took, and its training alone."""
        told = SftConfig(
            tasks=self.tasks,
            demonstrations_per_task=DEMONSTRATIONS,
            perception_tasks=(),
            cloning_epochs=epochs,
            cloning_lr_scale=0.1,
            precision="auto",
        )
        done = self.runs.run(name, RunKind.SFT, asdict(told), policy)
        return str(done["policy_out"]), float(done["seconds"]), float(done["metrics"]["training_seconds"])


def main(argv: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="deskhand study rounds",
        description=f"Rounds from {DESKHAND_TINY}, and cloning beside them; started again it goes on.",
        epilog="Example:  deskhand study rounds --rounds 1 --set ppo.minutes=5 --results mine/base.json",
    )
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER, help="home and runs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how many (%(default)s)")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="overrides of the preset")
    parser.add_argument(
        "--results",
        type=results_file,
        help=f"file of the figures ({PUBLISHED}, of {ROUNDS} rounds of the preset)",
    )
    options = parser.parse_args(argv)
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: give 1 or more")
    return until_done(partial(_study, options), AgentError, FlywheelError, PlatformError)


def _study(options: argparse.Namespace) -> None:
    study = RoundsStudy(options.folder, rounds=options.rounds, changed=overrides.parse(options.set))
    results = published_or(
        options.results,
        PUBLISHED,
        of=f"{ROUNDS} rounds of the preset as it is",
        other=options.rounds != ROUNDS or bool(options.set),
    )
    found = study.run()
    figures = rounds_figures(
        study.tasks,
        found,
        rounds=options.rounds,
        config=as_json(study.config),
        made=study.runs.made(*study.measurements.values()),
    )
    write_figures(results, figures)
    write_results_page(results.parent)
    print(*figures, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
