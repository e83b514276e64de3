"""Pretraining: vision learns to read strips of pages, then everything learns from questions about them, and
about what actions changed on others.

Stops and resumes anywhere between two steps; the result depends on the arguments and the precision alone, and
where it has minutes on how many steps the machine does in them.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.precision import multiplying, resolved
from deskhand_sandbox.tasks.generated import SIZES_PX
from deskhand_trainer.base.ahead import Ahead
from deskhand_trainer.base.change_questions import CHANGE_KINDS, ask_change
from deskhand_trainer.base.changes import SeenChange
from deskhand_trainer.base.clock import Clock
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.base.drawing import count_in, holds_changes, size_px_of
from deskhand_trainer.base.feed import Feed
from deskhand_trainer.base.heads import PerceptionHeads
from deskhand_trainer.base.optimizers import WarmStartOptimizer
from deskhand_trainer.base.perception import Perception, Studied, StudiedPage
from deskhand_trainer.base.prepared import PreparedPages, PreparedStrips
from deskhand_trainer.base.questions import ask_many
from deskhand_trainer.base.shards import read_changes
from deskhand_trainer.base.sole_roles import read_pages
from deskhand_trainer.checkpoints import load_checkpoint, save_checkpoint, take_up
from deskhand_trainer.cloning import TurnOrder, apart, cloning_figures, cloning_loss
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunStopped
from deskhand_trainer.side_by_side import in_parts
from deskhand_trainer.types import TrainingSample

Page = TypeVar("Page")
Ready = TypeVar("Ready")
STAGES = ("reading", "asking")
MOST_QUESTIONS = 64
"""Asked about one picture, however large."""
HELD_OUT = 0.02
"""Share of the demonstrations that is not imitated."""
LOOK_UNTIL, LOOK_LESS_FROM = 0.85, 0.55
"""Shares of the asking stage: the looking head is told where to look, from the second on less and less, from
the first on no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageProgress:
    """How far a training in stages is; reported after every step."""

    stage: str
    step: int
    """Of this stage, from 1."""
    steps: int
    """Of this stage, in all."""
    loss: float
    figures: Mapping[str, float] = field(default_factory=dict[str, float])
    """Held-out figures, now and then; empty otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PretrainReport:
    """What it came to."""

    figures: Mapping[str, float]
    """On held-out pages at the end (see `Perception.figures`)."""
    steps: int
    """Done, of both stages."""
    curve: Sequence[Mapping[str, float]]
    """Figures on the way, each with "step" (of both stages) and "seconds"."""
    seconds: float
    """Of training, earlier lives included."""
    heads: PerceptionHeads
    """What the dense labels were read off by."""


def pretrain(
    bundle: ModelBundle,
    shards: Sequence[Path],
    held_out: Sequence[Path],
    config: PretrainConfig,
    *,
    demonstrations: Sequence[TrainingSample] = (),
    progress: Callable[[StageProgress], None] = lambda _: None,
    checkpoint_dir: Path | None = None,
    heads_from: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PretrainReport:
    """Train the bundle's model in place.

    Args:
        shards: of `draw_pages`, and of `draw_changes` where there are any, train seeds.
        held_out: shards the figures are taken on.
        demonstrations: imitated in between; a few trajectories are held out for the figures.
        progress: called after every step.
        checkpoint_dir: kept up to date and resumed from; None: neither.
        heads_from: folder of the model that this one starts as; it goes on with the perception heads there,
            where there are any.
        should_stop: asked after every step; True writes a checkpoint and raises.

    Raises:
        RunStopped: `should_stop` said so; the state is safe where a checkpoint folder was given.
        CheckpointDamaged, DiskFull: see `deskhand_trainer.checkpoints`.
        TrainingDiverged: no gradient was finite, many times in a row.
        ShardDamaged: a file of pages cannot be used.
        RunRefused: a released model, fewer pages or changes than a step takes, or heads of another model.
        ConfigError: a GPU is asked for, and PyTorch finds none.
    """
    torch.set_num_threads(config.threads)
    bundle.to(learning_device(config.device))
    training = _Pretraining(
        bundle, shards, held_out, config, demonstrations, progress, checkpoint_dir, should_stop
    )
    if heads_from is not None:
        training.aided |= training.perception.heads.load(heads_from)
    return training.run()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Part(Generic[Ready]):
    """A part of a step."""

    share: float
    """Of its pages."""
    made: Ready | None = None
    make: Callable[[], Ready] | None = None
    """Where it is not made yet."""

    def ready(self) -> Ready:
        if self.made is not None:
            return self.made
        assert self.make is not None
        return self.make()


class _Pretraining:
    def __init__(
        self,
        bundle: ModelBundle,
        shards: Sequence[Path],
        held_out: Sequence[Path],
        config: PretrainConfig,
        demonstrations: Sequence[TrainingSample],
        progress: Callable[[StageProgress], None],
        checkpoints: Path | None,
        should_stop: Callable[[], bool],
    ) -> None:
        self.clock = Clock(config.minutes)
        self.bundle, self.config, self.report = bundle, config, progress
        self.checkpoints, self.should_stop = checkpoints, should_stop
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.perception = Perception(bundle)
        self.perception.heads.to(bundle.device)
        self.aided = config.reading_steps > 0
        self.read = partial(read_pages, sole_roles=config.sole_roles)
        self.held_out = [each for path in held_out for each in self._examined(path)]
        changes = [path for path in shards if holds_changes(path)]
        pages = [path for path in shards if path not in changes]
        seed = config.seed
        self.reading = Feed(pages, self.read, per_step=self._strips_of, seed=seed, name="reading")
        self.asking = Feed(pages, self.read, per_step=self._pages, seed=seed, name="asking")
        self.changes: Feed[SeenChange] | None = None
        if changes and config.change_share:
            self.changes = Feed(changes, read_changes, per_step=self._changes, seed=seed, name="changes")
        self.totals = {"reading": config.reading_steps, "asking": config.asking_steps}
        learned, self.shown = apart(demonstrations, held_out=HELD_OUT, seed=seed)
        self.turns = TurnOrder(learned, each=config.turns_per_step, seed=seed)
        self.imitating = config.demonstration_share if learned else 0.0
        asking = config.asking_steps - int(config.asking_steps * self.imitating)
        self.strips = Ahead(self._reading_parts, workers=config.workers, until=config.reading_steps)
        self.asked = Ahead(self._asking_parts, workers=config.workers, until=asking)
        self.precision = resolved(config.precision, bundle.device.type)
        self.optimizer = WarmStartOptimizer(
            {"model": bundle.model, "heads": self.perception.heads}, config, precision=self.precision
        )
        self.done, self.over, self.seconds = 0, False, 0.0
        self.curve: list[dict[str, float]] = []
        self.saved_at = time.monotonic()

    def run(self) -> PretrainReport:
        with torch.random.fork_rng(devices=[]):
            self._resume()
            self.over = self._spent() >= 1.0
            self.bundle.model.train()
            try:
                while not self.over:
                    self._step()
            finally:
                self.strips.close()
                self.asked.close()
            self.bundle.model.eval()
        last = self.curve[-1] if self.curve else {}
        figures = {name: value for name, value in last.items() if name not in ("step", "seconds")}
        self.bundle.to(torch.device("cpu"))
        return PretrainReport(
            figures=figures,
            steps=self.done,
            curve=self.curve,
            seconds=self.seconds,
            heads=self.perception.heads.to("cpu"),
        )

    def _spent(self) -> float:
        """Share of the steps or of the minutes, of whichever limit is nearer."""
        total = sum(self.totals.values())
        return max(self.done / total if total else 1.0, self.clock.share())

    def _step(self) -> None:
        stage, step = self._place()
        started = time.monotonic()
        told = self.optimizer.step(self._losses(stage, step), self._spent(), threads=self.config.threads)
        self.done += 1
        self.seconds += time.monotonic() - started
        if stage == "reading":
            self.clock.begin_part()
        self.over = self._spent() >= 1.0
        figures = self._figures() if self.over or self.done % self.config.figures_every == 0 else {}
        self.report(
            StageProgress(stage=stage, step=step + 1, steps=self.totals[stage], loss=told, figures=figures)
        )
        self._keep(stop=self.should_stop())

    def _place(self) -> tuple[str, int]:
        """The stage and its step that come next."""
        reading = self.totals["reading"]
        return ("reading", self.done) if self.done < reading else ("asking", self.done - reading)

    def _losses(self, stage: str, step: int) -> list[Callable[[], Tensor]]:
        """Of each part of the step's pages, weighted by its share of them."""
        if stage == "reading":
            return [partial(self._reading_loss, part) for part in self.strips.at(step)]
        before, now = (int(each * self.imitating) for each in (step, step + 1))
        if now > before:
            return self._cloning_losses(before)
        share = max(step / self.totals["asking"], self.clock.share(of_part=True))
        looking = min(1.0, max(0.0, (LOOK_UNTIL - share) / (LOOK_UNTIL - LOOK_LESS_FROM)))
        return [partial(self._asking_loss, part, looking) for part in self.asked.at(step - before)]

    def _reading_parts(self, step: int) -> list[_Part[PreparedStrips]]:
        pages = [self.perception.study(page) for page in self.reading.at(step)]

        def prepare(part: Sequence[StudiedPage], number: int) -> PreparedStrips:
            draws = np.random.default_rng([self.config.seed, step, number])
            return self.perception.prepare_strips(part, draws)

        return self._parts(pages, prepare)

    def _asking_parts(self, number: int) -> list[_Part[PreparedPages]]:
        """Of the asking step that comes after so many others."""
        asked = self._asked(number)
        questions = self._questions(asked)

        def prepare(part: Sequence[Studied], place: int) -> PreparedPages:
            draw = random.Random(f"{self.config.seed}/{self.totals['reading'] + number}/{place}")
            made = self.perception.prepare_pages(part, draw, questions=questions)
            # what was asked is not handed to another process: only figures need it
            return replace(made, asked=replace(made.asked, asked=())) if self.config.workers else made

        return self._parts(asked, prepare)

    def _parts(
        self, pages: Sequence[Page], prepare: Callable[[Sequence[Page], int], Ready]
    ) -> list[_Part[Ready]]:
        """Prepared at once where others than the trainer do it, and only when it is learned otherwise: then
        each part is prepared on its own thread."""
        found: list[_Part[Ready]] = []
        for number, part in enumerate(in_parts(pages, self.config.parts)):
            ready = partial(prepare, part, number)
            if self.config.workers:
                made = ready()
                found.append(_Part(share=len(part) / len(pages), made=made))
            else:
                found.append(_Part(share=len(part) / len(pages), make=ready))
        return found

    def _reading_loss(self, part: _Part[PreparedStrips]) -> Tensor:
        with multiplying(self.precision, self.bundle.device.type):
            return part.share * self.perception.read(part.ready())

    def _asking_loss(self, part: _Part[PreparedPages], looking: float) -> Tensor:
        with multiplying(self.precision, self.bundle.device.type):
            loss, _ = self.perception.learn(part.ready(), looking=looking, aided=self.aided)
        return part.share * loss

    def _cloning_losses(self, number: int) -> list[Callable[[], Tensor]]:
        """Of the imitating step that comes after so many others."""
        samples = self.turns.at(number)
        tokens = sum(len(sample.reply_ids) for sample in samples)

        def loss(part: Sequence[TrainingSample]) -> Tensor:
            with multiplying(self.precision, self.bundle.device.type):
                return cloning_loss(self.bundle, part, tokens=tokens)

        return [partial(loss, part) for part in in_parts(samples, self.config.parts)]

    def _asked(self, step: int) -> Sequence[Studied]:
        """Pages, or changes wherever their share of the steps so far comes to another whole step."""
        share = 0.0 if self.changes is None else self.config.change_share
        before, now = int(step * share), int((step + 1) * share)
        if self.changes is not None and now > before:
            changes = [each for each in self.changes.at(before) if _askable(each)]
            if changes:
                return [self.perception.study_change(change) for change in changes]
        draw = random.Random(f"{self.config.seed}/{step}/elsewhere")
        return [
            self.perception.study(page, draw if draw.random() < self.config.elsewhere else None)
            for page in self.asking.at(step - before)
        ]

    def _questions(self, asked: Sequence[Studied]) -> int:
        """About each page: as many in a step of few large ones as of many small ones."""
        each = self.config.questions_per_page
        if any(len(page.pictures) > 1 for page in asked):
            return each
        return max(each, min(MOST_QUESTIONS, each * self.config.pages_per_step // len(asked)))

    def _examined(self, path: Path) -> list[Studied]:
        """What of a held-out shard can be asked something."""
        draw = random.Random(0)
        if holds_changes(path):
            return [
                self.perception.study_change(change)
                for change in read_changes(path)
                if any(ask_change(change, kind, draw) is not None for kind in CHANGE_KINDS)
            ]
        return [self.perception.study(page) for page in self.read(path) if ask_many(page, 1, draw)]

    def _figures(self) -> dict[str, float]:
        self.bundle.model.eval()
        figures = self.perception.figures(self.held_out)
        if self.shown:
            found = cloning_figures(self.bundle, self.shown)
            figures |= {f"imitated_{name}": value for name, value in found.items()}
        self.bundle.model.train()
        self.curve.append({"step": float(self.done), "seconds": round(self.seconds, 1), **figures})
        return figures

    def _strips_of(self, shard: Path) -> int:
        return min(self.config.strips_per_step, count_in(shard))

    def _pages(self, shard: Path) -> int:
        """As many pages of a shard as hold the pixels of `pages_per_step` small ones; one a part at least."""
        pixels = self.config.pages_per_step * math.prod(SIZES_PX[""])
        return min(
            count_in(shard),
            self.config.pages_per_step,
            max(self.config.parts, pixels // math.prod(size_px_of(shard))),
        )

    def _changes(self, shard: Path) -> int:
        """As many changes; each shows two pages."""
        pixels = self.config.pages_per_step * math.prod(SIZES_PX[""])
        return min(count_in(shard), max(1, pixels // (2 * math.prod(size_px_of(shard)))))

    def _keep(self, *, stop: bool) -> None:
        due = time.monotonic() - self.saved_at >= self.config.checkpoint_every_s
        if self.checkpoints is not None and (due or stop):
            save_checkpoint(
                self.checkpoints,
                self.done,
                {
                    "model": dict(self.bundle.model.state_dict()),
                    "heads": dict(self.perception.heads.state_dict()),
                    "optimizer": self.optimizer.state(),
                    "seconds": self.seconds,
                    "clock": self.clock.state(),
                    "curve": self.curve,
                },
            )
            self.saved_at = time.monotonic()
        if stop:
            raise RunStopped("pretraining was asked to stop")

    def _resume(self) -> None:
        found = None if self.checkpoints is None else load_checkpoint(self.checkpoints)
        if found is None:
            return
        self.done, kept = found
        self.seconds, self.curve = kept["seconds"], list(kept["curve"])
        self.clock.restore(kept.get("clock", {"elapsed_s": self.seconds, "part_s": 0.0}))
        take_up(self.bundle.model.state_dict().items(), kept["model"])
        take_up(self.perception.heads.state_dict().items(), kept["heads"])
        self.optimizer.restore(kept["optimizer"])


def _askable(change: SeenChange) -> bool:
    return not change.after.told or bool(ask_many(change.after, 1, random.Random(0)))
