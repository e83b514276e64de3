"""/v1/proposals: what policies are about to do in live sandboxes, to be accepted or replaced by a person.

A task is worked so when it is submitted with `policy.review_s`.
"""

from __future__ import annotations

from fastapi import APIRouter

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import mend_reply
from deskhand_agent.reviewing import PersonsAnswer
from deskhand_platform.api.annotation_models import ProposalAnswer, ProposalModel
from deskhand_platform.api.deps import Cursor, Have, Limit, User, cursor_id
from deskhand_platform.api.models import Page
from deskhand_platform.api.recorded import action_model, image_ref
from deskhand_platform.errors import InvalidField
from deskhand_platform.proposals import Proposed
from deskhand_sandbox.types import Image

router = APIRouter(tags=["annotations"])


@router.get("/proposals")
async def list_proposals(have: Have, cursor: Cursor = None, limit: Limit = 50) -> Page[ProposalModel]:
    """Those that wait for a person, the longest first."""
    found = await have.proposals.waiting(after=cursor_id(cursor), limit=limit)
    more = found[-1].id if len(found) == limit else None
    return Page[ProposalModel](items=[shown(one) for one in found], next_cursor=more)


@router.get("/proposals/{id}")
async def get_proposal(have: Have, id: str) -> ProposalModel:
    """One of them; for a day also when it is over."""
    return shown(await have.proposals.get(id))


@router.post("/proposals/{id}/answer")
async def answer_proposal(have: Have, user: User, id: str, body: ProposalAnswer) -> ProposalModel:
    """Accept what is about to be done, or do something else in its place.

    What asks the user may be accepted with an answer: the agent is told it, and nobody else is asked.
    """
    said = body.answer.strip()
    if said and (body.verdict != "accepted" or (await have.proposals.get(id)).asks is None):
        raise InvalidField("answer", "nothing is asked: only a question that is accepted takes an answer")
    if body.verdict == "accepted":
        if body.reply.strip():
            raise InvalidField("reply", "what is accepted is done as it stands; to change it, send replaced")
        answer = PersonsAnswer(by=user, reason=body.reason, answer=said)
    else:
        screen = (await have.proposals.get(id)).screenshot
        answer = replacement(body, user, screen)
    return shown(await have.proposals.answer(id, answer))


def replacement(body: ProposalAnswer, user: str, screen: Image) -> PersonsAnswer:
    """What is to be done in its place.

    Raises:
        InvalidField: the reply holds no action of the grammar, or one that points beside the screen.
    """
    try:
        parsed = mend_reply(body.reply)
    except ActionSyntaxError as error:
        raise InvalidField("reply", str(error)) from error
    for action in parsed.actions:
        for x, y in action_model(action).points:
            if not (0 <= x < screen.width_px and 0 <= y < screen.height_px):
                size = f"{screen.width_px} × {screen.height_px}"
                raise InvalidField("reply", f"({x}, {y}) is beside the screen of {size} pixels")
    return PersonsAnswer(by=user, actions=parsed.actions, thought=parsed.thought, reason=body.reason)


def shown(proposed: Proposed) -> ProposalModel:
    """A proposal for the wire."""
    proposal = proposed.proposal
    return ProposalModel(
        id=proposed.id,
        trajectory_id=proposed.trajectory_id,
        step_index=proposed.step_index,
        instruction=proposed.instruction,
        image=image_ref(proposed.screenshot),
        text=proposal.text,
        thought=proposal.thought,
        actions=[action_model(action) for action in proposal.actions],
        asks=proposed.asks,
        asked_at_s=proposed.asked_at_s,
        answer_by_s=proposed.answer_by_s,
        state=proposed.state,
        answered_by=None if proposed.answer is None else proposed.answer.by,
    )
