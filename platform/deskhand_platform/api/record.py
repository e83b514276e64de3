"""Every request that may have changed something leaves an entry in the audit log, before it is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import Request, Response

from deskhand_platform.accounts.audit import Entry
from deskhand_platform.api.deps import route_of, services, source_of, state_of
from deskhand_platform.api.origin import READS


async def record(request: Request, proceed: Callable[[Request], Awaitable[Response]]) -> Response:
    """Middleware. Who is nobody changes nothing and is not written down; signing in writes its own entry."""
    response = await proceed(request)
    who = state_of(request, "who")
    if who and request.method not in READS:
        entry = Entry(
            who=who,
            action=route_of(request) or request.method,
            target=request.url.path,
            source=source_of(request),
            status=response.status_code,
            detail=state_of(request, "detail"),
        )
        await services(request).accounts.audit.write(entry)
    return response
