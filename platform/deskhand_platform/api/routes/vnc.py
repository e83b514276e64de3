"""WS /v1/sandboxes/{id}/vnc: a sandbox's screen for a VNC viewer in a page, such as noVNC. It takes no input.

The WebSocket's binary frames are the byte stream of RFB 3.8, cut anywhere. The other routes' rules hold: a
token or the page's cookie, and no page of another site. It is closed with 1000 when the screen ends, by a
reset or with the lease, with 1001 when the platform stops, and with 1008 when the viewer breaks the protocol
or may not look on any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect

from deskhand_platform import vnc
from deskhand_platform.api.deps import Have, StillIn
from deskhand_platform.services import Services
from deskhand_sandbox.errors import HostUnreachable

router = APIRouter(tags=["sandboxes"])
SUBPROTOCOL = "binary"
"""Older viewers ask for it."""
ASK_AGAIN_S = 2.0
"""Between two questions whether the lease lasts, and whether the person may still look on."""
Ending = tuple[int, str]
"""Code and reason of the WebSocket's close."""
LEFT: Ending = (1000, "")
ENDED: Ending = (1000, "the screen has ended: the sandbox was reset or given back")


@router.websocket("/sandboxes/{id}/vnc")
async def watch(socket: WebSocket, have: Have, still_in: StillIn, id: str) -> None:
    """The screen as it changes, until one of the two ends goes."""
    address = await have.live.vnc(id)
    async with vnc.joined(address) as (reader, writer):
        await socket.accept(SUBPROTOCOL if SUBPROTOCOL in socket.scope["subprotocols"] else None)
        viewer = _Viewer(socket)
        try:
            await vnc.greet(viewer, socket.send_bytes)
        except (vnc.NotRfb, TimeoutError) as error:
            await _close(socket, (1008, str(error) or "the viewer does not answer"))
            return
        except WebSocketDisconnect:
            return
        ways = (
            _requests(viewer, writer),
            _pictures(reader, socket),
            _stopped(have.stopping),
            _over(have, still_in, id),
        )
        await _close(socket, await _first(*ways))


class _Viewer:
    """The bytes of a WebSocket's frames as one stream."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self._read = bytearray()

    async def readexactly(self, n: int, /) -> bytes:
        """
        Raises:
            WebSocketDisconnect: it left.
            NotRfb: it sent text.
        """
        while len(self._read) < n:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            if message.get("bytes") is None:
                raise vnc.NotRfb("frames are binary here")
            self._read += message["bytes"]
        found = bytes(self._read[:n])
        del self._read[:n]
        return found


async def _requests(viewer: _Viewer, writer: asyncio.StreamWriter) -> Ending:
    try:
        async for request in vnc.requests(viewer):
            writer.write(request)
            await writer.drain()
    except vnc.NotRfb as error:
        return 1008, str(error)
    except (WebSocketDisconnect, OSError):  # the viewer left, or the screen did
        return LEFT
    raise AssertionError("a viewer's messages end with an error")


async def _pictures(reader: asyncio.StreamReader, socket: WebSocket) -> Ending:
    try:
        while data := await reader.read(vnc.PART_BYTES):
            await socket.send_bytes(data)  # waits for a viewer that is slow, and so does the sandbox
    except (WebSocketDisconnect, OSError):
        return LEFT
    return ENDED


async def _stopped(stopping: asyncio.Event) -> Ending:
    await stopping.wait()
    return 1001, "the platform stops"


async def _over(have: Services, still_in: Callable[[], Awaitable[bool]], id: str) -> Ending:
    """A sandbox that is given back goes on serving its screen until somebody else's reset."""
    while await still_in():
        with suppress(HostUnreachable):  # for a moment, or the screen's own connection ends too
            if await have.live.lease(id) is None:
                return ENDED
        await asyncio.sleep(ASK_AGAIN_S)
    return 1008, "you may not look on any more, or what you may do has changed"


async def _first(*ways: Awaitable[Ending]) -> Ending:
    """What the first of them that is over gives; the others are ended."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _close(socket: WebSocket, ending: Ending) -> None:
    try:
        await socket.close(*ending)
    except (WebSocketDisconnect, RuntimeError):  # the viewer was quicker
        return
