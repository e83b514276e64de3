"""/v1/info, and the API's own description."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from deskhand_platform.api.deps import Have, Who
from deskhand_platform.api.models import Info

router = APIRouter(tags=["info"])


@router.get("/info")
async def get_info(have: Have, who: Who) -> Info:
    """Which platform this is and how it stands."""
    return Info(
        version="0.1.0",
        started_at_s=have.started_at_s,
        sandbox_host=have.hosting.host_state,
        active_round=await have.book.running(),
        user=who.name,
        role=who.role,
        scopes=sorted(who.scopes),
        limited=who.limited,
    )


@router.get("/openapi.json", include_in_schema=False)
async def get_description(request: Request) -> dict[str, Any]:
    """The OpenAPI document, for client generators."""
    return request.app.openapi()
