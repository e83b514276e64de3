"""How much better than others: advantages without a critic, from what other episodes earned.

Pure functions on tensors. A group is the episodes of one start state; where all of them earned the same, none
was better, and every advantage is exactly zero: sums of the same rewards may differ by rounding.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deskhand_trainer.advantages import monte_carlo_returns
from deskhand_trainer.normalisation import alike

EPSILON = 1e-9


def group_relative(returns: Tensor, groups: Tensor, counted: Tensor | None = None) -> Tensor:
    """(R − mean)/std of the episode's group: GRPO (DeepSeekMath, arXiv:2402.03300 §4.1.2).

    Args:
        returns: [N] what each episode earned in all.
        groups: [N] integer, equal for episodes of one start state.
        counted: [N] bool, episodes that groups are made of; others get zero. None: all.

    Returns:
        [N]; population std. Zero in a group without spread, one episode among them.
    """
    kept, index = _kept(returns, groups, counted)
    count = _sums(kept, index).clamp(min=1)
    mean = (_sums(torch.where(kept > 0, returns, 0.0), index) / count)[index]
    centred = torch.where(kept > 0, returns - mean, 0.0)
    std = (_sums(centred.square(), index) / count).sqrt()[index]
    apart = _apart(returns, kept, index) & (std > EPSILON)
    return torch.where(apart, centred / std.clamp(min=EPSILON), 0.0)


def leave_one_out(returns: Tensor, groups: Tensor, counted: Tensor | None = None) -> Tensor:
    """R − mean of the others of the group: RLOO (arXiv:2402.14740 eq. 8).

    Args:
        returns, groups, counted: as in `group_relative`.

    Returns:
        [N]; zero in a group without spread, one episode among them.
    """
    kept, index = _kept(returns, groups, counted)
    own = torch.where(kept > 0, returns, 0.0)
    others = _sums(kept, index)[index] - 1
    rest = (_sums(own, index)[index] - own) / others.clamp(min=1)
    return torch.where((kept > 0) & _apart(returns, kept, index), own - rest, 0.0)


def return_batch_normalised(rewards: Tensor, mask: Tensor, *, gamma: float) -> Tensor:
    """(G − mean)/(std + 1e-9) of each turn's discounted return over all turns of the batch: ReBN.

    GEM (arXiv:2510.01051, there "Return Batch Normalization"): a baseline for many turns that needs neither
    a critic nor groups.

    Args:
        rewards: [N, H] of each turn.
        mask: [N, H] bool, True where the episode has such a turn.
        gamma: discount in [0, 1]; below 1, so that a turn near the end is worth more.

    Returns:
        [N, H]; population std, 0 where the mask is False, and everywhere in a batch without spread.
    """
    returns = monte_carlo_returns(rewards, mask, gamma=gamma)
    kept = returns[mask]
    if alike(kept):
        return torch.zeros_like(returns)
    return torch.where(mask, (returns - kept.mean()) / (kept.std(unbiased=False) + EPSILON), 0.0)


def step_and_episode(
    rewards: Tensor,
    mask: Tensor,
    groups: Tensor,
    counted: Tensor | None = None,
    *,
    gamma: float,
    weight: float = 1.0,
) -> Tensor:
    """A_step + ω·A_episode, each (R − mean)/std of the group: UI-S1 (arXiv:2509.11543 §3.3).

    The one compares a turn's discounted return with those of the group's turns of the same number, the other
    the episode's with those of its group.

    Args:
        rewards: [N, H] of each turn.
        mask: [N, H] bool, True where the episode has such a turn.
        groups, counted: as in `group_relative`, [N].
        gamma: discount in [0, 1].
        weight: ω.

    Returns:
        [N, H]; 0 where the mask is False.
    """
    returns = monte_carlo_returns(rewards, mask, gamma=gamma)
    kept = torch.ones(len(mask), dtype=torch.bool) if counted is None else counted
    whole = group_relative(returns[:, 0], groups, kept)
    steps = [group_relative(returns[:, turn], groups, kept & mask[:, turn]) for turn in range(mask.shape[1])]
    return torch.where(mask, torch.stack(steps, dim=-1) + weight * whole.unsqueeze(-1), 0.0)


def _kept(returns: Tensor, groups: Tensor, counted: Tensor | None) -> tuple[Tensor, Tensor]:
    """1 for counted episodes, and each episode's group as an index from 0, both [N]."""
    _, index = torch.unique(groups, return_inverse=True)
    kept = torch.ones_like(returns) if counted is None else counted.to(returns.dtype)
    return kept, index


def _apart(returns: Tensor, kept: Tensor, index: Tensor) -> Tensor:
    """[N] bool: whether what the counted of the episode's group earned differs."""
    size = int(index.max().item()) + 1
    differs = [not alike(returns[(index == group) & (kept > 0)]) for group in range(size)]
    return torch.tensor(differs)[index]


def _sums(amounts: Tensor, index: Tensor) -> Tensor:
    return torch.zeros(int(index.max().item()) + 1, dtype=amounts.dtype).index_add(0, index, amounts)
