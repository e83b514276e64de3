"""Training on pairs: how much likelier a side has become is a sum over many turns, differentiated in parts.

A first pass without gradients sums each side; the loss of the sums says what a nat is worth on either side; a
second pass, in micro-batches, weighs every token's log-probability by that. The gradient is exact whatever
the split. The policy the training starts from is the reference, scored once before the first step.

Stops and resumes anywhere between two steps; the result depends on the arguments alone.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import ActorCritic, by_beginning, reply_mask
from deskhand_trainer.base.optimizers import MOST_SKIPPED
from deskhand_trainer.base.train import StageProgress
from deskhand_trainer.checkpoints import load_checkpoint, save_checkpoint, take_up, take_up_moments
from deskhand_trainer.errors import RunRefused, RunStopped
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.preferences.losses import refuel, trajectory_dpo
from deskhand_trainer.preferences.pairs import Pair
from deskhand_trainer.side_by_side import add_gradients, side_by_side
from deskhand_trainer.skipped_steps import SkippedSteps
from deskhand_trainer.types import TrainingSample


@dataclass(frozen=True, kw_only=True, slots=True)
class PreferenceReport:
    """What it came to."""

    pairs: int
    steps: int
    skipped_steps: int
    """Left out because their gradient was not finite."""
    loss: float
    """Mean over all pairs, after the last step."""
    preferred: float
    """Share of the pairs whose better side has become likelier, against the other, than it was."""
    margin: float
    """Mean of Δ_better − Δ_worse in nats."""


def train_preferences(
    model: ActorCritic,
    pairs: Sequence[Pair],
    config: PreferenceConfig,
    *,
    progress: Callable[[StageProgress], None] = lambda _: None,
    checkpoint_dir: Path | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> PreferenceReport:
    """Train the policy in place.

    Args:
        pairs: at least one.
        progress: called after every step.
        checkpoint_dir: kept up to date and resumed from; None: neither.
        should_stop: asked after every step; True writes a checkpoint and raises.

    Raises:
        RunRefused: the checkpoint is of other pairs.
        RunStopped: `should_stop` said so; the state is safe where a checkpoint folder was given.
        TrainingDiverged: no gradient was finite, many times in a row.
        CheckpointDamaged, DiskFull: see `deskhand_trainer.checkpoints`.
    """
    training = _Training(model, pairs, config, checkpoint_dir)
    while training.done < training.total:
        loss = training.step()
        progress(StageProgress(stage="pairs", step=training.done, steps=training.total, loss=loss))
        training.keep(stop=should_stop())
    return training.report()


class _Training:
    def __init__(
        self, model: ActorCritic, pairs: Sequence[Pair], config: PreferenceConfig, checkpoints: Path | None
    ) -> None:
        self.model, self.pairs, self.config, self.checkpoints = model, pairs, config, checkpoints
        self.actor = [p for _, p in model.actor_parameters()]
        self.optimizer = torch.optim.AdamW(self.actor, lr=config.lr, weight_decay=0.0)
        self.order = [index for epoch in range(config.epochs) for index in self._shuffled(epoch)]
        self.total = math.ceil(len(self.order) / config.minibatch)
        self.done, self.skipped = 0, SkippedSteps(MOST_SKIPPED, lower="lr")
        self.saved_at = time.monotonic()
        found = None if checkpoints is None else load_checkpoint(checkpoints)
        if found is None:
            self.start = self._sums(pairs)
        else:
            self._restore(*found)

    def step(self) -> float:
        """One minibatch; its loss before the step."""
        at = self.done * self.config.minibatch
        chosen = self.order[at : at + self.config.minibatch]
        pairs = [self.pairs[i] for i in chosen]
        gained = (self._sums(pairs) - self.start[chosen]).requires_grad_()
        loss = self._losses(gained, pairs).mean()
        (worth,) = torch.autograd.grad(loss, gained)
        turns = [
            (sample, float(worth[row, side]))
            for row, pair in enumerate(pairs)
            for side in (0, 1)
            for sample in pair.sides[side]
        ]
        for parameter in self.actor:
            parameter.grad = None
        for found in side_by_side(self._gradients, self._parts(turns), threads=self.config.threads):
            add_gradients(self.actor, found)
        limit = self.config.max_grad_norm
        norm = torch.nn.utils.clip_grad_norm_(self.actor, limit if limit > 0 else math.inf)
        if not self.skipped.left_out(norm):
            self.optimizer.step()
        self.done += 1
        return loss.item()

    def report(self) -> PreferenceReport:
        """Of all pairs, as the policy is now."""
        gained = self._sums(self.pairs) - self.start
        margins = gained[:, 0] - gained[:, 1]
        return PreferenceReport(
            pairs=len(self.pairs),
            steps=self.done - self.skipped.count,
            skipped_steps=self.skipped.count,
            loss=float(self._losses(gained, self.pairs).mean()),
            preferred=float((margins > 0).float().mean()),
            margin=float(margins.mean()),
        )

    def keep(self, *, stop: bool) -> None:
        due = time.monotonic() - self.saved_at >= self.config.checkpoint_every_s
        if self.checkpoints is not None and (due or stop):
            state: dict[str, Any] = {
                "actor": {name: p.detach() for name, p in self.model.actor_parameters()},
                "optimizer": self.optimizer.state_dict(),
                "start": self.start,
                "pairs": _names(self.pairs),
                "skipped": self.skipped.count,
                "skipped_in_row": self.skipped.in_row,
            }
            save_checkpoint(self.checkpoints, self.done, state)
            self.saved_at = time.monotonic()
        if stop:
            raise RunStopped("learning from pairs was asked to stop")

    def _restore(self, done: int, kept: dict[str, Any]) -> None:
        self.start = kept["start"]
        # what they were worth at the start is kept by their places
        names = _names(self.pairs)
        if len(self.start) != len(names) or kept.get("pairs", names) != names:
            raise RunRefused(
                "the checkpoint is of other pairs than the store and the settings give now: go on with the "
                "settings the run began with, or begin it in a new folder"
            )
        self.done = done
        self.skipped.count, self.skipped.in_row = int(kept["skipped"]), int(kept.get("skipped_in_row", 0))
        take_up(self.model.actor_parameters(), kept["actor"])
        take_up_moments(self.optimizer, kept["optimizer"])

    def _losses(self, gained: Tensor, pairs: Sequence[Pair]) -> Tensor:
        if self.config.method == "tdpo":
            return trajectory_dpo(gained, beta=self.config.beta)
        return refuel(gained, torch.tensor([pair.returns for pair in pairs]), eta=self.config.eta)

    def _sums(self, pairs: Sequence[Pair]) -> Tensor:
        """[P, 2] log-probability of each side's replies."""
        turns = [
            (sample, float(2 * row + side))
            for row, pair in enumerate(pairs)
            for side in (0, 1)
            for sample in pair.sides[side]
        ]
        out = torch.zeros(2 * len(pairs))
        parts = self._parts(turns)
        for part, found in zip(
            parts, side_by_side(self._scored, parts, threads=self.config.threads), strict=True
        ):
            out.index_add_(0, torch.tensor([int(where) for _, where in part]), found)
        return out.reshape(-1, 2)

    def _scored(self, part: Sequence[tuple[TrainingSample, float]]) -> Tensor:
        with torch.no_grad():
            return self._replies([sample for sample, _ in part])

    def _gradients(self, part: Sequence[tuple[TrainingSample, float]]) -> Sequence[Tensor | None]:
        replies = self._replies([sample for sample, _ in part])
        weighed = (torch.tensor([worth for _, worth in part]) * replies).sum()
        return torch.autograd.grad(weighed, self.actor, allow_unused=True)

    def _replies(self, samples: Sequence[TrainingSample]) -> Tensor:
        """[B] log-probability of each whole reply."""
        mask = reply_mask(samples)
        logprobs = self.model.score(samples, temperature=self.config.temperature).logprobs
        return torch.where(mask, logprobs, 0.0).sum(-1)

    def _parts(
        self, turns: Sequence[tuple[TrainingSample, float]]
    ) -> list[list[tuple[TrainingSample, float]]]:
        order = by_beginning([sample for sample, _ in turns], range(len(turns)))
        size = self.config.microbatch
        return [[turns[i] for i in order[at : at + size]] for at in range(0, len(order), size)]

    def _shuffled(self, epoch: int) -> list[int]:
        order = list(range(len(self.pairs)))
        random.Random(f"{self.config.seed}/{epoch}").shuffle(order)
        return order


def _names(pairs: Sequence[Pair]) -> list[list[str]]:
    """Which turns each holds, the better side's first."""
    return [
        [f"{turn.trajectory_id}/{turn.turn_index}" for side in pair.sides for turn in side] for pair in pairs
    ]
