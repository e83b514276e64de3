"""Tasks by id ("miniwob/click-test"); a task and a seed name one start state.

They come with environments, stand in files of the package, or in files and folders that $DESKHAND_TASKS
names (see `deskhand_sandbox.tasks.written` and `deskhand_sandbox.tasks.osworld`).
"""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.tasks.families import families
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
    """Whether something is known to solve it. A task without is unproven: neither trained on nor reported
    unless asked for by name. Scripted policies' oracles are filled in by whoever has the policies."""
    description: str = ""


def list_tasks() -> tuple[TaskInfo, ...]:
    """Every task there is, by id.

    Raises:
        InvalidTask: a file of tasks is not as they are written; says which, where and why.
    """
    found: list[TaskInfo] = []
    for family in families():
        for task_id in family.task_ids():
            task = family.make(task_id, 0)
            found.append(
                TaskInfo(
                    id=task_id,
                    kind=task.environment.kind,
                    turns=task.limits.turns,
                    held_out=task_id in HELD_OUT_TASKS,
                    oracle=family.proven(task_id),
                    description=task.labels.get("description", ""),
                )
            )
    return tuple(sorted(found, key=lambda each: each.id))


def make_task(task_id: str, seed: int) -> Task:
    """The task with that id at one start state.

    Raises:
        UnknownName: no such task; says the nearest ones.
        InvalidTask: a file of tasks is not as they are written; says which, where and why.
    """
    for family in families():
        if task_id in family.task_ids():
            return family.make(task_id, seed)
    raise UnknownName("task", task_id, [each for family in families() for each in family.task_ids()])
