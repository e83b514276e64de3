"""New tasks from those there are, each proved before it is kept: as a job of a platform, or here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
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
from deskhand_platform.api.job_models import GrowTasksOrder
from deskhand_platform.jobs.place import Outcome, Place, Progress
from deskhand_platform.jobs.proofs import Candidate, Lender, Verdict, prove
from deskhand_platform.jobs.task_checks import Leases
from deskhand_sandbox.accessibility.outline import read_outline
from deskhand_sandbox.errors import InfrastructureError, SandboxError
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.families import FolderFamily
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Split, Task

GROWN = Path("tasks", "grown")
"""In a home, where tasks that grew are kept."""
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


async def grow_tasks(place: Place, order: GrowTasksOrder, progress: Progress) -> Outcome:
    """Grow into the home of the place; see `grow`."""
    asked = growing(order, place.home / GROWN)
    return await grow(asked, place, lambda said: print(said, flush=True), progress)


def growing(order: GrowTasksOrder, folder: Path) -> Growing:
    """What an order asks for, into a folder."""
    return Growing(
        tasks=order.tasks or DEFAULT_TASKS,
        by=Source(order.by),
        folder=folder,
        pages=order.pages,
        offset=order.offset,
        each=order.each,
        endpoint=None if order.model is None else ApiSettings(model=order.model, base_url=order.endpoint),
    )


def bases_of(tasks: Sequence[str], pages: int, offset: int) -> list[Task]:
    """The start states that tasks grow from: train seeds of each, some passed over first.

    Raises:
        HeldOutRefused, InvalidTask: a task is held out.
        UnknownName: no such task.
    """
    found = [make_task(task, seed) for task in tasks for seed in seeds(task, Split.TRAIN, pages, offset)]
    for each in found:
        refuse_measured(each)
    return found


async def grow(asked: Growing, place: Place, told: Callable[[str], None], progress: Progress) -> Outcome:
    """What came of it: the folder, ids admitted, how many were refused, by why (pages that could not be seen
    among them), and what the model that was asked cost, as in `Decision.cost`.

    Args:
        told: of each task that is tried, in words.

    Raises:
        HeldOutRefused, InvalidTask, UnknownName: as `bases_of`.
        SandboxError: no sandbox is to be had.
    """
    bases = bases_of(asked.tasks, asked.pages, asked.offset)
    proposer = None if asked.endpoint is None else TaskProposer(ChatEndpoint(asked.endpoint))
    async with place.store() as store, place.sandboxes(1) as source, Leases(source) as lender:
        nursery = Nursery(asked.folder, measured=await measured_instructions(store))
        admitted: list[str] = []

        async def proved(family: FolderFamily, task_id: str) -> str:
            proof = await prove(Candidate(task=family.make(task_id, 0), family=family), lender)
            if proof.verdict is Verdict.FAILED:
                raise InfrastructureError(proof.reason)
            return proof.reason

        def begun(number: int) -> None:
            progress("pages", number, len(bases))

        proposed = _proposals(asked, bases, lender, store, nursery, proposer, told, begun)
        async with aclosing(proposed) as proposals:
            async for proposal in proposals:
                ruling = await nursery.admit(proposal, proved)
                if ruling.refusal is None:
                    admitted.append(ruling.task_id)
                    told(f"✓ {ruling.task_id}: {proposal.instruction}")
                else:
                    told(f"✗ {ruling.refusal}: {proposal.instruction} ({ruling.reason})")
    refused = {why: number for why, number in sorted(nursery.counts.items()) if why != "admitted"}
    cost = {} if proposer is None else dict(proposer.cost)
    return {"folder": str(asked.folder), "admitted": admitted, "refused": refused, "cost": cost}


async def _proposals(
    asked: Growing,
    bases: Sequence[Task],
    lender: Lender,
    store: Store,
    nursery: Nursery,
    proposer: TaskProposer | None,
    told: Callable[[str], None],
    begun: Callable[[int], None],
) -> AsyncGenerator[Proposal]:
    for number, base in enumerate(bases):
        begun(number)
        sandbox = await lender.sandbox(base.environment.kind)
        if asked.by is Source.EXPLORED:
            _, found, played = await explore(
                base, sandbox=sandbox, sink=store, seed=base.seed, actions=asked.each
            )
            if played.end is not None and played.end.failure is not None:
                nursery.counts[Refusal.FAILED.value] += 1
                told(f"! {base.id} with seed {base.seed}: {played.end.failure_detail}")
        else:
            try:
                await set_up(sandbox, base)
                outline = (await sandbox.observe(text_tree=True)).text_tree
            except SandboxError as error:
                nursery.counts[Refusal.FAILED.value] += 1
                told(f"! {base.id} with seed {base.seed}: {error}")
                continue
            page = Page(task=base, nodes=read_outline(outline or ""))
            if proposer is None:
                found = from_templates(page, count=asked.each)
            else:
                try:
                    found, wrong = await proposer.propose(page, count=asked.each)
                except InferenceError as error:
                    nursery.counts[Refusal.UNANSWERED.value] += 1
                    told(f"! {page.name}: {error}")
                    continue
                for why in wrong:
                    nursery.counts[Refusal.UNREADABLE.value] += 1
                    told(f"✗ unreadable: {why}")
        for proposal in found:
            yield proposal
