"""Serves a door over HTTP, on this machine only."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from deskhand_sandbox.host.serve import Server


async def serve_on_loopback(app: Any, port: int, when_ready: Callable[[int], None]) -> None:
    """Serve an ASGI application until cancelled.

    Args:
        port: of 127.0.0.1; 0 for a free one.
        when_ready: told the port once it listens.

    Raises:
        OSError: the port is taken.
    """
    with socket.create_server(("127.0.0.1", port)) as listening:
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        server = Server(config, lambda: when_ready(listening.getsockname()[1]))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        except asyncio.CancelledError:
            server.should_exit = True
            await serving
            raise
