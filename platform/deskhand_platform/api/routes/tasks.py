"""/v1/tasks: submit one or many, list, show, cancel, try again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from deskhand_platform.accounts.access import Principal
from deskhand_platform.api.deps import Cursor, Have, Label, Limit, Noted, Who, cursor_id, labelled
from deskhand_platform.api.models import (
    OutcomeModel,
    Page,
    PolicyChoice,
    SubmittedBatch,
    SubmittedTask,
    TaskBatch,
    TaskSubmission,
)
from deskhand_platform.api.policy_choice import check_kept, check_policy, check_solved
from deskhand_platform.api.wanted import check_labels, wanted_task
from deskhand_platform.errors import InvalidField
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState
from deskhand_platform.task_orders import PolicyRef, QueuedTask, TaskOrder

router = APIRouter(tags=["tasks"])


@router.post("/tasks", status_code=201)
async def submit_task(have: Have, who: Who, noted: Noted, body: TaskSubmission) -> SubmittedTask:
    """Queue a task; its trajectory can be fetched as soon as an episode has begun."""
    await check_kept(have.store, [("", body.policy)])
    queued = await have.queue.submit(order(body, who, have.settings))
    noted(queued.id)
    return shown(queued)


@router.post("/tasks/batch", status_code=201)
async def submit_tasks(have: Have, who: Who, noted: Noted, body: TaskBatch) -> SubmittedBatch:
    """Queue up to 10,000 tasks, all of them or none."""
    orders = await asyncio.to_thread(_orders, body.tasks, who, have.settings)
    await check_kept(have.store, ((f"tasks.{at}.", one.policy) for at, one in enumerate(body.tasks)))
    ids = await have.queue.submit_all(orders)
    noted(f"{len(ids)} tasks, {ids[0]} to {ids[-1]}")
    return SubmittedBatch(ids=list(ids))


@router.get("/tasks")
async def list_tasks(
    have: Have,
    who: Who,
    state: WorkState | None = None,
    owner: Annotated[str | None, Query(description="only of this user")] = None,
    task_id: Annotated[str | None, Query(description="of the catalog, or a task's own")] = None,
    label: Label = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Page[SubmittedTask]:
    """Submitted tasks, newest first; submitters see their own."""
    found = await have.queue.list(
        state=state,
        owner=who.only or owner,
        task_id=task_id,
        labels=labelled(label or []),
        before=cursor_id(cursor),
        limit=limit,
    )
    more = found[-1].id if len(found) == limit else None
    return Page[SubmittedTask](items=[shown(one) for one in found], next_cursor=more)


@router.get("/tasks/{id}")
async def get_task(have: Have, id: str) -> SubmittedTask:
    """One submitted task."""
    return shown(await have.queue.get(id))


@router.delete("/tasks/{id}")
async def cancel_task(have: Have, id: str) -> SubmittedTask:
    """Take a waiting task out of the queue, or stop a running one."""
    return shown(await have.queue.cancel(id))


@router.post("/tasks/{id}/retry")
async def retry_task(have: Have, id: str) -> SubmittedTask:
    """Queue a task again that failed or was cancelled."""
    return shown(await have.queue.retry(id))


def order(body: TaskSubmission, who: Principal, settings: Settings) -> TaskOrder:
    """What a submission asks of the queue.

    Raises:
        InvalidField: as `wanted_task`, `check_policy`, `check_solved` and `check_labels`.
    """
    check_labels(body.labels)
    check_policy(body.policy, settings.jobs.endpoints, who.scopes)
    task = wanted_task(body, settings.sandbox.lent)
    check_solved(body.policy, task)
    return TaskOrder(
        task=task,
        policy=PolicyRef(name=body.policy.name, settings=body.policy.settings, review_s=body.policy.review_s),
        labels=body.labels,
        priority=body.priority,
        deadline_s=body.deadline_s,
        key=body.key,
        owner=who.name,
    )


def _orders(bodies: Sequence[TaskSubmission], who: Principal, settings: Settings) -> list[TaskOrder]:
    found: list[TaskOrder] = []
    for number, body in enumerate(bodies):
        try:
            found.append(order(body, who, settings))
        except InvalidField as error:
            field = f"tasks.{number}.{error.field}"
            raise InvalidField(field, error.reason, suggestions=error.suggestions) from error
    return found


def shown(queued: QueuedTask) -> SubmittedTask:
    """A task of the queue for the wire."""
    outcome = queued.outcome
    return SubmittedTask(
        id=queued.id,
        state=queued.state,
        task_id=queued.task.id,
        seed=queued.task.seed,
        policy=PolicyChoice(
            name=queued.policy.name,
            settings=dict(queued.policy.settings),
            review_s=queued.policy.review_s,
        ),
        labels=dict(queued.labels),
        priority=queued.priority,
        deadline_s=queued.deadline_s,
        key=queued.key,
        owner=queued.owner,
        attempts=queued.attempts,
        branch_of=None if queued.branch is None else queued.branch.trajectory_id,
        trajectory_id=queued.trajectory_id,
        outcome=None
        if outcome is None
        else OutcomeModel(score=outcome.score, success=outcome.success, detail=outcome.detail),
        reason=queued.reason,
        created_at_s=queued.created_at_s,
        started_at_s=queued.started_at_s,
        ended_at_s=queued.ended_at_s,
    )
