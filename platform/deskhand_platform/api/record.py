"""Every request that may have changed something leaves an entry in the audit log, before it is answered."""

from __future__ import annotations

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskhand_platform.accounts.audit import Entry
from deskhand_platform.api.deps import route_of, services, source_of, state_of
from deskhand_platform.api.origin import READS


class Recorded:
    """Middleware. Who is nobody changes nothing and is not written down; signing in writes its own entry."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in READS:
            await self._app(scope, receive, send)
            return

        answered = False

        async def recorded(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = True
                await _record(Request(scope), message["status"])
            await send(message)

        try:
            await self._app(scope, receive, recorded)
        except Exception:  # a bug, and it may have changed something before: the server answers 500
            if not answered:
                await _record(Request(scope), 500)
            raise


async def _record(request: Request, status: int) -> None:
    who = state_of(request, "who")
    if who:
        entry = Entry(
            who=who,
            action=route_of(request) or request.method,
            target=request.url.path,
            source=source_of(request),
            status=status,
            detail=state_of(request, "detail"),
        )
        await (await services(request)).accounts.audit.write(entry)
