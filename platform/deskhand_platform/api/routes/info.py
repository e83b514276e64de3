"""GET /v1/info."""

from __future__ import annotations

from fastapi import APIRouter

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
