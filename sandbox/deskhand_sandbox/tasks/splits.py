"""Which seeds of which tasks may be used for what: decided by a hash, so it never changes.

A task with one start state, which every seed means, belongs to one split altogether.
"""

from __future__ import annotations

from itertools import count as counting
from itertools import islice

from blake3 import blake3

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.families import family_of
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS
from deskhand_sandbox.types import Split

__all__ = ["HELD_OUT_TASKS", "seeds", "split_by_hash", "split_of"]

TRAIN_SHARE = 0.8
VALIDATION_SHARE = 0.1
"""The rest is test."""


def split_of(task_id: str, seed: int) -> Split:
    """Where a start state belongs; every seed of a held-out task is test."""
    if task_id in HELD_OUT_TASKS:
        return Split.TEST
    return split_by_hash(task_id if _fixed(task_id) else f"{task_id}\0{seed}")


def seeds(task_id: str, split: Split, count: int, offset: int = 0) -> list[int]:
    """`count` seeds of a split in ascending order, after the first `offset` of them.

    Raises:
        InvalidTask: training or validation seeds of a held-out task, seeds of a split that the one start
            state of a task is not in, or a negative count or offset.
    """
    if count < 0 or offset < 0:
        raise InvalidTask(f"count and offset must not be negative, not {count} and {offset}")
    if task_id in HELD_OUT_TASKS and split is not Split.TEST:
        raise InvalidTask(f"{task_id} is held out: it has test seeds only, and nothing may be trained on it")
    if _fixed(task_id) and (own := split_by_hash(task_id)) is not split:
        raise InvalidTask(
            f"{task_id} has one start state, which is {own.value}: it has no {split.value} seeds"
        )
    matching = (seed for seed in counting() if split_of(task_id, seed) is split)
    return list(islice(matching, offset, offset + count))


def _fixed(task_id: str) -> bool:
    family = family_of(task_id)
    return family is not None and family.fixed(task_id)


def split_by_hash(text: str) -> Split:
    """Where whatever a text names belongs, were it a start state."""
    digest = blake3(text.encode()).digest(length=8)
    share = int.from_bytes(digest, "big") / 2**64
    if share < TRAIN_SHARE:
        return Split.TRAIN
    return Split.VALIDATION if share < TRAIN_SHARE + VALIDATION_SHARE else Split.TEST
