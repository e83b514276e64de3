"""`deskhand tasks grow`: new tasks from those there are, here or by a platform."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deskhand_agent.accounts import spending
from deskhand_platform.api.job_models import GrowTasksOrder
from deskhand_platform.cli import jobs
from deskhand_platform.cli.console import out, say
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.jobs.task_growing import GROWN, Growing, grow, growing
from deskhand_platform.settings import load_settings


def run(order: GrowTasksOrder, into: Path | None, *, as_json: bool) -> int:
    """The whole command in this process; its exit status: 1 when nothing was admitted.

    Args:
        into: folder of the files; None: the home's.

    Raises:
        HeldOutRefused: a task is held out.
        UnknownName: no such task.
    """
    return run_until_signal(_grow(growing(order, into or load_settings().home / GROWN), as_json=as_json))


def ask(order: GrowTasksOrder, url: str | None, *, as_json: bool) -> int:
    """The same by a platform, into its home.

    Raises:
        As `jobs.done`.
    """
    return _tell(jobs.done(order, url), as_json=as_json)


async def _grow(asked: Growing, *, as_json: bool) -> int:
    return _tell(await grow(asked, jobs.here(load_settings()), say, _quiet), as_json=as_json)


def _quiet(_what: str, _done: int, _total: int | None) -> None:
    """Each task is told of by itself."""


def _tell(found: dict[str, Any], *, as_json: bool) -> int:
    admitted: list[str] = found["admitted"]
    if as_json:
        out.print(json.dumps(found, indent=1), soft_wrap=True)
    else:
        said = ", ".join(f"{number} {why}" for why, number in found["refused"].items())
        cost = spending(found.get("cost", {}))
        out.print(f"{len(admitted)} tasks admitted; refused: {said or 'none'}{cost}", soft_wrap=True)
        if admitted:
            say(f"use them with DESKHAND_TASKS={found['folder']}")
    return 0 if admitted else 1
