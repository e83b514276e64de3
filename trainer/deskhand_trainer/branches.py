"""Turns that several episodes share because they branched from one: learned once, for all of them.

ARPO (arXiv:2507.19849 §3.2, hard estimation): a shared token has the mean advantage of the episodes it is in.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from deskhand_trainer.types import Episode


def repeated_turns(episodes: Sequence[Episode]) -> Tensor:
    """[N] bool over all turns in order: those a branch has from the episode it left."""
    return torch.tensor([turn < e.shared_turns for e in episodes for turn in range(len(e.samples))])


def shared_advantages(advantages: Tensor, episodes: Sequence[Episode], counted: Sequence[bool]) -> Tensor:
    """The advantages, before they are normalised, with the mean of all branches' where turns are shared.

    Args:
        advantages: [N, T] of all turns in order.
        episodes: branches leave episodes that did not branch off themselves.
        counted: which episodes are in the policy loss; the others are in no mean.

    Returns:
        [N, T]; the repeated turns keep what they had.
    """
    starts = torch.tensor([0, *(len(e.samples) for e in episodes)]).cumsum(0).tolist()
    first = {e.trajectory_id: start for e, start in zip(episodes, starts, strict=False)}
    total, count = advantages.clone(), torch.ones(len(advantages), 1)
    for episode, start, keep in zip(episodes, starts, counted, strict=False):
        trunk = first.get(episode.branch_of or "")
        if trunk is None or not keep:
            continue
        shared = episode.shared_turns
        total[trunk : trunk + shared] += advantages[start : start + shared]
        count[trunk : trunk + shared] += 1
    return total / count
