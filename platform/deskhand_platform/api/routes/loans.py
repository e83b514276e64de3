"""/v1/sandboxes: lease one, set tasks up in it, act, look, and give it back."""

from __future__ import annotations

import base64

from fastapi import APIRouter

from deskhand_agent.errors import ActionSyntaxError
from deskhand_agent.grammar import mend_reply
from deskhand_platform.api.deps import Have, Noted, User, Who
from deskhand_platform.api.loan_models import (
    LoanAction,
    LoanModel,
    LoanOrder,
    LoanReset,
    LoanStart,
    SeenModel,
)
from deskhand_platform.api.models import TaskSubmission
from deskhand_platform.api.wanted import wanted_task
from deskhand_platform.errors import InvalidField
from deskhand_platform.loans import IDLE_S
from deskhand_platform.naming import named_in
from deskhand_sandbox.types import ControlAction, DeviceAction, Observation

router = APIRouter(tags=["sandboxes"])


@router.post("/sandboxes", status_code=201)
async def lease_sandbox(have: Have, user: User, note: Noted, body: LoanOrder) -> LoanModel:
    """Lease a sandbox; it is given back by `DELETE`, after ten minutes without a request, or with the
    platform."""
    with named_in("kind"):
        loan = await have.loans.lease(user, body.kind, wait_s=body.wait_s, labels=body.labels)
    note(loan.id)
    return LoanModel(id=loan.id, kind=loan.kind, owner=loan.owner, idle_s=IDLE_S)


@router.post("/sandboxes/{id}/reset")
async def reset_sandbox(have: Have, user: User, id: str, body: LoanReset) -> LoanStart:
    """Set a task up in a sandbox of yours; nothing of the one before is left."""
    loan = have.loans.of(id, user)
    meant = TaskSubmission(task_id=body.task_id, task=body.task, seed=body.seed)
    task = wanted_task(meant, have.settings.sandbox.lent)
    start = await have.loans.reset(loan, task)
    return LoanStart(instruction=start.instruction, seen=_seen(start.observation))


@router.post("/sandboxes/{id}/actions")
async def act_in_sandbox(have: Have, user: User, id: str, body: LoanAction) -> SeenModel:
    """Do something in a sandbox of yours, and see what came of it."""
    loan = have.loans.of(id, user)
    return _seen(await have.loans.act(loan, _actions(body.reply)))


@router.get("/sandboxes/{id}/observation")
async def observe_sandbox(have: Have, user: User, id: str, text_tree: bool = False) -> SeenModel:
    """Look at a sandbox of yours."""
    return _seen(await have.loans.observe(have.loans.of(id, user), text_tree=text_tree))


@router.delete("/sandboxes/{id}", status_code=204)
async def give_sandbox_back(have: Have, who: Who, id: str) -> None:
    """End a lease of yours; an administrator ends anybody's that was taken here."""
    owner = None if "admin" in who.scopes else who.name
    await have.loans.give_back(have.loans.of(id, owner))


def _actions(reply: str) -> list[DeviceAction]:
    """
    Raises:
        InvalidField: there is none, or one that no computer carries out.
    """
    try:
        parsed = mend_reply(reply)
    except ActionSyntaxError as error:
        raise InvalidField("reply", str(error)) from error
    found: list[DeviceAction] = []
    for action in parsed.actions:
        if isinstance(action, ControlAction):
            raise InvalidField("reply", f"{type(action).__name__} is said to a task, not done on a computer")
        found.append(action)
    if not found:
        raise InvalidField("reply", "holds no action")
    return found


def _seen(observation: Observation) -> SeenModel:
    picture = observation.screenshot
    data = base64.b64encode(picture.data or b"").decode()
    return SeenModel(
        screen=f"data:image/{picture.format};base64,{data}",
        width_px=picture.width_px,
        height_px=picture.height_px,
        at_s=observation.captured_at_s,
        settled=observation.settled,
        settled_ms=observation.settled_ms,
        url=observation.url,
        dialog=observation.dialog,
        terminal=observation.terminal,
        output=observation.output,
        text_tree=observation.text_tree,
    )
