"""POST /v1/trajectories/{id}/branch: new episodes that go on from a step of a recorded one."""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_flywheel.branching_off import BranchOrder
from deskhand_flywheel.errors import NotReplayable
from deskhand_platform.api.deps import Have, Who
from deskhand_platform.api.live_models import BranchBody
from deskhand_platform.api.models import SubmittedTask
from deskhand_platform.api.policy_choice import check_branching, check_kept, check_policy, check_solved
from deskhand_platform.api.routes.tasks import shown
from deskhand_platform.api.wanted import check_labels
from deskhand_platform.errors import InvalidField
from deskhand_platform.task_orders import BranchRef, PolicyRef, TaskOrder

router = APIRouter(tags=["trajectories"])


@router.post("/trajectories/{id}/branch", status_code=201)
async def branch_trajectory(have: Have, who: Who, id: str, body: BranchBody) -> SubmittedTask:
    """Queue episodes that share the steps before this one and are decided anew from there.

    The recorded actions are replayed from the seeded start and every screen is compared; of several episodes,
    the others begin at a snapshot where the sandbox keeps any. Their trajectories are labelled `branch_of`,
    `shared_turns` and `branch_exact`: "no" where a screen differed on the way. Each is one attempt: the
    policy takes `test_time.checks`, but neither `test_time.attempts` nor `notebook`.
    """
    check_labels(body.labels)
    check_policy(body.policy, have.settings.jobs.endpoints, who.scopes)
    check_branching(body.policy)
    await check_kept(have.store, [("", body.policy)])
    trajectory = await have.store.trajectory(id)
    task = trajectory.start.task
    try:
        BranchOrder(of=trajectory, step=body.step, task=task, episodes=body.episodes)
    except NotReplayable as error:
        raise InvalidField("step", str(error)) from error
    check_solved(body.policy, task)
    policy = PolicyRef(name=body.policy.name, settings=body.policy.settings, review_s=body.policy.review_s)
    order = TaskOrder(
        owner=who.name,
        task=task,
        policy=policy,
        labels=body.labels,
        priority=body.priority,
        branch=BranchRef(trajectory_id=id, step=body.step, episodes=body.episodes),
    )
    return shown(await have.queue.submit(order))
