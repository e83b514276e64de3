"""The tasks environments bring, and which of them a scripted policy solves."""

from __future__ import annotations

from dataclasses import replace

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks import TaskInfo, list_tasks


def catalog(search: str = "", *, held_out: bool | None = None) -> tuple[TaskInfo, ...]:
    """Tasks by id; `search` looks for a part of it, `held_out` None for both."""
    solved = set(oracle_tasks())
    return tuple(
        replace(one, oracle=one.oracle or one.id in solved)
        for one in list_tasks()
        if search in one.id and held_out in (None, one.held_out)
    )
