"""One token per row from its logits, with its log-probability and the entropy of where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """Of one row."""

    token: int
    logprob: float
    entropy: float
    """In nats."""


def draw(logits: Tensor, temperatures: Sequence[float], chances: Sequence[float]) -> list[Drawn | None]:
    """Draw from every row at once.

    A row's token depends on its own logits and chance alone, never on the rows beside it.

    Args:
        logits: [rows, vocabulary], after temperature and suppression.
        temperatures: per row; 0 takes the likeliest token.
        chances: per row, uniform in [0, 1): where in the distribution its token lies.

    Returns:
        per row; None where its numbers are none.
    """
    every = logits.float().log_softmax(-1)
    shares = every.exp()
    greedy = [each == 0 for each in temperatures]
    if all(greedy):
        chosen = every.argmax(-1, keepdim=True)
    else:
        chosen = _sampled(shares, chances)
        if any(greedy):
            likeliest = torch.tensor(greedy, device=logits.device)[:, None]
            chosen = torch.where(likeliest, every.argmax(-1, keepdim=True), chosen)
    logprobs, surprise = every.gather(-1, chosen), (shares * every).sum(-1)
    return [
        Drawn(token=token, logprob=logprob, entropy=-less) if logprob == logprob else None
        for (token,), (logprob,), less in zip(
            chosen.tolist(), logprobs.tolist(), surprise.tolist(), strict=True
        )
    ]


def _sampled(shares: Tensor, chances: Sequence[float]) -> Tensor:
    """Where each chance lies in its row, [rows, 1]."""
    below = shares.double().cumsum(-1)
    at = torch.tensor(chances, dtype=torch.float64, device=shares.device)[:, None] * below[:, -1:]
    return torch.searchsorted(below, at, right=True).clamp(max=shares.shape[-1] - 1)
