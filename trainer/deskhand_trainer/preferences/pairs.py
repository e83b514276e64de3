"""Which episodes stand against which."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from deskhand_trainer.types import TrainingSample, last_attempt

Item = TypeVar("Item")
Start: TypeAlias = tuple[str, int]
"""Task and seed."""


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
    for own in _by_start(episodes, _start, draw):
        won, lost = [e for e in own if e.success], [e for e in own if not e.success]
        found += [
            Pair(
                task_id=good.task_id,
                sides=(last_attempt(good.samples), bad.samples),
                returns=(good.outcome, bad.outcome),
            )
            for good, bad in zip(won, lost, strict=False)
        ]
    return _limited(found, lambda pair: pair.task_id, limit)


def parting_pairs(episodes: Sequence[Played], *, limit: int, draw: random.Random) -> list[Pair]:
    """Two different replies to one state, where two episodes first part, each episode used once; the better
    return first.

    Args:
        limit: of a task's pairs.
    """
    found: list[Pair] = []
    for own in _by_start(episodes, _start, draw):
        for one, other in zip(own[::2], own[1::2], strict=False):
            if (turn := _parting(one.samples, other.samples)) is None:
                continue
            better, worse = sorted((one, other), key=lambda e: -e.outcome)
            found.append(
                Pair(
                    task_id=better.task_id,
                    sides=((better.samples[turn],), (worse.samples[turn],)),
                    returns=(better.outcome, worse.outcome),
                )
            )
    return _limited(found, lambda pair: pair.task_id, limit)


def _parting(one: Sequence[TrainingSample], other: Sequence[TrainingSample]) -> int | None:
    """The first turn in which they reply otherwise; None where they were shown another state before."""
    for turn, (a, b) in enumerate(zip(one, other, strict=False)):
        # the seed names the state they began in; what they came to has to look alike, too
        if a.prompt_ids != b.prompt_ids or (turn and a.images != b.images):
            return None
        if a.reply_ids != b.reply_ids:
            return turn
    return None


def _start(episode: Played) -> Start:
    return episode.task_id, episode.seed


def partners(
    won: Collection[str],
    lost: Collection[str],
    starts: Mapping[str, Start],
    *,
    unlike: bool,
    taken: Mapping[str, int],
    limit: int,
    draw: random.Random,
) -> list[tuple[str, str]]:
    """Ids of episodes to pair, two of one start state each, before any of them is read; each once.

    Args:
        won, lost: ids of successes and failures; those without a start are passed over.
        starts: id -> task and seed.
        unlike: a success first and a failure second; False: any two.
        taken: pairs that a task has already.
        limit: of a task's pairs, those included.
    """
    successes, found = set(won), list[tuple[str, str]]()
    for own in _by_start([i for i in (*won, *lost) if i in starts], starts.__getitem__, draw):
        if unlike:
            found += zip(
                [i for i in own if i in successes], [i for i in own if i not in successes], strict=False
            )
        else:
            found += zip(own[::2], own[1::2], strict=False)
    return _limited(found, lambda pair: starts[pair[0]][0], limit, taken)


def _by_start(items: Iterable[Item], start: Callable[[Item], Start], draw: random.Random) -> list[list[Item]]:
    groups: dict[Start, list[Item]] = {}
    for item in items:
        groups.setdefault(start(item), []).append(item)
    shuffled = [groups[key] for key in sorted(groups)]
    for own in shuffled:
        draw.shuffle(own)
    draw.shuffle(shuffled)
    return shuffled


def _limited(
    pairs: Sequence[Item], task: Callable[[Item], str], limit: int, taken: Mapping[str, int] | None = None
) -> list[Item]:
    counts = Counter(taken)
    kept: list[Item] = []
    for pair in pairs:
        counts[task(pair)] += 1
        if counts[task(pair)] <= limit:
            kept.append(pair)
    return kept
