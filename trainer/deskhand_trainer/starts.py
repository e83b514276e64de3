"""What an episode began with, by name: what must not be trained on and measured on both."""

from __future__ import annotations

from functools import lru_cache

from deskhand_sandbox.tasks.families import family_of
from deskhand_sandbox.tasks.splits import ONE_START


@lru_cache(maxsize=4096)
def has_one_start(task_id: str) -> bool:
    """Whether every seed of a task means the same start state."""
    if task_id.startswith(ONE_START):
        return True
    family = family_of(task_id)
    return family is not None and family.fixed(task_id)


def start_name(task_id: str, seed: int) -> str:
    """The same for the same start state."""
    return task_id if has_one_start(task_id) else f"{task_id}#{seed}"
