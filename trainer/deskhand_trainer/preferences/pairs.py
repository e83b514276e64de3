"""Which episodes stand against which."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from deskhand_trainer.types import TrainingSample, last_attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """A whole episode from the store."""

    task_id: str
    seed: int
    """Of the task: names the start state."""
    samples: tuple[TrainingSample, ...]
    """Of every turn, those that held no action too."""
    outcome: float
    success: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two sides of one start state."""

    task_id: str
    sides: tuple[tuple[TrainingSample, ...], tuple[TrainingSample, ...]]
    """The turns of each that count; the better side first."""
    returns: tuple[float, float]


def trajectory_pairs(episodes: Sequence[Played], *, limit: int, draw: random.Random) -> list[Pair]:
    """A success, by its last attempt alone, against a failure of the same start state, each used once.

    Args:
        limit: of a task's pairs.
    """
    found: list[Pair] = []
    for own in _by_start(episodes, draw):
        won, lost = [e for e in own if e.success], [e for e in own if not e.success]
        found += [
            Pair(
                task_id=good.task_id,
                sides=(last_attempt(good.samples), bad.samples),
                returns=(good.outcome, bad.outcome),
            )
            for good, bad in zip(won, lost, strict=False)
        ]
    return _limited(found, limit)


def first_reply_pairs(episodes: Sequence[Played], *, limit: int, draw: random.Random) -> list[Pair]:
    """Two different first replies to one start state, each episode used once; the better return first.

    Args:
        limit: of a task's pairs.
    """
    found: list[Pair] = []
    for own in _by_start(episodes, draw):
        for one, other in zip(own[::2], own[1::2], strict=False):
            a, b = one.samples[0], other.samples[0]
            if a.prompt_ids != b.prompt_ids or a.reply_ids == b.reply_ids:
                continue
            better, worse = sorted((one, other), key=lambda e: -e.outcome)
            found.append(
                Pair(
                    task_id=better.task_id,
                    sides=(better.samples[:1], worse.samples[:1]),
                    returns=(better.outcome, worse.outcome),
                )
            )
    return _limited(found, limit)


def _by_start(episodes: Sequence[Played], draw: random.Random) -> list[list[Played]]:
    groups: dict[tuple[str, int], list[Played]] = {}
    for episode in episodes:
        groups.setdefault((episode.task_id, episode.seed), []).append(episode)
    shuffled = [groups[key] for key in sorted(groups)]
    for own in shuffled:
        draw.shuffle(own)
    draw.shuffle(shuffled)
    return shuffled


def _limited(pairs: Sequence[Pair], limit: int) -> list[Pair]:
    taken: Counter[str] = Counter()
    kept: list[Pair] = []
    for pair in pairs:
        taken[pair.task_id] += 1
        if taken[pair.task_id] <= limit:
            kept.append(pair)
    return kept
