"""The warm start as a whole: reading, pointing, cloning; stops and resumes anywhere between two steps."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.precision import multiplying, resolved
from deskhand_trainer.base.heads import PerceptionHeads
from deskhand_trainer.base.optimizers import WarmStartOptimizer
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.base.perception import Perception, StudiedPage
from deskhand_trainer.base.questions import ask_many
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.checkpoints import (
    load_checkpoint,
    numpy_state,
    random_state,
    restore_numpy_state,
    restore_random_state,
    save_checkpoint,
    take_up,
)
from deskhand_trainer.cloning import TurnOrder, apart, cloning_figures, cloning_loss
from deskhand_trainer.devices import learning_device
from deskhand_trainer.errors import RunStopped
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.side_by_side import in_parts
from deskhand_trainer.types import TrainingSample

STAGES = ("reading", "pointing", "cloning")


@dataclass(frozen=True, kw_only=True, slots=True)
class SftReport:
    """What the warm start came to."""

    figures: Mapping[str, float]
    """On held-out pages and demonstrations: "perception/answers", "cloning/loss", …"""
    steps: Mapping[str, int]
    """Steps done in each stage."""
    seconds: float
    """Of training, earlier lives included."""
    examples_per_s: Mapping[str, float]
    """Per stage: strips, questions, turns."""
    curve: Sequence[Mapping[str, float]]
    """Figures on the way, each with "step" (of all stages) and "seconds"."""
    heads: PerceptionHeads | None
    """Trained beside the model all along, for a later pretraining; None: there were none to go on with."""


@dataclass(slots=True)
class _State:
    """Where the warm start stands."""

    stage: int = 0
    step: int = 0
    seconds: float = 0.0
    stage_seconds: dict[str, float] = field(default_factory=dict[str, float])
    figures: dict[str, float] = field(default_factory=dict[str, float])
    steps: dict[str, int] = field(default_factory=dict[str, int])
    curve: list[dict[str, float]] = field(default_factory=list[dict[str, float]])


def train_sft(
    bundle: ModelBundle,
    samples: Sequence[TrainingSample],
    perception_pages: Sequence[SeenPage],
    config: SftConfig,
    *,
    beside: Mapping[str, Sequence[TrainingSample]] | None = None,
    progress: Callable[[StageProgress], None] | None = None,
    checkpoint_dir: Path | None = None,
    heads_from: Path | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> SftReport:
    """Train the bundle's model in place.

    It learns on the config's device and ends on the processor. On one kind of machine the result depends on
    its arguments alone, not on the clock, and not on whether the run was stopped and started again.

    Args:
        samples: demonstrations; without any, and any beside them, cloning is skipped.
        beside: turns that are learned among them, under the names of their figures.
        perception_pages: empty skips reading and pointing.
        progress: called after every step.
        checkpoint_dir: kept up to date and resumed from; None: neither.
        heads_from: folder of the model that this one starts as; perception heads that lie there go on
            learning whenever questions are asked, against forgetting to read.
        should_stop: asked after every step; True writes a checkpoint and raises.

    Raises:
        RunStopped: `should_stop` said so; the state is safe where a checkpoint folder was given.
        CheckpointDamaged: the newest checkpoint is incomplete or altered.
        CheckpointMismatch: it is of another model, or of other parts of it that were trained.
        DiskFull: no room for a checkpoint.
        TrainingDiverged: no gradient was finite, many times in a row.
        RunRefused: a perception stage asked of a released model, or heads of another one.
        ConfigError: a GPU is asked for, and PyTorch finds none.
    """
    torch.set_num_threads(config.threads)
    bundle.to(learning_device(config.device))
    return _WarmStart(
        bundle,
        {"cloning": samples, **(beside or {})},
        perception_pages,
        config,
        progress,
        checkpoint_dir,
        heads_from,
        should_stop,
    ).run()


def _silent(_: StageProgress) -> None:
    """Nobody is watching."""


class _WarmStart:
    def __init__(
        self,
        bundle: ModelBundle,
        samples: Mapping[str, Sequence[TrainingSample]],
        pages: Sequence[SeenPage],
        config: SftConfig,
        progress: Callable[[StageProgress], None] | None,
        checkpoints: Path | None,
        heads_from: Path | None,
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.bundle, self.config = bundle, config
        self.precision = resolved(config.precision, bundle.device.type)
        self.report = progress or _silent
        self.checkpoints = checkpoints
        self.should_stop = should_stop or (lambda: False)
        self.state = _State()
        self.rng = random.Random(config.seed)
        self.draws = np.random.default_rng(config.seed)
        whole = [each for own in samples.values() for each in own]
        learned, held_out = apart(whole, held_out=config.held_out, seed=config.seed)
        kept_out = set(map(id, held_out))
        self.held_out_samples = {
            name: [each for each in own if id(each) in kept_out] for name, own in samples.items()
        }
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.perception = Perception(bundle) if pages else None
        if self.perception is not None:
            self.perception.heads.to(bundle.device)
        self.heads_kept = bool(self.perception and heads_from and self.perception.heads.load(heads_from))
        studied = [self.perception.study(page) for page in pages] if self.perception else []
        seeing = [page for page in studied if ask_many(page.page, 1, random.Random(0))]
        cut = max(1, round(len(seeing) * config.held_out)) if len(seeing) > 1 else 0
        random.Random(config.seed).shuffle(seeing)
        self.pages = _alike(seeing[cut:])
        self.held_out_pages: list[StudiedPage] = seeing[:cut]
        self.turns = TurnOrder(learned, each=config.minibatch, seed=config.seed)
        self.totals = {
            "reading": config.reading_steps if self.pages else 0,
            "pointing": config.pointing_steps if self.pages else 0,
            "cloning": config.cloning_epochs * len(self.turns),
        }
        self.question_share = config.question_share if self.pages else 0.0
        self.totals["cloning"] = math.ceil(self.totals["cloning"] / (1 - self.question_share))
        self.optimizer = self._optimizer()
        self.saved_at = time.monotonic()

    def run(self) -> SftReport:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.config.seed)
            self._resume()
            self.bundle.model.train()
            try:
                while self.state.stage < len(STAGES):
                    self._stage(STAGES[self.state.stage])
            finally:
                self._freeze(False)
            self.bundle.model.eval()
        self.bundle.to(torch.device("cpu"))
        each = {
            "reading": self.config.strips_per_step,
            "pointing": self.config.pages_per_step * self.config.questions_per_page,
            "cloning": self.config.minibatch,
        }
        heads = self.perception.heads.to("cpu") if self.perception is not None and self.heads_kept else None
        rates = {
            name: each[name] * self.state.steps[name] / spent
            for name, spent in self.state.stage_seconds.items()
            if spent > 0
        }
        return SftReport(
            figures=dict(self.state.figures),
            steps=dict(self.state.steps),
            seconds=self.state.seconds,
            examples_per_s=rates,
            curve=self.state.curve,
            heads=heads,
        )

    def _stage(self, stage: str) -> None:
        total = self.totals[stage]
        while self.state.step < total:
            started = time.monotonic()
            losses = self._losses(stage, self.state.step / total)
            loss = self.optimizer.step(losses, self._progress(stage), threads=self.config.threads)
            self.state.step += 1
            spent = time.monotonic() - started
            self.state.seconds += spent
            self.state.stage_seconds[stage] = self.state.stage_seconds.get(stage, 0.0) + spent
            due = self.config.figures_every and self.state.step % self.config.figures_every == 0
            figures = self._figures(stage) if due and self.state.step < total else {}
            self.report(
                StageProgress(stage=stage, step=self.state.step, steps=total, loss=loss, figures=figures)
            )
            self._keep(stop=self.should_stop())
        self.state.steps[stage] = total
        if total:
            figures = self._figures(stage)
            self.state.figures.update(figures)
            self.report(StageProgress(stage=stage, step=total, steps=total, loss=0.0, figures=figures))
        self.state.stage += 1
        self.state.step = 0
        if stage == "pointing":
            self.optimizer = self._optimizer()

    def _losses(self, stage: str, progress: float) -> list[Callable[[], Tensor]]:
        """Parts of a step's loss."""
        if stage == "cloning" and self._asked(self.state.step + 1) > self._asked(self.state.step):
            pages = self._drawn(self.config.pages_per_step)
            parts = in_parts(pages, self.config.parts)
            draws = [random.Random(self.rng.getrandbits(62)) for _ in parts]
            return [
                partial(self._question_loss, part, draw, share=len(part) / len(pages), aided=self.heads_kept)
                for part, draw in zip(parts, draws, strict=True)
            ]
        if stage == "cloning":
            samples = self.turns.at(self.state.step - self._asked(self.state.step))
            tokens = sum(len(sample.reply_ids) for sample in samples)
            return [
                partial(self._cloning_loss, part, tokens) for part in in_parts(samples, self.config.parts)
            ]
        if stage == "reading":
            return [self._reading_loss]
        looking = min(1.0, max(0.0, (0.85 - progress) / 0.3))
        aided = self.heads_kept or self.config.reading_steps > 0
        pages = self._drawn(self.config.pages_per_step)
        return [partial(self._question_loss, pages, self.rng, looking=looking, aided=aided)]

    def _cloning_loss(self, samples: Sequence[TrainingSample], tokens: int) -> Tensor:
        with multiplying(self.precision, self.bundle.device.type):
            return cloning_loss(self.bundle, samples, tokens=tokens)

    def _reading_loss(self) -> Tensor:
        assert self.perception is not None
        pages = self._drawn(self.config.strips_per_step)
        with multiplying(self.precision, self.bundle.device.type):
            return self.perception.reading_loss(pages, self.draws)

    def _question_loss(
        self,
        pages: Sequence[StudiedPage],
        draw: random.Random,
        *,
        share: float = 1.0,
        looking: float = 0.0,
        aided: bool = False,
    ) -> Tensor:
        assert self.perception is not None
        each = self.config.questions_per_page
        with multiplying(self.precision, self.bundle.device.type):
            loss, _ = self.perception.asking_loss(pages, draw, questions=each, looking=looking, aided=aided)
        return share * loss

    def _drawn(self, count: int) -> list[StudiedPage]:
        """Pages of one size at random: so many of the smallest, of others as many as hold the same pixels."""
        alike = self.pages[0]
        if len(self.pages) > 1:
            (alike,) = self.rng.choices(self.pages, weights=[len(each) for each in self.pages])
            count = max(self.config.parts, count * _pixels(self.pages[0][0]) // _pixels(alike[0]))
        return self.rng.choices(alike, k=count)

    def _asked(self, step: int) -> int:
        """How many of the cloning steps before this one ask questions."""
        return int(step * self.question_share)

    def _progress(self, stage: str) -> float:
        """Reading and pointing share one schedule: restarting at the full rate loses what was learned."""
        if stage == "cloning":
            return self.state.step / self.totals["cloning"]
        before = self.totals["reading"] if stage == "pointing" else 0
        return (before + self.state.step) / (self.totals["reading"] + self.totals["pointing"])

    def _figures(self, stage: str) -> dict[str, float]:
        found: dict[str, Mapping[str, float]] = {}
        self.bundle.model.eval()
        if stage == "cloning":
            found |= {name: cloning_figures(self.bundle, own) for name, own in self.held_out_samples.items()}
        if self.perception is not None and (stage != "cloning" or self.question_share):
            found["perception"] = self.perception.figures(self.held_out_pages)
        self.bundle.model.train()
        figures = {f"{top}/{name}": value for top, own in found.items() for name, value in own.items()}
        self.state.curve.append({"step": self._done(), "seconds": round(self.state.seconds, 1), **figures})
        return figures

    def _done(self) -> int:
        """Steps of all stages so far."""
        return sum(self.totals[stage] for stage in STAGES[: self.state.stage]) + self.state.step

    def _freeze(self, frozen: bool) -> None:
        model: Any = self.bundle.model
        model.model.visual.requires_grad_(not frozen)

    def _optimizer(self) -> WarmStartOptimizer:
        cloning = "pointing" in self.state.steps
        self._freeze(cloning and self.config.freeze == "vision")
        modules: dict[str, nn.Module] = {"model": self.bundle.model}
        if self.perception is not None and (self.heads_kept or not cloning):
            modules["heads"] = self.perception.heads
        return WarmStartOptimizer(
            modules,
            self.config,
            scale=self.config.cloning_lr_scale if cloning else 1.0,
            precision=self.precision,
        )

    def _keep(self, *, stop: bool) -> None:
        due = time.monotonic() - self.saved_at >= self.config.checkpoint_every_s
        if self.checkpoints is not None and (due or stop):
            save_checkpoint(self.checkpoints, self._done(), self._kept())
            self.saved_at = time.monotonic()
        if stop:
            raise RunStopped("the warm start was asked to stop")

    def _heads(self) -> dict[str, Tensor]:
        return {} if self.perception is None else dict(self.perception.heads.state_dict())

    def _kept(self) -> dict[str, Any]:
        state = self.state
        return {
            "model": dict(self.bundle.model.state_dict()),
            "heads": self._heads(),
            "optimizer": self.optimizer.state(),
            "random": random_state(),
            "order": [list(part) if isinstance(part, tuple) else part for part in self.rng.getstate()],
            "draws": numpy_state(self.draws),
            "stage": state.stage,
            "step": state.step,
            "seconds": state.seconds,
            "stage_seconds": state.stage_seconds,
            "figures": state.figures,
            "steps": state.steps,
            "curve": state.curve,
        }

    def _resume(self) -> None:
        found = None if self.checkpoints is None else load_checkpoint(self.checkpoints)
        if found is None:
            return
        kept = found[1]
        self.state = _State(
            stage=kept["stage"],
            step=kept["step"],
            seconds=kept["seconds"],
            stage_seconds=dict(kept["stage_seconds"]),
            figures=dict(kept["figures"]),
            steps=dict(kept["steps"]),
            curve=list(kept.get("curve", [])),
        )
        take_up(self.bundle.model.state_dict().items(), kept["model"])
        take_up(self._heads().items(), kept["heads"])
        self.optimizer = self._optimizer()
        self.optimizer.restore(kept["optimizer"])
        restore_random_state(kept["random"])
        version, words, gauss = kept["order"]
        self.rng.setstate((version, tuple(words), gauss))
        restore_numpy_state(self.draws, kept["draws"])


def _alike(pages: Sequence[StudiedPage]) -> list[list[StudiedPage]]:
    """Pages of one size together, the smallest first."""
    groups: dict[int, list[StudiedPage]] = {}
    for page in pages:
        groups.setdefault(_pixels(page), []).append(page)
    return [groups[pixels] for pixels in sorted(groups)]


def _pixels(page: StudiedPage) -> int:
    return page.page.image.width_px * page.page.image.height_px
