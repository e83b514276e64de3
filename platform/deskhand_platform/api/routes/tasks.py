"""/v1/tasks: submit, list, show, cancel."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_platform.api.deps import Cursor, Have, Limit
from deskhand_platform.api.models import (
    OutcomeModel,
    Page,
    PolicyChoice,
    SubmittedTask,
    TaskBody,
    TaskSubmission,
)
from deskhand_platform.errors import InvalidField
from deskhand_platform.queue import PolicyRef, QueuedTask
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import EnvironmentSpec, Limits, Task, VerifierSpec

router = APIRouter(tags=["tasks"])


@router.post("/tasks", status_code=201)
async def submit_task(have: Have, body: TaskSubmission) -> SubmittedTask:
    """Queue a task; its trajectory can be fetched as soon as an episode has begun."""
    check_policy(body.policy)
    policy = PolicyRef(name=body.policy.name, settings=body.policy.settings, review_s=body.policy.review_s)
    queued = await have.queue.submit(wanted_task(body), policy, body.labels)
    return shown(queued)


@router.get("/tasks")
async def list_tasks(
    have: Have, state: WorkState | None = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[SubmittedTask]:
    """Submitted tasks, newest first."""
    found = await have.queue.list(state=state, before=cursor, limit=limit)
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


def wanted_task(body: TaskSubmission) -> Task:
    """The task a submission means.

    Raises:
        InvalidField: neither or both of `task_id` and `task`.
        UnknownName: no such task or environment; carries suggestions.
    """
    from deskhand_sandbox.tasks import make_task

    if (body.task_id is None) == (body.task is None):
        raise InvalidField("task_id", "give either task_id (a task of the catalog) or task (one in full)")
    if body.task_id is not None:
        return make_task(body.task_id, body.seed)
    assert body.task is not None
    return full_task(body.task, body.seed)


def full_task(body: TaskBody, seed: int) -> Task:
    """A task given in full."""
    return Task(
        id=body.id,
        environment=EnvironmentSpec(kind=body.environment.kind, settings=body.environment.settings),
        verifier=VerifierSpec(name=body.verifier.name, settings=body.verifier.settings),
        instruction=body.instruction,
        seed=seed,
        limits=Limits(turns=body.limits.turns, seconds=body.limits.seconds),
        labels=body.labels,
    )


def check_policy(choice: PolicyChoice) -> None:
    """Refuse a policy that does not exist before a worker finds out.

    Raises:
        InvalidField: no such policy, or a key among its settings: they are kept, and shown to everybody.
    """
    from deskhand_agent.policies import policy_names

    if choice.name not in policy_names():
        raise InvalidField(
            "policy.name", f"no policy {choice.name!r}; there are: {', '.join(policy_names())}"
        )
    if "api_key" in choice.settings:
        raise InvalidField(
            "policy.settings.api_key", "settings are kept and shown: give keys to the platform's environment"
        )


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
        attempts=queued.attempts,
        trajectory_id=queued.trajectory_id,
        outcome=None
        if outcome is None
        else OutcomeModel(score=outcome.score, success=outcome.success, detail=outcome.detail),
        reason=queued.reason,
        created_at_s=queued.created_at_s,
        started_at_s=queued.started_at_s,
        ended_at_s=queued.ended_at_s,
    )
