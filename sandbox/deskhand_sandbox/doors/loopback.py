"""Serves a door over HTTP, on this machine only."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.host.serve import Server


async def serve_on_loopback(app: Any, port: int, when_ready: Callable[[int], None]) -> None:
    """Serve an ASGI application until cancelled.

    Args:
        port: of 127.0.0.1; 0 for a free one.
        when_ready: told the port once it listens.

    Raises:
        SandboxError: the port is taken.
    """
    try:
        listening = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise SandboxError(f"port {port} cannot be listened on: {why}; choose another") from error
    with listening:
        leaving = _Leaving(app)
        config = uvicorn.Config(leaving, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        server = Server(config, lambda: when_ready(listening.getsockname()[1]))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            leaving.now.set()
            await serving
            raise


class _Leaving:
    """An application whose answers without an end (a live picture) end when the server does."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.now = asyncio.Event()

    async def __call__(self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Any) -> None:
        async def received() -> Any:
            message, left = asyncio.ensure_future(receive()), asyncio.ensure_future(self.now.wait())
            try:
                await asyncio.wait([message, left], return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else {"type": "http.disconnect"}
            finally:
                message.cancel()
                left.cancel()

        async def sending(message: Any) -> None:
            nonlocal open_end
            open_end = bool(message.get("more_body", message["type"] == "http.response.start"))
            await send(message)

        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        open_end = False
        await self._app(scope, received, sending)
        if open_end and self.now.is_set():
            await send({"type": "http.response.body", "body": b""})
