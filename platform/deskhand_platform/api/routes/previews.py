"""/v1/tasks/preview: a task as it begins, before it is submitted."""

from __future__ import annotations

import base64

from fastapi import APIRouter
from pydantic import BaseModel

from deskhand_platform.api.deps import Have, User
from deskhand_platform.api.models import ErrorAnswer, TaskSubmission
from deskhand_platform.api.wanted import wanted_task
from deskhand_platform.preview import first_screen

router = APIRouter(tags=["tasks"])


class TaskPreview(BaseModel):
    """A task as it begins."""

    instruction: str
    kind: str
    """The kind of sandbox it was set up in."""
    turns: int
    """Where an episode is cut off."""
    seconds: float
    width_px: int
    height_px: int
    screen: str
    """The first screen as a `data:` URL."""


@router.post("/tasks/preview", responses={503: {"model": ErrorAnswer}})
async def preview_task(have: Have, user: User, body: TaskSubmission) -> TaskPreview:
    """Set the task up in a sandbox, look at it once, and give the sandbox back; nothing is kept."""
    task = wanted_task(body, have.settings.sandbox.kinds)
    await have.accounts.quotas.check_sandboxes(user, 0)
    start = await first_screen(have.settings, task)
    screen = start.observation.screenshot
    data = base64.b64encode(screen.data or b"").decode()
    return TaskPreview(
        instruction=start.instruction,
        kind=task.environment.kind,
        turns=task.limits.turns,
        seconds=task.limits.seconds,
        width_px=screen.width_px,
        height_px=screen.height_px,
        screen=f"data:image/{screen.format};base64,{data}",
    )
