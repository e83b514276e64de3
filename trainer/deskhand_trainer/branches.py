"""Turns that several episodes share because they branched from one: learned once, for all of them.

ARPO (arXiv:2507.19849 §3.2, hard estimation): a shared token has the mean advantage of the episodes it is in.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor

from deskhand_trainer.types import Episode


def repeated_turns(episodes: Sequence[Episode], counted: Sequence[bool]) -> Tensor:
    """[N] bool over all turns in order: those that are learned in another episode, which has them too.

    Args:
        episodes: branches leave episodes that did not branch off themselves; those may be missing.
        counted: which episodes are in the policy loss. A turn is learned in the first of them that has it,
            the one that was left before its branches; where none of them counts, in the first there is.
    """
    again = torch.zeros(sum(len(e.samples) for e in episodes), dtype=torch.bool)
    for _, *others in _held(episodes, counted):
        again[[row for row, _ in others]] = True
    return again


def shared_advantages(advantages: Tensor, episodes: Sequence[Episode], counted: Sequence[bool]) -> Tensor:
    """The advantages, before they are normalised, with the mean of all branches' where turns are shared.

    Args:
        advantages: [N, T] of all turns in order.
        episodes: as of `repeated_turns`.
        counted: which episodes are in the policy loss; the others are in no mean.

    Returns:
        [N, T]; the repeated turns keep what they had.
    """
    means = advantages.clone()
    for held in _held(episodes, counted):
        if rows := [row for row, keep in held if keep]:
            means[rows[0]] = advantages[rows].mean(0)
    return means


def _held(episodes: Sequence[Episode], counted: Sequence[bool]) -> list[list[tuple[int, bool]]]:
    """Of every turn of an episode that was left: the rows that hold it and whether they count, those first
    that do, and before its branches the episode that was left."""
    starts = accumulate((len(e.samples) for e in episodes), initial=0)
    order = sorted(
        zip(episodes, starts, counted, strict=False), key=lambda each: (not each[2], each[0].shared_turns > 0)
    )
    left = {e.branch_of for e in episodes if e.shared_turns}
    found: dict[tuple[str | None, int], list[tuple[int, bool]]] = {}
    for episode, start, keep in order:
        name = episode.branch_of if episode.shared_turns else episode.trajectory_id
        for turn in range(episode.shared_turns or len(episode.samples)) if name in left else ():
            found.setdefault((name, turn), []).append((start + turn, keep))
    return list(found.values())
