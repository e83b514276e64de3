"""Training the process reward model: a score head on the policy's own states, labels from outcomes.

After GUI-Shepherd's process reward. Left out for now: labels by Monte-Carlo continuations from forked
sandboxes, and training the trunk; the head reads the states of a frozen model, so they are computed once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Trajectory
from deskhand_flywheel.prm.examples import PrmExample, examples_from
from deskhand_flywheel.prm.metrics import auc
from deskhand_flywheel.prm.model import ScoreHead, hidden_width, step_hidden
from deskhand_trainer.config import ScoreConfig
from deskhand_trainer.errors import NoTrainableTurns

STATES_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class PrmReport:
    """How the training went."""

    loss: float
    """Held out, cross entropy to the soft labels."""
    base_loss: float
    """Held out, of the best constant: the training labels' mean."""
    auc: float | None
    """Held out, steps labelled above ½ against the others; None with only one kind."""
    epochs: int
    train_steps: int
    held_out_steps: int


def train_reward_model(
    bundle: ModelBundle,
    trajectories: Sequence[Trajectory],
    config: ScoreConfig,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[ScoreHead, PrmReport]:
    """Fit a head to the labelled steps.

    Args:
        bundle: the frozen model that reads the steps.
        trajectories: with verdicts, read with images.
        config: how long and how.
        progress: told epochs done and in all.

    Raises:
        NoTrainableTurns: fewer than two trajectories with a verdict.
    """
    order = [t for t in trajectories if t.end is not None and t.end.outcome is not None and t.steps]
    if len(order) < 2:
        raise NoTrainableTurns(
            f"{len(order)} trajectories with a verdict: a process reward model needs 2 or more; "
            "collect some first"
        )
    random.Random(config.seed).shuffle(order)
    cut = min(len(order) - 1, max(1, round(config.held_out * len(order))))
    held = _Steps(bundle, examples_from(order[:cut], bundle, discount=config.discount))
    train = _Steps(bundle, examples_from(order[cut:], bundle, discount=config.discount))
    head = ScoreHead(hidden_width(bundle), seed=config.seed)
    epochs = _fit(head, train, config, progress)
    with torch.no_grad():
        logits = head(held.states)
        constant = torch.full_like(held.labels, train.labels.mean().clamp(1e-4, 1 - 1e-4).item())
        report = PrmReport(
            loss=_cross_entropy(logits, held.labels).item(),
            base_loss=_cross_entropy(torch.logit(constant), held.labels).item(),
            auc=auc(torch.sigmoid(logits).tolist(), [label > 0.5 for label in held.labels.tolist()]),
            epochs=epochs,
            train_steps=len(train.labels),
            held_out_steps=len(held.labels),
        )
    return head.eval(), report


class _Steps:
    """Examples as tensors: states [N, D] and labels [N]."""

    def __init__(self, bundle: ModelBundle, examples: Sequence[PrmExample]) -> None:
        samples = [e.sample for e in examples]
        with torch.no_grad():
            parts = [
                step_hidden(bundle, samples[at : at + STATES_AT_ONCE])
                for at in range(0, len(samples), STATES_AT_ONCE)
            ]
        self.states = torch.cat(parts).float()
        self.labels = torch.tensor([e.label for e in examples])


def _fit(
    head: ScoreHead, train: _Steps, config: ScoreConfig, progress: Callable[[int, int], None] | None
) -> int:
    generator = torch.Generator().manual_seed(config.seed)
    optimizer = torch.optim.AdamW(head.parameters(), lr=config.lr)
    ends = time.monotonic() + 60 * config.minutes
    for epoch in range(1, config.epochs + 1):
        for rows in torch.randperm(len(train.labels), generator=generator).split(config.minibatch):
            optimizer.zero_grad(set_to_none=True)
            _cross_entropy(head(train.states[rows]), train.labels[rows]).backward()
            optimizer.step()
        if progress is not None:
            progress(epoch, config.epochs)
        if time.monotonic() > ends:
            return epoch
    return config.epochs


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels)
