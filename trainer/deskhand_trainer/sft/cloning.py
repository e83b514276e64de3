"""Behaviour cloning: the loss on demonstrated replies, nothing else."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.scoring import score_turns
from deskhand_trainer.types import TrainingSample


def cloning_loss(bundle: ModelBundle, samples: Sequence[TrainingSample], *, tokens: int) -> Tensor:
    """Negative log-likelihood of the replies; prompts and pictures carry no loss.

    Args:
        tokens: of the replies of the whole minibatch: its parts add up to the mean per token.
    """
    return -score_turns(bundle, samples).logprobs.sum() / tokens


@torch.no_grad()
def cloning_figures(
    bundle: ModelBundle, samples: Sequence[TrainingSample], *, batch: int = 32
) -> dict[str, float]:
    """Of held-out demonstrations: "loss" per token, and "token_likelihood", its geometric mean per token."""
    total, tokens = 0.0, 0
    for start in range(0, len(samples), batch):
        scores = score_turns(bundle, samples[start : start + batch])
        total -= float(scores.logprobs.sum())
        tokens += int(scores.mask.sum())
    if not tokens:
        return {}
    loss = total / tokens
    return {"loss": loss, "token_likelihood": float(torch.tensor(-loss).exp())}
