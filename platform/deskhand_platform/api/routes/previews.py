"""/v1/tasks/preview: a task as it begins, before it is submitted."""

from __future__ import annotations

import base64

from fastapi import APIRouter

from deskhand_platform.api.deps import Have, User
from deskhand_platform.api.models import TaskPreview, TaskSubmission
from deskhand_platform.api.wanted import wanted_task
from deskhand_platform.preview import first_screen

router = APIRouter(tags=["tasks"])


@router.post("/tasks/preview")
async def preview_task(have: Have, user: User, body: TaskSubmission) -> TaskPreview:
    """Set the task up in a sandbox, look at it once, and give the sandbox back; nothing is kept."""
    task = wanted_task(body, have.settings.sandbox.lent)
    await have.accounts.quotas.check_sandboxes(user, have.loans.held(user))
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
