"""/healthz, /readyz and /metrics, for whoever keeps the platform up."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_platform.api.deps import Have
from deskhand_platform.api.models import ErrorAnswer
from deskhand_platform.services import Services
from deskhand_platform.telemetry import exposition

router = APIRouter(tags=["operations"])
DENIED: dict[str, Any] = {"model": ErrorAnswer}


class _Exposition(Response):
    """Figures in Prometheus's text form."""

    media_type = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/healthz", response_class=PlainTextResponse)
async def health() -> PlainTextResponse:
    """Alive; says nothing else, for it asks for no token."""
    return PlainTextResponse("ok\n")


@router.get(
    "/readyz",
    response_class=PlainTextResponse,
    responses={503: {"description": "not ready, and why", "content": {"text/plain": {}}}},
)
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


@router.get("/metrics", response_class=_Exposition, responses={401: DENIED, 403: DENIED})
async def metrics(have: Have) -> Response:
    """Figures for Prometheus; needs a token with `metrics:read`."""
    return _Exposition(await exposition(have))
