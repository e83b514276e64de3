"""Tasks that environments bring, by id ("miniwob/click-test"); a task and a seed name one start state."""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.tasks import fake, miniwob
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS
from deskhand_sandbox.types import Task

__all__ = ["TaskInfo", "list_tasks", "make_task"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskInfo:
    """A line of the catalogue."""

    id: str
    kind: str
    """The kind of sandbox it needs."""
    turns: int
    """Where an episode is cut off."""
    held_out: bool
    """Never trained on."""
    oracle: bool = False
    """Whether a scripted policy solves it; filled in by whoever has the policies."""
    description: str = ""


def list_tasks() -> tuple[TaskInfo, ...]:
    """Every task there is, by id."""
    found: list[TaskInfo] = []
    for task_id in sorted((*miniwob.task_ids(), *fake.task_ids())):
        task = make_task(task_id, 0)
        found.append(
            TaskInfo(
                id=task_id,
                kind=task.environment.kind,
                turns=task.limits.turns,
                held_out=task_id in HELD_OUT_TASKS,
                description=task.labels.get("description", ""),
            )
        )
    return tuple(found)


def make_task(task_id: str, seed: int) -> Task:
    """The task with that id at one start state.

    Raises:
        UnknownName: no such task; says the nearest ones.
    """
    if task_id in miniwob.task_ids():
        return miniwob.make(task_id, seed)
    if task_id in fake.task_ids():
        return fake.make(task_id, seed)
    raise UnknownName("task", task_id, (*miniwob.task_ids(), *fake.task_ids()))
