"""/v1/sandboxes: what runs in sandboxes now, and its screens; the sandbox host's token stays here."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Header, Query
from fastapi.responses import Response, StreamingResponse

from deskhand_platform.api.deps import Have, StillIn
from deskhand_platform.api.live_models import LiveSandbox, LiveSandboxes
from deskhand_platform.errors import NotFound
from deskhand_platform.lease_owners import leasing_task
from deskhand_platform.live import BOUNDARY
from deskhand_platform.services import Services
from deskhand_platform.takeovers import Takeovers
from deskhand_sandbox.errors import LeaseExpired
from deskhand_sandbox.manager.records import LeaseStatus

router = APIRouter(tags=["sandboxes"])
Opened = Annotated[
    int,
    Query(ge=0, description="how often before; a browser opens no second stream of the same address"),
]
FRESH = "no-store"


@router.get("/sandboxes")
async def list_sandboxes(have: Have) -> LiveSandboxes:
    """Sandboxes on loan, the oldest loan first."""
    found = await have.live.leases()
    shown = await asyncio.gather(*(_shown(have, lease) for lease in found))
    return LiveSandboxes(items=sorted(shown, key=lambda each: -each.age_s))


@router.get("/sandboxes/{id}")
async def get_sandbox(have: Have, id: str) -> LiveSandbox:
    """One of them, by the id of its lease."""
    lease = await have.live.lease(id)
    if lease is None:
        raise NotFound("lease", id)
    return await _shown(have, lease)


@router.get(
    "/sandboxes/{id}/screen.jpg",
    response_class=Response,
    responses={
        200: {"content": {"image/jpeg": {}}},
        204: {"description": "nothing has been seen yet"},
        304: {"description": "it is the picture that is known"},
    },
)
async def get_screen(have: Have, id: str, if_none_match: Annotated[str | None, Header()] = None) -> Response:
    """What is on its screen now."""
    known = None if if_none_match is None else if_none_match.strip('"')
    try:
        found = await have.live.screen(id, known=known)
    except LeaseExpired as error:
        raise NotFound("lease", id) from error
    if found is None:
        return Response(status_code=204)
    headers = {"Cache-Control": FRESH, "ETag": f'"{found.digest}"'}
    if found.data is None:
        return Response(status_code=304, headers=headers)
    return Response(found.data, media_type="image/jpeg", headers=headers)


@router.get(
    "/sandboxes/{id}/screen.mjpeg",
    response_class=StreamingResponse,
    responses={200: {"content": {"multipart/x-mixed-replace": {}}}},
)
async def stream_screen(have: Have, still_in: StillIn, id: str, opened: Opened = 0) -> StreamingResponse:
    """Its screen whenever that changes, for an `<img>`, until the lease or the right to look on ends."""
    if await have.live.lease(id) is None:
        raise NotFound("lease", id)
    return StreamingResponse(
        have.live.frames(id, have.stopping, still_in),
        media_type=f"multipart/x-mixed-replace; boundary={BOUNDARY}",
        headers={"Cache-Control": FRESH, "X-Accel-Buffering": "no"},
    )


async def _shown(have: Services, lease: LeaseStatus) -> LiveSandbox:
    task = leasing_task(lease.owner)
    trajectory_id: str | None = None
    if task is not None:
        try:
            trajectory_id = (await have.queue.get(task)).trajectory_id
        except NotFound:
            task = None
    held = None if trajectory_id is None else await Takeovers(have.store.database).get(trajectory_id)
    return LiveSandbox(
        id=lease.id,
        kind=lease.kind,
        owner=lease.owner,
        age_s=lease.age_s,
        connected=lease.connected,
        task_id=lease.task_id,
        task=task,
        trajectory_id=trajectory_id,
        taken_by=None if held is None else held.by,
        vnc=lease.vnc,
    )
