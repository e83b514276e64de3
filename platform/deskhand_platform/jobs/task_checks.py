"""Tasks proved, several at a time: as a job of a platform in its sandboxes, or here in one's own."""

from __future__ import annotations

import asyncio
import dataclasses
import fnmatch
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from deskhand_platform.api.job_models import CheckTasksOrder
from deskhand_platform.jobs.place import Outcome, Place, Progress
from deskhand_platform.jobs.proofs import Candidate, Lender, Proof, Verdict, prove
from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.errors import SandboxError, UnknownName
from deskhand_sandbox.tasks.families import Family, FolderFamily, families

MARKS = {Verdict.PROVEN: "✓", Verdict.BROKEN: "✗", Verdict.UNPROVEN: "·", Verdict.FAILED: "!"}
WAIT_S = 600.0
"""For a sandbox that others have."""


async def check_tasks(place: Place, order: CheckTasksOrder, progress: Progress) -> Outcome:
    """Prove tasks; what became of each, by verdict.

    Raises:
        UnknownName: a name means no task.
    """
    began = time.monotonic()
    found = candidates(order.tasks or (), range(order.seeds))
    known = 0

    def told(proof: Proof) -> None:
        nonlocal known
        known += 1
        print(line(proof), flush=True)
        progress("tasks", known, len(found))

    progress("tasks", 0, len(found))
    async with place.sandboxes(order.workers) as source:
        proofs = await check(found, order.workers, told, source)
    return {"seconds": time.monotonic() - began, **report(proofs)}


def candidates(
    names: Sequence[str], seeds: Sequence[int], left_out: Callable[[str], None] | None = None
) -> list[Candidate]:
    """The tasks that are meant, at each of the seeds.

    Args:
        names: ids, patterns ("desk/*") or families ("desk"); none means every task.
        left_out: names may be files and folders of tasks too; told of those that cannot be read.

    Raises:
        UnknownName: one of them means no task.
        InvalidTask: a file is not as tasks are written; says where and what to do.
    """
    every = known_tasks()
    wanted = [] if names else every
    for name in names:
        try:
            found = meant(name, every)
        except UnknownName:
            if left_out is None or not Path(name).exists():
                raise
            folder = FolderFamily(Path(name))
            found = [(folder, task_id) for task_id in folder.task_ids()]
            for file, why in folder.refused.items():
                left_out(f"left out {file}: {why}")
            if not found:
                raise
        wanted += [one for one in found if one not in wanted]
    return [
        Candidate(task=family.make(task_id, seed), family=family)
        for family, task_id in sorted(wanted, key=lambda one: one[1])
        for seed in (seeds[:1] if family.fixed(task_id) else seeds)
    ]


def known_tasks() -> list[tuple[Family, str]]:
    """Every task there is, with the family it comes from."""
    return [(family, task_id) for family in families() for task_id in family.task_ids()]


def meant(name: str, every: Sequence[tuple[Family, str]]) -> list[tuple[Family, str]]:
    """Those of all tasks that an id, a pattern or a family means.

    Raises:
        UnknownName: it means none.
    """
    found = [one for one in every if _means(name, one[1])]
    if not found:
        raise UnknownName("task", name, [task_id for _, task_id in every])
    return found


def _means(name: str, task_id: str) -> bool:
    return name == task_id or task_id.startswith(f"{name.rstrip('/')}/") or fnmatch.fnmatchcase(task_id, name)


async def check(
    found: Sequence[Candidate],
    workers: int,
    on_proof: Callable[[Proof], None],
    source: SandboxSource,
) -> tuple[Proof, ...]:
    """Prove every candidate.

    Args:
        workers: at a time.
        on_proof: told of each as it is known.
    """
    waiting = list(reversed(found))
    made: list[Proof] = []

    async def work() -> None:
        async with Leases(source) as mine:
            while waiting:
                proof = await _proved(waiting.pop(), mine)
                made.append(proof)
                on_proof(proof)

    async with asyncio.TaskGroup() as group:
        for _ in range(max(1, min(workers, len(found)))):
            group.create_task(work())
    return tuple(sorted(made, key=lambda each: (each.task_id, each.seed)))


async def _proved(candidate: Candidate, lender: Lender) -> Proof:
    began = time.monotonic()
    try:
        return await prove(candidate, lender)
    except SandboxError as error:
        return Proof(
            task_id=candidate.task.id,
            seed=candidate.task.seed,
            verdict=Verdict.FAILED,
            reason=f"{type(error).__name__}: {error}",
            seconds=time.monotonic() - began,
        )


class Leases:
    """The sandboxes that one worker has on loan, one of each kind, for as long as they live."""

    def __init__(self, source: SandboxSource) -> None:
        self._source = source
        self._mine: dict[str, tuple[Sandbox, AsyncExitStack]] = {}

    async def sandbox(self, kind: str) -> Sandbox:
        """A sandbox of a kind; a dead one is replaced.

        Raises:
            SandboxError: none is to be had.
        """
        if kind in self._mine and not self._mine[kind][0].alive():
            await self._mine.pop(kind)[1].aclose()
        if kind not in self._mine:
            stack = AsyncExitStack()
            lease = self._source.lease(kind, owner="task check", wait_s=WAIT_S)
            self._mine[kind] = (await stack.enter_async_context(lease), stack)
        return self._mine[kind][0]

    async def __aenter__(self) -> Leases:
        return self

    async def __aexit__(self, *_: object) -> None:
        for _sandbox, stack in self._mine.values():
            await stack.aclose()


def line(proof: Proof) -> str:
    """What is said of one."""
    told = f": {proof.reason}" if proof.reason else ""
    took = f"  {proof.turns} turns, {proof.seconds:.1f} s" if proof.verdict is Verdict.PROVEN else ""
    seed = f" (seed {proof.seed})" if proof.seed else ""
    return f"{MARKS[proof.verdict]} {proof.task_id}{seed} {proof.verdict}{told}{took}"


def report(proofs: Sequence[Proof]) -> dict[str, list[dict[str, object]]]:
    """All of them, by verdict."""
    return {
        verdict.value: [dataclasses.asdict(each) for each in proofs if each.verdict is verdict]
        for verdict in Verdict
    }
