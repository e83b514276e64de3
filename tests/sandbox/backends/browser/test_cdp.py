"""A session with something that answers as Chromium does."""

from __future__ import annotations

import json

import pytest
from websockets.asyncio.server import ServerConnection, serve

from deskhand_sandbox.backends.browser.cdp import CdpError, CdpSession


async def answer(socket: ServerConnection) -> None:
    async for message in socket:
        asked = json.loads(message)
        if asked["method"] == "Unreadable":
            said = {"error": {"code": -32700, "message": "JSON: unterminated number"}}
        elif asked["method"] == "Unknown":
            said = {"id": asked["id"], "error": {"code": -32601, "message": "'Unknown' wasn't found"}}
        else:
            await socket.send(json.dumps({"method": "Page.nobodyListens", "params": {}}))
            said = {"id": asked["id"], "result": asked["params"]}
        await socket.send(json.dumps(said))


async def test_a_command_that_chromium_cannot_read_fails_and_no_later_one() -> None:
    async with serve(answer, "127.0.0.1", 0) as server:
        session = await CdpSession.connect(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        with pytest.raises(CdpError, match="'Unknown' wasn't found"):
            await session.send("Unknown")
        with pytest.raises(CdpError, match="not understood: JSON: unterminated number"):
            await session.send("Unreadable")
        assert not session.closed.is_set()
        assert await session.send("Known", {"a": 1}) == {"a": 1}
        await session.close()
