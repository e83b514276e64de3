"""/v1/jobs: work on the store that takes its time, asked for, looked at, cancelled."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Body

from deskhand_flywheel.errors import HeldOutRefused
from deskhand_platform.accounts.access import JOBS, Principal
from deskhand_platform.api.deps import Cursor, Have, Limit, LogOffset, LogTail, Noted, Who, after
from deskhand_platform.api.endpoints import check_listed
from deskhand_platform.api.job_models import (
    CalibrateOrder,
    CheckTasksOrder,
    FsckOrder,
    GcOrder,
    GrowTasksOrder,
    JobKind,
    JobLog,
    JobModel,
    JobOrder,
    JudgeOrder,
    LabelOrder,
    MergeOrder,
    Order,
    ScoreOrder,
    TrainOrder,
)
from deskhand_platform.api.models import Page
from deskhand_platform.errors import Forbidden, InvalidField
from deskhand_platform.jobs.desk import JobDesk
from deskhand_platform.jobs.merging import mergeable
from deskhand_platform.jobs.records import JobRecord, read_outcome
from deskhand_platform.naming import named_in
from deskhand_platform.rounds.logs import read_log
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState
from deskhand_sandbox.errors import InvalidTask
from deskhand_trainer.errors import ConfigError

router = APIRouter(tags=["jobs"])
OPENAI = "https://api.openai.com/v1"
"""What is asked where an order names no endpoint."""


@router.get("/jobs")
async def list_jobs(
    have: Have,
    kind: JobKind | None = None,
    state: WorkState | None = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[JobModel]:
    """Jobs, newest first."""
    found = after(cursor, await asyncio.to_thread(JobDesk(have.settings).list), lambda one: one.id)
    chosen = [one for one in found if kind in (None, one.kind) and state in (None, one.state)]
    more = chosen[limit - 1].id if len(chosen) > limit else None
    return Page[JobModel](items=[_shown(one) for one in chosen[:limit]], next_cursor=more)


@router.post("/jobs", status_code=201)
async def start_job(
    have: Have, who: Who, noted: Noted, order: Annotated[JobOrder, Body(examples=[{"kind": "gc"}])]
) -> JobModel:
    """Queue one; it is done whatever dies meanwhile.

    Checks and collections (fsck, gc) are worked one after the other, and so are all others, beside them.
    The former take the scope `store:write`. Without `apply` a collection only says what would go.
    """
    _check_scope(who, order.kind)
    await _check(have, order)
    noted(order.model_dump_json())
    desk = JobDesk(have.settings)
    return _shown(await asyncio.to_thread(desk.ask, order.kind, order.model_dump(mode="json"), who.name))


@router.get("/jobs/{id}")
async def get_job(have: Have, id: str) -> JobModel:
    """One of them, with how far it is and what came of it."""
    desk = JobDesk(have.settings)
    found = await asyncio.to_thread(desk.get, id)
    outcome = await asyncio.to_thread(read_outcome, desk.folder(id))
    return _shown(found).model_copy(update={"result": None if outcome is None else dict(outcome)})


@router.get("/jobs/{id}/log")
async def job_log(
    have: Have,
    id: str,
    offset: LogOffset = None,
    tail: LogTail = 16384,
) -> JobLog:
    """A piece of what a job wrote; asked again with `next_offset`, what it wrote since."""
    desk = JobDesk(have.settings)
    found = await asyncio.to_thread(desk.get, id)
    piece = await asyncio.to_thread(read_log, desk.folder(id), offset=offset, tail=tail)
    return JobLog(**asdict(piece), over=found.state.over and piece.next_offset == piece.size)


@router.post("/jobs/{id}/cancel")
async def cancel_job(have: Have, who: Who, id: str) -> JobModel:
    """Take it out of the queue, or stop it; what it has done stays done."""
    desk = JobDesk(have.settings)
    _check_scope(who, (await asyncio.to_thread(desk.get, id)).kind)
    return _shown(await asyncio.to_thread(desk.cancel, id))


def _check_scope(who: Principal, kind: str) -> None:
    needed = JOBS.get(kind)
    if needed is not None and needed not in who.scopes:
        raise Forbidden(
            f"{who.name} may not do this: {kind} takes the scope {needed!r}, which operators have"
        )


async def _check(have: Services, order: Order) -> None:
    """Refuse at once what the job would refuse, and what the platform is not to be used for."""
    from deskhand_platform.jobs.scoring import SCRIPTED, judge_settings, score_config
    from deskhand_platform.jobs.task_checks import known_tasks, meant
    from deskhand_platform.jobs.task_growing import DEFAULT_TASKS, bases_of
    from deskhand_platform.jobs.work import rule_of

    allowed = have.settings.jobs
    match order:
        case FsckOrder():
            if order.spare is not None:
                check_listed("spare", order.spare, "spares", allowed.spares)
        case GcOrder():
            rule_of(order)
        case JudgeOrder():
            check_listed("endpoint", order.endpoint or OPENAI, "endpoints", allowed.endpoints)
            judge_settings(order)
        case LabelOrder() | TrainOrder():
            if order.policy != SCRIPTED or isinstance(order, TrainOrder):
                with named_in("policy"):
                    await have.store.policy_named(order.policy)
            if isinstance(order, TrainOrder):
                try:
                    score_config(order.settings)
                except ConfigError as error:
                    raise InvalidField("settings", str(error)) from error
        case ScoreOrder() | CalibrateOrder():
            with named_in("model"):
                await have.store.policy_named(order.model)
        case MergeOrder():
            await mergeable(have.store, order.policies)
        case CheckTasksOrder():
            every = await asyncio.to_thread(known_tasks)
            for number, name in enumerate(order.tasks or ()):
                with named_in(f"tasks.{number}"):
                    meant(name, every)
        case GrowTasksOrder():
            if order.model is not None:
                check_listed("endpoint", order.endpoint or OPENAI, "endpoints", allowed.endpoints)
            try:
                with named_in("tasks"):
                    bases_of(order.tasks or DEFAULT_TASKS, 1, order.offset)
            except (HeldOutRefused, InvalidTask) as error:
                raise InvalidField("tasks", str(error)) from error


def _shown(record: JobRecord) -> JobModel:
    return JobModel.model_validate(asdict(record))
