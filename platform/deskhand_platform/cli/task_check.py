"""`deskhand tasks check`: proves tasks, several at a time, and names the broken ones."""

from __future__ import annotations

import asyncio
import dataclasses
import fnmatch
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from deskhand_platform.cli.console import err, out, say, table
from deskhand_platform.cli.proofs import Candidate, Proof, Verdict, prove
from deskhand_platform.cli.signals import run_until_signal
from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import SandboxError, UnknownName
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks.families import Family, FolderFamily, families
from deskhand_sandbox.tools.sandbox import with_tools

MARKS = {Verdict.PROVEN: "✓", Verdict.BROKEN: "✗", Verdict.UNPROVEN: "·", Verdict.FAILED: "!"}


def candidates(names: Sequence[str], seeds: Sequence[int]) -> list[Candidate]:
    """The tasks that are meant, at each of the seeds.

    Args:
        names: ids, patterns ("desk/*"), families ("desk"), files or folders of tasks; none means every task.

    Raises:
        UnknownName: one of them means no task.
        InvalidTask: a file is not as tasks are written; says where and what to do.
    """
    every = [(family, task_id) for family in families() for task_id in family.task_ids()]
    wanted: list[tuple[Family, str]] = [] if names else every
    for name in names:
        found: list[tuple[Family, str]] = [one for one in every if _means(name, one[1])]
        if not found and Path(name).exists():
            folder = FolderFamily(Path(name))
            found = [(folder, task_id) for task_id in folder.task_ids()]
            for file, why in folder.refused.items():
                say(f"left out {file}: {why}")
        if not found:
            raise UnknownName("task", name, [task_id for _, task_id in every])
        wanted += [one for one in found if one not in wanted]
    return [
        Candidate(task=family.make(task_id, seed), family=family)
        for family, task_id in sorted(wanted, key=lambda one: one[1])
        for seed in (seeds[:1] if family.fixed(task_id) else seeds)
    ]


def _means(name: str, task_id: str) -> bool:
    return name == task_id or task_id.startswith(f"{name.rstrip('/')}/") or fnmatch.fnmatchcase(task_id, name)


async def check(
    found: Sequence[Candidate], workers: int, on_proof: Callable[[Proof], None]
) -> tuple[Proof, ...]:
    """Prove every candidate.

    Args:
        workers: at a time.
        on_proof: told of each as it is known.
    """
    waiting = list(reversed(found))
    made: list[Proof] = []

    async def work(backends: Backends) -> None:
        async with Desk(backends) as desk:
            while waiting:
                proof = await _proved(waiting.pop(), desk)
                made.append(proof)
                on_proof(proof)

    async with Backends() as backends, asyncio.TaskGroup() as group:
        for _ in range(max(1, min(workers, len(found)))):
            group.create_task(work(backends))
    return tuple(sorted(made, key=lambda each: (each.task_id, each.seed)))


async def _proved(candidate: Candidate, desk: Desk) -> Proof:
    began = time.monotonic()
    try:
        return await prove(candidate, desk)
    except SandboxError as error:
        return Proof(
            task_id=candidate.task.id,
            seed=candidate.task.seed,
            verdict=Verdict.FAILED,
            reason=f"{type(error).__name__}: {error}",
            seconds=time.monotonic() - began,
        )


class Backends:
    """One backend of each kind that is asked for; closed at the end of the block."""

    def __init__(self) -> None:
        self._made: dict[str, Backend] = {}

    def get(self, kind: str) -> Backend:
        """
        Raises:
            SandboxError: there is no such kind, or what it needs is not installed.
        """
        if kind not in self._made:
            self._made[kind] = with_tools(create_backend(kind))
        return self._made[kind]

    async def __aenter__(self) -> Backends:
        return self

    async def __aexit__(self, *_: object) -> None:
        for backend in self._made.values():
            await backend.close()


class Desk:
    """The sandboxes of one worker, one of each kind, kept for as long as they live."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._mine: dict[str, Sandbox] = {}

    async def sandbox(self, kind: str) -> Sandbox:
        """A sandbox of a kind; a dead one is replaced.

        Raises:
            SandboxError: none can be made.
        """
        mine = self._mine.get(kind)
        if mine is not None and not mine.alive():
            await self._mine.pop(kind).close()
            mine = None
        if mine is None:
            mine = self._mine[kind] = await self._backends.get(kind).create()
        return mine

    async def __aenter__(self) -> Desk:
        return self

    async def __aexit__(self, *_: object) -> None:
        for sandbox in self._mine.values():
            await sandbox.close()


def run(names: Sequence[str], *, seeds: int, workers: int, as_json: bool) -> int:
    """The whole command; its exit status: 1 when a task is broken or could not be looked at.

    A signal puts the sandboxes away first.

    Raises:
        As `candidates`.
    """
    return run_until_signal(_proven(candidates(names, range(seeds)), workers, as_json=as_json))


async def _proven(found: Sequence[Candidate], workers: int, *, as_json: bool) -> int:
    began = time.monotonic()
    if err.is_terminal:
        proofs = await _with_bar(found, workers)
    else:
        proofs = await check(found, workers, lambda proof: say(_line(proof)))
    if as_json:
        out.print_json(json.dumps({"seconds": time.monotonic() - began, **_report(proofs)}))
    else:
        _print(proofs, time.monotonic() - began)
    return 1 if any(each.verdict in (Verdict.BROKEN, Verdict.FAILED) for each in proofs) else 0


async def _with_bar(found: Sequence[Candidate], workers: int) -> tuple[Proof, ...]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        bar = progress.add_task("proving", total=len(found))

        def told(proof: Proof) -> None:
            progress.update(bar, advance=1, description=proof.task_id)
            if proof.verdict in (Verdict.BROKEN, Verdict.FAILED):
                progress.console.print(_line(proof), markup=False)

        return await check(found, workers, told)


def _line(proof: Proof) -> str:
    told = f": {proof.reason}" if proof.reason else ""
    took = f"  {proof.turns} turns, {proof.seconds:.1f} s" if proof.verdict is Verdict.PROVEN else ""
    seed = f" (seed {proof.seed})" if proof.seed else ""
    return f"{MARKS[proof.verdict]} {proof.task_id}{seed} {proof.verdict}{told}{took}"


def _report(proofs: Sequence[Proof]) -> dict[str, list[dict[str, object]]]:
    return {
        verdict.value: [dataclasses.asdict(each) for each in proofs if each.verdict is verdict]
        for verdict in Verdict
    }


def _print(proofs: Sequence[Proof], seconds: float) -> None:
    wrong = [each for each in proofs if each.verdict in (Verdict.BROKEN, Verdict.FAILED)]
    if wrong:
        lines = table("task", "seed", "", "why")
        for each in wrong:
            lines.add_row(each.task_id, str(each.seed), each.verdict.value, each.reason)
        out.print(lines)
    unproven = sorted({each.task_id for each in proofs if each.verdict is Verdict.UNPROVEN})
    if unproven:
        out.print(f"Without an oracle: {', '.join(unproven)}", markup=False, soft_wrap=True)
    counts = Counter(each.verdict for each in proofs)
    told = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict])
    out.print(f"{told or 'nothing to prove'}; {seconds:.0f} s", markup=False)
