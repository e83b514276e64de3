"""/readyz and /metrics, for whoever keeps the platform up."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_platform.api.deps import Have
from deskhand_platform.services import Services
from deskhand_platform.telemetry import exposition

router = APIRouter(include_in_schema=False)
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/readyz")
async def ready(have: Have) -> PlainTextResponse:
    """Whether tasks can be worked now; says no more than what they wait for, since it asks for no token."""
    if (why := await _hindrance(have)) is not None:
        return PlainTextResponse(f"not ready: {why}\n", status_code=503)
    return PlainTextResponse("ready\n")


async def _hindrance(have: Services) -> str | None:
    if have.stopping.is_set():
        return "it is stopping"
    try:
        await have.store.last_event_id()
    except StoreUnavailable:
        return "the database cannot be read"
    return None if have.hosting.host_state == "up" else f"the sandbox host is {have.hosting.host_state}"


@router.get("/metrics")
async def metrics(have: Have) -> Response:
    """Figures for Prometheus; needs a token with `metrics:read`."""
    return Response(await exposition(have), media_type=TEXT)
