"""Which proposals become tasks: those that are new, not held out, and prove themselves.

A task is a file of its own in the nursery's folder, as a person could have written it, with its lineage among
its labels; there it is whole or not at all, and stays when the process dies.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import or_, select

from deskhand_flywheel import tables
from deskhand_flywheel.errors import HeldOutRefused
from deskhand_flywheel.growth.types import FAMILY, Proposal, Refusal
from deskhand_flywheel.store import Store
from deskhand_sandbox.errors import InfrastructureError, InvalidTask
from deskhand_sandbox.tasks.families import FolderFamily
from deskhand_sandbox.tasks.held_out import HELD_OUT_TASKS
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import Split, Task

Prove = Callable[[FolderFamily, str], Awaitable[str]]
"""Tries a task of a family: why it is none, "" where it proved itself. Raises `InfrastructureError` where the
computer failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ruling:
    """What became of a proposal."""

    task_id: str
    refusal: Refusal | None
    """None: it is a task now."""
    reason: str = ""


class Nursery:
    """A folder of grown tasks."""

    def __init__(self, folder: Path, *, measured: Collection[str] = ()) -> None:
        """
        Args:
            folder: made where it is missing.
            measured: instructions that are never trained on, see `measured_instructions`.

        Raises:
            InvalidTask: a file in the folder is not as tasks are written.
            OSError: the folder cannot be made or read.
        """
        self._folder, self._measured = folder, {_plain(each) for each in measured}
        folder.mkdir(parents=True, exist_ok=True)
        self._keys = _keys(folder)
        self.counts: Counter[str] = Counter()
        """Rulings so far: "admitted", and refusals by why."""

    async def admit(self, proposal: Proposal, prove: Prove) -> Ruling:
        """Rule on a proposal; a task that is admitted is on the disk when this returns.

        Raises:
            HeldOutRefused: it begins with a task or a seed that is never trained on.
            OSError: no room.
        """
        refuse_measured(proposal.base)
        refusal, reason = await self._try(proposal, prove)
        self.counts["admitted" if refusal is None else refusal.value] += 1
        return Ruling(task_id=proposal.id, refusal=refusal, reason=reason)

    async def _try(self, proposal: Proposal, prove: Prove) -> tuple[Refusal | None, str]:
        if proposal.key in self._keys:
            return Refusal.DUPLICATE, "there is one that asks for the same"
        if _plain(proposal.instruction) in self._measured:
            return Refusal.CONTAMINATED, "its instruction is one that is measured by"
        with tempfile.TemporaryDirectory(prefix=".trying-", dir=self._folder) as place:
            file = Path(place) / f"{proposal.id.removeprefix(f'{FAMILY}/')}.yaml"
            try:
                text = proposal.written()
                file.write_text(text, encoding="utf-8")
                family = FolderFamily(file)
                family.task_ids()
            except InvalidTask as error:
                return Refusal.UNREADABLE, str(error)
            try:
                reason = await prove(family, proposal.id)
            except InfrastructureError as error:
                return Refusal.FAILED, str(error)
            if reason:
                return Refusal.BROKEN, reason
            with file.open("rb") as written:
                os.fsync(written.fileno())
            file.replace(self._folder / file.name)
        self._keys.add(proposal.key)
        return None, ""


def refuse_measured(task: Task) -> None:
    """Before anything grows from a start state.

    Raises:
        HeldOutRefused: the task is held out, or the seed is not one for training.
    """
    if task.id in HELD_OUT_TASKS or split_of(task.id, task.seed) is not Split.TRAIN:
        raise HeldOutRefused(
            f"{task.id} with seed {task.seed} is never trained on, nor is what grows from it: "
            "choose another task, or a seed of its train split"
        )


async def measured_instructions(store: Store) -> frozenset[str]:
    """Instructions of the store's episodes that only measure: of held-out tasks, and of other splits."""
    table = tables.trajectories
    query = select(table.c.instruction).distinct()
    only = or_(table.c.split != Split.TRAIN.value, table.c.task_id.in_(HELD_OUT_TASKS))
    async with store.database.read() as connection:
        return frozenset((await connection.scalars(query.where(only))).all()) - {""}


def _keys(folder: Path) -> set[str]:
    """Of the tasks that are there."""
    family = FolderFamily(folder)
    labels = [family.make(task_id, 0).labels for task_id in family.task_ids()]
    return {each["grown_key"] for each in labels if "grown_key" in each}


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold()
