"""Which seeds of which tasks may be used for what: decided by a hash, so it never changes.

A task with one start state, which every seed means, belongs to one split altogether.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable, Iterator
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

__all__ = ["HELD_OUT_TASKS", "drawn_within", "seeds", "split_by_hash", "split_of"]

T = TypeVar("T")

TRAIN_SHARE = 0.8
VALIDATION_SHARE = 0.1
"""The rest is test."""
REMEMBERED = 512
"""Pairs of a task and a split whose seeds are kept once found, eight bytes each."""
DRAWS = 10_000
ONE_START = ("grown/", "osworld/")
"""Of the ids of tasks that have one start state each, also where nothing says in which files they stand."""


def split_of(task_id: str, seed: int) -> Split:
    """Where a start state belongs; every seed of a held-out task is test."""
    if task_id in HELD_OUT_TASKS:
        return Split.TEST
    return split_by_hash(task_id if _fixed(task_id) else _start(task_id, seed))


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


def _start(task_id: str, seed: int) -> str:
    """What is hashed for a start state."""
    return f"{task_id}\0{seed}"


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
    for _ in range(DRAWS):
        thing = draw(chance)
        if thing is not None and split_by_hash(f"{among}\0{name(thing)}") is split:
            return thing
    raise InvalidTask(f"{task_id} finds nothing for seed {seed} in {DRAWS} draws")
