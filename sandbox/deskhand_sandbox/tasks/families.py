"""Where tasks come from."""

from __future__ import annotations

import asyncio
import importlib
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Protocol, cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.written.actions import AnswerOf, WaitUntil
from deskhand_sandbox.tasks.written.folder import TaskFolder
from deskhand_sandbox.types import Action, Answer, Finish, Task, Wait

TASKS_VARIABLE = "DESKHAND_TASKS"
"""Names files and folders of tasks, separated as in $PATH."""

WAIT_S = 40.0
"""Longest an oracle waits for a program."""
LOOK_S = 0.05

MODULES = (
    "deskhand_sandbox.tasks.miniwob",
    "deskhand_sandbox.tasks.fake",
    "deskhand_sandbox.tasks.games",
    "deskhand_sandbox.tasks.generated",
    "deskhand_sandbox.tasks.workflows",
    "deskhand_sandbox.tasks.android",
    "deskhand_sandbox.tasks.worlds",
    "deskhand_sandbox.tasks.shop",
)
"""Modules with `task_ids` and `make`; where they solve some themselves, with `PROVEN` (their ids) and
`next_actions`; with `FIXED`, ids of tasks that have one start state, where there are such."""

FOLDERS = ("desk", "vm")
"""Folders of tasks beside this file."""


class Family(Protocol):
    """Tasks that belong together."""

    def task_ids(self) -> tuple[str, ...]:
        """Every task, sorted."""
        ...

    def make(self, task_id: str, seed: int) -> Task:
        """One start state."""
        ...

    def proven(self, task_id: str) -> bool:
        """Whether it brings an oracle of its own."""
        ...

    def fixed(self, task_id: str) -> bool:
        """Whether every seed means the same start state."""
        ...

    async def next_actions(self, task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
        """What the oracle does next.

        Args:
            turn: from 0.
        """
        ...


class ModuleFamily:
    """The tasks of a module."""

    def __init__(self, name: str) -> None:
        self._name = name

    def task_ids(self) -> tuple[str, ...]:
        return cast("Callable[[], tuple[str, ...]]", self._of("task_ids"))()

    def make(self, task_id: str, seed: int) -> Task:
        return cast("Callable[[str, int], Task]", self._of("make"))(task_id, seed)

    def proven(self, task_id: str) -> bool:
        return task_id in cast("Sequence[str]", self._of("PROVEN", ()))

    def fixed(self, task_id: str) -> bool:
        return task_id in cast("Sequence[str]", self._of("FIXED", ()))

    async def next_actions(self, task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
        ask = cast("Callable[[Task, Sandbox, int], Awaitable[Sequence[Action]]]", self._of("next_actions"))
        return await ask(task, sandbox, turn)

    def _of(self, name: str, *default: object) -> Callable[..., object]:
        return getattr(importlib.import_module(self._name), name, *default)


class FolderFamily(TaskFolder):
    """The tasks of files; their oracles are lists of actions."""

    async def next_actions(self, task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
        steps = self.oracle(task.id, task.seed) or ()
        step = steps[turn] if turn < len(steps) else Finish()
        if isinstance(step, AnswerOf):
            return (Answer(text=str(await sandbox.evaluate(step.expression))),)
        if isinstance(step, WaitUntil):
            await _held(sandbox, step.expression)
            return (Wait(seconds=0.01),)
        return (step,)


async def _held(sandbox: Sandbox, expression: str) -> None:
    """Wait until an expression holds.

    Raises:
        InvalidTask: it does not.
    """
    deadline = time.monotonic() + WAIT_S
    while not await sandbox.evaluate(expression):
        if time.monotonic() > deadline:
            raise InvalidTask(f"an oracle waits in vain for {expression!r}")
        await asyncio.sleep(LOOK_S)


def families() -> tuple[Family, ...]:
    """Every family: those of the package first, then the files and folders $DESKHAND_TASKS names."""
    named = [each for each in os.environ.get(TASKS_VARIABLE, "").split(os.pathsep) if each]
    return (*_own(), *(_folder(each) for each in named))


def family_of(task_id: str) -> Family | None:
    """The family of a task; None where no task is called so."""
    return next((family for family in families() if task_id in family.task_ids()), None)


@cache
def _own() -> tuple[Family, ...]:
    here = files("deskhand_sandbox.tasks")
    return (*map(ModuleFamily, MODULES), *(FolderFamily(here.joinpath(name)) for name in FOLDERS))


@cache
def _folder(place: str) -> FolderFamily:
    return FolderFamily(Path(place))
