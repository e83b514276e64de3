"""No request's body grows beyond what it may be: it is read whole before anything looks at it.

FastAPI reads and parses it even before it asks the dependencies, `admit` among them: so whose it is, is asked
here before much of it is read.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from deskhand_flywheel.errors import FlywheelError
from deskhand_platform.api.deps import admit, services
from deskhand_platform.errors import PlatformError

UNKNOWN_BYTES = 64 * 2**10
"""Of a body, before it is asked who sends it."""
MOST_BYTES = 64 * 2**20
"""Of a body: in a batch of ten thousand tasks 6,700 for each."""


class Bounded:
    """Middleware. Answers 413 as soon as a body says that it is longer, or is; and whom the route is not for,
    as `admit` does, as soon as it is more than a little."""

    def __init__(self, app: ASGIApp, *, streamed: Collection[str]) -> None:
        """
        Args:
            streamed: paths whose bodies are archives, taken piece by piece: they know their own bounds.
        """
        self._app, self._streamed = app, frozenset(streamed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in self._streamed:
            await self._app(scope, receive, send)
            return
        header = Headers(scope=scope).get("content-length", "")
        told, taken, admitted = int(header) if header.isdecimal() else 0, 0, False

        async def check(size: int) -> None:
            nonlocal admitted
            if size > UNKNOWN_BYTES and not admitted:
                await _admit(scope)
                admitted = True
            if size > MOST_BYTES:
                raise HTTPException(
                    413, f"the body is longer than the {MOST_BYTES:,} bytes that are taken: send it in parts"
                )

        async def bounded() -> Message:
            nonlocal taken
            await check(told)
            message = await receive()
            taken += len(message.get("body", b""))
            await check(taken)
            return message

        await self._app(scope, bounded, send)


async def _admit(scope: Scope) -> None:
    """The route asks again: a body comes as slowly as its sender likes, who may be shut out meanwhile."""
    connection = HTTPConnection(scope)
    if admit in connection.app.dependency_overrides:  # an application that lets in whoever reaches it
        return
    try:
        await admit(connection, await services(connection))
    except (PlatformError, FlywheelError) as error:
        # while a body is read FastAPI lets nothing else through; `errors.meant` finds the cause again
        raise HTTPException(403, str(error)) from error
