"""A page that shows a sandbox as it is now, and lets a person click and type in it.

    GET  /             the page                                        token
    GET  /screen.mjpeg the screen as motion JPEG, at every change      token
    GET  /state        what the page tells besides it, as JSON         token
    POST /act          {"": "Click", "x": 40, "y": 52}: one action     token

The token travels as `?token=` or as `Authorization: Bearer …`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.doors.onlooker import Onlooked
from deskhand_sandbox.errors import InvalidAction, SandboxError, UnsupportedCapability
from deskhand_sandbox.host.server import bearer
from deskhand_sandbox.host.serving import DEVICE_ACTIONS
from deskhand_sandbox.host.wire import WireError, decode
from deskhand_sandbox.pictures import as_jpeg
from deskhand_sandbox.types import Observation

PAGE = Path(__file__).with_name("live.html")
BOUNDARY = "frame"
LARGEST_BODY = 1024 * 1024
FRESH = {"Cache-Control": "no-store"}
PAGE_HEADERS = {
    **FRESH,
    "Content-Security-Policy": "default-src 'none'; img-src 'self'; connect-src 'self'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'",
}


class LiveView:
    """Shows one sandbox. Work through `sandbox`: what is seen there is what the page shows."""

    def __init__(self, inner: Sandbox, *, token: str, acting: bool = True, idle_s: float = 0.5) -> None:
        """
        Args:
            token: who has it may look.
            acting: and act too.
            idle_s: while somebody looks on and nobody acts, the screen is looked at this often.
        """
        self.sandbox = Onlooked(inner, self._show)
        self._token = token
        self._acting = acting
        self._idle_s = idle_s
        self._frame: tuple[str, bytes] | None = None
        self._seen: Observation | None = None
        self._ended: str | None = None
        """Why there is nothing more to see; None while there is."""
        self._changed = asyncio.Condition()

    def app(self) -> Starlette:
        """The routes."""
        return Starlette(
            routes=[
                Route("/", self._page),
                Route("/screen.mjpeg", self._screen),
                Route("/state", self._state),
                Route("/act", self._act, methods=["POST"]),
            ]
        )

    async def _page(self, request: Request) -> Response:
        if not self._let_in(request):
            return _refused()
        return HTMLResponse(PAGE.read_text(), headers=PAGE_HEADERS)

    async def _screen(self, request: Request) -> Response:
        if not self._let_in(request):
            return _refused()
        kind = f"multipart/x-mixed-replace; boundary={BOUNDARY}"
        return StreamingResponse(self._frames(), media_type=kind, headers=FRESH)

    async def _state(self, request: Request) -> Response:
        if not self._let_in(request):
            return _refused()
        if self._ended is None and not self.sandbox.alive():
            self._ended = "it is gone"
        seen = self._seen
        state = {
            "kind": self.sandbox.kind,
            "acting": self._acting,
            "ended": self._ended,
            "url": seen.url if seen else None,
            "dialog": seen.dialog if seen else None,
        }
        return JSONResponse(state, headers=FRESH)

    async def _act(self, request: Request) -> Response:
        if not self._let_in(request):
            return _refused()
        if not self._acting:
            return JSONResponse(
                {"error": "LookOnly", "message": "who looks on here cannot act"}, status_code=403
            )
        try:
            if int(request.headers.get("content-length", "0")) > LARGEST_BODY:
                raise WireError(f"an action takes at most {LARGEST_BODY} bytes")
            action = decode(await request.json(), *DEVICE_ACTIONS)
            seen = await self.sandbox.act(action)
        except (WireError, ValueError, InvalidAction, UnsupportedCapability) as error:
            return JSONResponse({"error": type(error).__name__, "message": str(error)}, status_code=400)
        except SandboxError as error:
            return JSONResponse({"error": type(error).__name__, "message": str(error)}, status_code=502)
        return JSONResponse({"output": seen.output, "dialog": seen.dialog, "settled": seen.settled})

    async def _frames(self) -> AsyncGenerator[bytes, None]:
        """Frames as long as the sandbox lives: at every change, and again when nothing changes.

        A browser shows a part once it has seen the one after it.
        """
        shown: str | None = None
        while True:
            try:
                await self._next(shown)
            except SandboxError as error:
                self._ended = self._ended or str(error)
                return
            if (frame := self._frame) is None:
                return
            first, (shown, data) = shown is None, frame
            head = f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(data)}\r\n\r\n"
            part = head.encode() + data + b"\r\n"
            yield part + part if first else part

    async def _next(self, shown: str | None) -> None:
        """Wait for a frame other than that, or for a while; look for one when nobody else does."""
        if self._frame is not None and self._frame[0] != shown:
            return
        try:
            async with asyncio.timeout(self._idle_s), self._changed:
                await self._changed.wait()
        except TimeoutError:
            await self.sandbox.observe()

    async def _show(self, seen: Observation) -> None:
        self._seen = seen
        if seen.screenshot.data is None:
            return
        if self._frame is None or self._frame[0] != seen.screenshot.digest:
            jpeg = await asyncio.to_thread(as_jpeg, seen.screenshot.data)
            self._frame = seen.screenshot.digest, jpeg
        async with self._changed:
            self._changed.notify_all()

    def _let_in(self, request: Request) -> bool:
        given = request.query_params.get("token") or bearer(request.headers)
        return secrets.compare_digest(given.encode(), self._token.encode())


def _refused() -> Response:
    return JSONResponse({"error": "WrongToken", "message": "the token is missing or wrong"}, status_code=401)
