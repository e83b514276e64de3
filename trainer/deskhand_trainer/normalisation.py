"""Scaling advantages: none, by the batch, or by the group's mean and the batch's spread.

"Tricks or Traps" (arXiv:2508.08221) calls the last one, with token-mean loss, Lite PPO.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deskhand_trainer.choices import Normalisation
from deskhand_trainer.written import Written

EPSILON = 1e-8
"""Added to the std."""
ROUNDING = 8
"""Steps of their type by which sums of like amounts may differ."""


def normalise(
    advantages: Tensor, mask: Tensor, how: Normalisation, *, groups: Tensor | None = None
) -> Tensor:
    """Centre and scale advantages over everything the mask keeps.

    Args:
        advantages: [...] over tokens or turns; anything, NaN included, where the mask is False.
        mask: [...] bool.
        how: "none" leaves them; "batch" takes (A − mean)/std of the batch; "group" takes the mean of the
            entry's group and the std of the batch. Population std.
        groups: [...] integer group of each entry; needed for "group".

    Returns:
        [...]; 0 where the mask is False, and everywhere where all are alike.

    Raises:
        ValueError: `how` is "group" and `groups` is None.
    """
    written = Written(mask)
    kept = written.of(advantages)
    if how == "none" or not len(kept):
        return written.spread(kept)
    if alike(kept):
        return written.spread(torch.zeros_like(kept))
    mean, std = kept.mean(), kept.std(unbiased=False)
    if how == "group":
        if groups is None:
            raise ValueError("normalising by group needs the group of each entry")
        mean = _group_means(kept, written.of(groups))
    return written.spread((kept - mean) / (std + EPSILON))


def alike(amounts: Tensor) -> bool:
    """Whether amounts, [N] of them or none, differ by rounding alone, which no scale may make anything of."""
    if not len(amounts):
        return True
    spread = amounts.double().std(unbiased=False)
    step = torch.finfo(amounts.dtype).eps * amounts.abs().max().clamp(min=1.0)
    return bool(spread <= ROUNDING * step)


def _group_means(kept: Tensor, index: Tensor) -> Tensor:
    """[N] mean of each entry's group."""
    size = int(index.max().item()) + 1
    sums = torch.zeros(size, dtype=kept.dtype).index_add(0, index, kept)
    return (sums / torch.bincount(index, minlength=size).clamp(min=1))[index]
