"""`deskhand tasks grow`: new tasks from those there are, each proved before it is kept."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from deskhand_agent.apis import ApiSettings
from deskhand_agent.chat import ChatEndpoint
from deskhand_agent.errors import InferenceError
from deskhand_flywheel.growth import (
    Nursery,
    Page,
    Proposal,
    Refusal,
    Source,
    TaskProposer,
    explore,
    from_templates,
    measured_instructions,
)
from deskhand_flywheel.growth.admission import refuse_measured
from deskhand_flywheel.store import Store
from deskhand_platform.cli.console import out, say
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.cli.signals import run_until_signal
from deskhand_platform.jobs.proofs import Candidate, Verdict, prove
from deskhand_platform.jobs.task_checks import Backends, Desk
from deskhand_sandbox.accessibility.outline import read_outline
from deskhand_sandbox.errors import InfrastructureError, SandboxError
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.families import FolderFamily
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split, Task

DEFAULT_TASKS = ("generated/fill-2-large", "generated/fill-3-large", "generated/fill-4-large")


@dataclass(frozen=True, kw_only=True, slots=True)
class Growing:
    """What is asked for."""

    tasks: Sequence[str]
    by: Source
    folder: Path
    pages: int
    """Start states of each task that tasks grow from."""
    offset: int
    """Start states left out first."""
    each: int
    """Tasks, or an explorer's actions, at most for each."""
    endpoint: ApiSettings | None


def run(asked: Growing, *, as_json: bool) -> int:
    """The whole command; its exit status: 1 when nothing was admitted.

    Raises:
        HeldOutRefused: a task is held out.
        UnknownName: no such task.
    """
    return run_until_signal(_grow(asked, as_json=as_json))


async def _grow(asked: Growing, *, as_json: bool) -> int:
    bases = [
        make_task(task, seed)
        for task in asked.tasks
        for seed in seeds(task, Split.TRAIN, asked.pages, asked.offset)
    ]
    for base in bases:
        refuse_measured(base)
    async with opened_store() as store, Backends() as backends, Desk(backends) as desk:
        nursery = Nursery(asked.folder, measured=await measured_instructions(store))
        admitted: list[str] = []

        async def proved(family: FolderFamily, task_id: str) -> str:
            proof = await prove(Candidate(task=family.make(task_id, 0), family=family), desk)
            if proof.verdict is Verdict.FAILED:
                raise InfrastructureError(proof.reason)
            return proof.reason

        async with aclosing(_proposals(asked, bases, desk, store, nursery)) as proposals:
            async for proposal in proposals:
                ruling = await nursery.admit(proposal, proved)
                if ruling.refusal is None:
                    admitted.append(ruling.task_id)
                    say(f"✓ {ruling.task_id}: {proposal.instruction}")
                else:
                    say(f"✗ {ruling.refusal}: {proposal.instruction} ({ruling.reason})")
    _tell(asked.folder, admitted, dict(nursery.counts), as_json=as_json)
    return 0 if admitted else 1


async def _proposals(
    asked: Growing, bases: Sequence[Task], desk: Desk, store: Store, nursery: Nursery
) -> AsyncGenerator[Proposal]:
    proposer = None if asked.endpoint is None else TaskProposer(ChatEndpoint(asked.endpoint))
    for base in bases:
        sandbox = await desk.sandbox(base.environment.kind)
        if asked.by is Source.EXPLORED:
            _, found, _ = await explore(base, sandbox=sandbox, sink=store, seed=base.seed, actions=asked.each)
        else:
            try:
                await sandbox.reset(base)
                outline = (await sandbox.observe(text_tree=True)).text_tree
            except SandboxError as error:
                say(f"! {base.id} with seed {base.seed}: {error}")
                continue
            page = Page(task=base, nodes=read_outline(outline or ""))
            if proposer is None:
                found = from_templates(page, count=asked.each)
            else:
                try:
                    found, wrong = await proposer.propose(page, count=asked.each)
                except InferenceError as error:
                    nursery.counts[Refusal.UNANSWERED.value] += 1
                    say(f"! {page.name}: {error}")
                    continue
                for why in wrong:
                    nursery.counts[Refusal.UNREADABLE.value] += 1
                    say(f"✗ unreadable: {why}")
        for proposal in found:
            yield proposal


def _tell(folder: Path, admitted: Sequence[str], counts: dict[str, int], *, as_json: bool) -> None:
    refused = {why: number for why, number in sorted(counts.items()) if why != "admitted"}
    if as_json:
        told = {"folder": str(folder), "admitted": [*admitted], "refused": refused}
        out.print(json.dumps(told, indent=1), markup=False, soft_wrap=True)
        return
    said = ", ".join(f"{number} {why}" for why, number in refused.items())
    out.print(f"{len(admitted)} tasks admitted; refused: {said or 'none'}", soft_wrap=True)
    if admitted:
        say(f"use them with DESKHAND_TASKS={folder}")
