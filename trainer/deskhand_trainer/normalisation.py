"""Scaling advantages: none, by the batch, or by the group's mean and the batch's spread.

"Tricks or Traps" (arXiv:2508.08221) calls the last one, with token-mean loss, Lite PPO.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deskhand_trainer.choices import Normalisation

EPSILON = 1e-8
"""Keeps a batch without spread at zero instead of NaN."""


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
        [...]; 0 where the mask is False.

    Raises:
        ValueError: `how` is "group" and `groups` is None.
    """
    clean = torch.where(mask, advantages, 0.0)
    if how == "none":
        return clean
    count = mask.sum().clamp(min=1)
    mean = clean.sum() / count
    std = (torch.where(mask, clean - mean, 0.0).square().sum() / count).sqrt()
    centre = mean if how == "batch" else _group_means(clean, mask, groups)
    return torch.where(mask, (clean - centre) / (std + EPSILON), 0.0)


def _group_means(clean: Tensor, mask: Tensor, groups: Tensor | None) -> Tensor:
    if groups is None:
        raise ValueError("normalising by group needs the group of each entry")
    index = groups.expand(clean.shape).reshape(-1)
    size = int(index.max().item()) + 1
    sums = torch.zeros(size, dtype=clean.dtype).index_add(0, index, clean.reshape(-1))
    counts = torch.zeros(size, dtype=clean.dtype).index_add(0, index, mask.reshape(-1).to(clean.dtype))
    return (sums / counts.clamp(min=1))[index].reshape(clean.shape)
