"""Which seeds of which tasks may be used for what: decided by a hash, so it never changes.

A task with one start state, which every seed means, belongs to one split altogether.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count as counting
from itertools import islice
from threading import Lock
from typing import TypeVar

from blake3 import blake3

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.families import family_of
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS
from deskhand_sandbox.types import Split

__all__ = ["FEW", "HELD_OUT_TASKS", "drawn_apart", "drawn_within", "seeds", "split_by_hash", "split_of"]

T = TypeVar("T")

TRAIN_SHARE = 0.8
VALIDATION_SHARE = 0.1
"""The rest is test."""
REMEMBERED = 512
"""Pairs of a task and a split whose seeds are kept once found, eight bytes each."""
DRAWS = 10_000
FEW = 200
"""So few start states of a task, or fewer, are shared out one by one: by hash a split may get none."""
ONE_START = ("grown/", "osworld/")
"""Of the ids of tasks that have one start state each, also where nothing says in which files they stand."""


def split_of(task_id: str, seed: int) -> Split:
    """Where a start state belongs; every seed of a held-out task is test."""
    fixed = task_id not in HELD_OUT_TASKS and _fixed(task_id)
    return split_by_hash(task_id) if fixed else _split_of_several(task_id, seed)


def _split_of_several(task_id: str, seed: int) -> Split:
    """As `split_of`, of a task that has several start states."""
    return Split.TEST if task_id in HELD_OUT_TASKS else split_by_hash(_start(task_id, seed))


def seeds(task_id: str, split: Split, count: int, offset: int = 0) -> list[int]:
    """`count` seeds of a split in ascending order, after the first `offset` of them.

    Raises:
        InvalidTask: training or validation seeds of a held-out task, seeds of a split that the one start
            state of a task is not in, or a negative count or offset.
    """
    if count < 0 or offset < 0:
        raise InvalidTask(f"count and offset must not be negative, not {count} and {offset}")
    held_out, fixed = task_id in HELD_OUT_TASKS, _fixed(task_id)
    if held_out and split is not Split.TEST:
        raise InvalidTask(f"{task_id} is held out: it has test seeds only, and nothing may be trained on it")
    if fixed and (own := split_of(task_id, 0)) is not split:
        raise InvalidTask(
            f"{task_id} has one start state, which is {own.value}: it has no {split.value} seeds"
        )
    if held_out or fixed:
        return list(range(offset, offset + count))
    return _matching(task_id, split).window(offset, count)


class _Matching:
    """Seeds of one split of a task, found as far as anybody asked; many threads may."""

    def __init__(self, task_id: str, split: Split) -> None:
        self._task_id, self._split = task_id, split
        self._found = array("q")
        self._lock = Lock()

    def window(self, offset: int, count: int) -> list[int]:
        """`count` of them in ascending order, after the first `offset`."""
        with self._lock:
            missing = max(0, offset + count - len(self._found))
            self._found.extend(islice(self._further(), missing))
            return self._found[offset : offset + count].tolist()

    def _further(self) -> Iterator[int]:
        after = self._found[-1] + 1 if self._found else 0
        return (seed for seed in counting(after) if split_by_hash(_start(self._task_id, seed)) is self._split)


@lru_cache(maxsize=REMEMBERED)
def _matching(task_id: str, split: Split) -> _Matching:
    return _Matching(task_id, split)


def _start(task_id: str, which: int | str) -> str:
    """What is hashed for a start state, by its seed or by what it is."""
    return f"{task_id}\0{which}"


def _fixed(task_id: str) -> bool:
    if task_id.startswith(ONE_START):
        return True
    family = family_of(task_id)
    return family is not None and family.fixed(task_id)


def split_by_hash(text: str) -> Split:
    """Where whatever a text names belongs, were it a start state."""
    digest = blake3(text.encode()).digest(length=8)
    share = int.from_bytes(digest, "big") / 2**64
    if share < TRAIN_SHARE:
        return Split.TRAIN
    return Split.VALIDATION if share < TRAIN_SHARE + VALIDATION_SHARE else Split.TEST


def drawn_within(
    task_id: str,
    seed: int,
    draw: Callable[[random.Random], T | None],
    *,
    among: str,
    name: Callable[[T], str] = str,
) -> T:
    """The first thing drawn from a seed that is of the seed's own split: no two splits share one.

    Args:
        draw: one try; None where what came will not do.
        among: whose things are told apart, a task or a family; seeds draw alike for all that name the same.
        name: the same text for the same thing; its hash says which split it belongs to.

    Raises:
        InvalidTask: `DRAWS` tries found none.
    """
    split, chance = split_of(task_id, seed), random.Random(f"{among}/{seed}")
    found = (thing for _ in range(DRAWS) if (thing := draw(chance)) is not None)
    return _first(found, lambda thing: split_by_hash(f"{among}\0{name(thing)}") is split, task_id, seed)


def drawn_apart(
    task_id: str,
    seed: int,
    draw: Callable[[random.Random], T],
    *,
    name: Callable[[T], str],
    few: Iterable[T] | None,
) -> T:
    """As `drawn_within`, of a task that may have so few start states that a hash leaves a split without any.

    Args:
        few: all there are, where they are few: a tenth of them is for tests alone, one at least, and a tenth
            for validation. Of two, one is for tests and both others share the other; one is everybody's.
            None: they are many.

    Raises:
        InvalidTask: `DRAWS` tries found none.
    """
    split, chance = _split_of_several(task_id, seed), random.Random(_start(task_id, seed))
    own = None if few is None else _shared_out(task_id, {name(each) for each in few})[split]

    def belongs(thing: T) -> bool:
        text = name(thing)
        return split_by_hash(_start(task_id, text)) is split if own is None else text in own

    return _first((draw(chance) for _ in range(DRAWS)), belongs, task_id, seed)


def _shared_out(task_id: str, names: Collection[str]) -> Mapping[Split, Collection[str]]:
    ranked = sorted(names, key=lambda name: blake3(_start(task_id, name).encode()).digest())
    each = max(1, len(ranked) // 10)
    if len(ranked) == 1:
        return dict.fromkeys(Split, ranked)
    if len(ranked) == 2:
        return {Split.TEST: ranked[:1], Split.VALIDATION: ranked[1:], Split.TRAIN: ranked[1:]}
    return {
        Split.TEST: ranked[:each],
        Split.VALIDATION: ranked[each : 2 * each],
        Split.TRAIN: ranked[2 * each :],
    }


def _first(found: Iterable[T], fits: Callable[[T], bool], task_id: str, seed: int) -> T:
    for thing in found:
        if fits(thing):
            return thing
    raise InvalidTask(f"{task_id} finds nothing for seed {seed} in {DRAWS} draws")
