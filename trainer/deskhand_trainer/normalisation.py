"""Scaling advantages: none, by the batch, or by the group's mean and the batch's spread.

"Tricks or Traps" (arXiv:2508.08221) calls the last one, with token-mean loss, Lite PPO. Its mean and spread
are of responses: an episode has to count as one, however many turns it has.
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
    advantages: Tensor,
    mask: Tensor,
    how: Normalisation,
    *,
    groups: Tensor | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """Centre and scale advantages over everything the mask keeps.

    Args:
        advantages: [...] over tokens or turns; anything, NaN included, where the mask is False.
        mask: [...] bool.
        how: "none" leaves them; "batch" takes (A − mean)/std of the batch; "group" takes the mean of the
            entry's group and the std of the batch. Population std.
        groups: [...] integer group of each entry; needed for "group".
        weights: [...] what each entry counts in the means and the std of "group", above 0; None: 1.

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
    if how == "batch":
        return written.spread((kept - kept.mean()) / (kept.std(unbiased=False) + EPSILON))
    if groups is None:
        raise ValueError("normalising by group needs the group of each entry")
    counts = torch.ones_like(kept) if weights is None else written.of(weights)
    centred = kept - _means(kept, counts, torch.zeros(len(kept), dtype=torch.int64))
    std = ((counts * centred.square()).sum() / counts.sum()).sqrt()
    return written.spread((kept - _means(kept, counts, written.of(groups))) / (std + EPSILON))


def alike(amounts: Tensor) -> bool:
    """Whether amounts, [N] of them or none, differ by rounding alone, which no scale may make anything of."""
    if not len(amounts):
        return True
    spread = amounts.double().std(unbiased=False)
    step = torch.finfo(amounts.dtype).eps * amounts.abs().max().clamp(min=1.0)
    return bool(spread <= ROUNDING * step)


def _means(kept: Tensor, counts: Tensor, index: Tensor) -> Tensor:
    """[N] mean of each entry's group, in which each counts as it does."""
    size = int(index.max().item()) + 1
    sums, whole = (torch.zeros(size).to(kept).index_add(0, index, x) for x in (counts * kept, counts))
    return (sums / whole)[index]
