"""/v1/trajectories/{id}/takeover: a person holds the controls of a running episode instead of its policy.

What they do is carried out and recorded turn by turn, like the policy's. Who holds the controls renews them
(`PUT` again) every few seconds; who does not, lets go.
"""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import mend_reply
from deskhand_agent.reviewing import PersonsAnswer
from deskhand_platform.api.deps import Have, User
from deskhand_platform.api.live_models import SteeringAction, TakeoverModel
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.services import Services
from deskhand_platform.states import WorkState
from deskhand_platform.takeovers import Takeover, Takeovers

router = APIRouter(tags=["sandboxes"])


@router.get("/trajectories/{id}/takeover")
async def get_takeover(have: Have, id: str) -> TakeoverModel:
    """Who holds the controls."""
    await have.store.summary(id)
    return _shown(id, await Takeovers(have.store.database).get(id))


@router.put("/trajectories/{id}/takeover")
async def take_over(have: Have, user: User, id: str) -> TakeoverModel:
    """Take the controls of an episode of a submitted task, or keep hold of them."""
    await _must_run(have, id)
    return _shown(id, await Takeovers(have.store.database).hold(id, user))


@router.delete("/trajectories/{id}/takeover", status_code=204)
async def hand_back(have: Have, user: User, id: str) -> None:
    """Hand the controls back: the policy goes on from where the person left."""
    await Takeovers(have.store.database).let_go(id, user)


@router.post("/trajectories/{id}/takeover/actions", status_code=202)
async def steer(have: Have, user: User, id: str, body: SteeringAction) -> TakeoverModel:
    """Do something: it is carried out as the episode's next turn."""
    try:
        parsed = mend_reply(body.reply)
    except ActionSyntaxError as error:
        raise InvalidField("reply", str(error)) from error
    await _must_run(have, id)
    answer = PersonsAnswer(by=user, actions=parsed.actions, thought=parsed.thought)
    return _shown(id, await Takeovers(have.store.database).act(id, answer))


async def _must_run(have: Services, id: str) -> None:
    """
    Raises:
        NotFound: there is no such trajectory.
        WrongState: it is over, or no submitted task works at it.
    """
    summary = await have.store.summary(id)
    if summary.ended_at_s is not None:
        raise WrongState("the episode is over")
    try:
        queued = await have.queue.get(summary.labels.get("task", ""))
    except NotFound as error:
        raise WrongState("a training run's own episodes cannot be taken over") from error
    if queued.state is not WorkState.RUNNING or queued.trajectory_id != id:
        raise WrongState(f"its task is {queued.state}", state=queued.state)


def _shown(id: str, held: Takeover | None) -> TakeoverModel:
    return TakeoverModel(
        trajectory_id=id,
        by=None if held is None else held.by,
        since_s=None if held is None else held.since_s,
        pending=held is not None and held.pending,
    )
