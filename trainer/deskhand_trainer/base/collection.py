"""Looking at many start states: several sandboxes side by side, in the order of the tasks at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.types import Task

ATTEMPTS = 3
"""Times a task is tried before a broken computer ends the collection."""

Found = TypeVar("Found")


async def collect(
    source: SandboxSource,
    tasks: Sequence[Task],
    look: Callable[[Sandbox, Task], Awaitable[Found]],
    *,
    owner: str,
    concurrency: int = 4,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """What `look` finds for every task.

    Args:
        tasks: one or more, each a start state.
        progress: told tasks done and in all.

    Raises:
        InfrastructureError: a task failed in three sandboxes.
    """
    found: dict[int, Found] = {}
    # a task's starts one after another: opening another page takes five times as long as the next seed
    waiting = sorted(enumerate(tasks), key=lambda pair: (pair[1].id, pair[0]), reverse=True)
    failures: dict[int, int] = {}

    async def work() -> None:
        while waiting:
            kind = waiting[-1][1].environment.kind
            async with source.lease(kind, owner=owner) as sandbox:
                while waiting:
                    index, task = waiting.pop()
                    try:
                        found[index] = await look(sandbox, task)
                    except InfrastructureError:
                        failures[index] = failures.get(index, 0) + 1
                        if failures[index] >= ATTEMPTS:
                            raise
                        waiting.append((index, task))
                        break  # that sandbox is not to be used again
                    if progress is not None:
                        progress(len(found), len(tasks))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(tasks))):
                group.create_task(work())
    except BaseExceptionGroup as errors:
        # the first is the cause; the others are what its cancellation stirred up
        raise errors.exceptions[0] from errors
    return [found[index] for index in sorted(found)]
