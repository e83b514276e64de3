"""What solves tasks that bring their own oracle: a list of actions in their file, or a solver.

Oracles of MiniWoB++ are scripted policies of the agent's package.
"""

from __future__ import annotations

from collections.abc import Sequence

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.families import families, family_of
from deskhand_sandbox.types import Action, Task


def oracle_tasks() -> tuple[str, ...]:
    """Ids of the tasks that bring an oracle, sorted."""
    return tuple(sorted(each for family in families() for each in family.task_ids() if family.proven(each)))


def brings_oracle(task_id: str) -> bool:
    """Whether the task brings an oracle of its own."""
    family = family_of(task_id)
    return family is not None and family.proven(task_id)


async def next_actions(task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
    """What the task's oracle does next.

    Args:
        turn: from 0.

    Raises:
        InvalidTask: the task brings no oracle, or the oracle does not know on from here.
        InfrastructureError: the computer failed.
    """
    family = family_of(task.id)
    if family is None or not family.proven(task.id):
        raise InvalidTask(f"task {task.id} brings no oracle")
    return await family.next_actions(task, sandbox, turn)
