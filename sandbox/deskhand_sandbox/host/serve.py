"""The host process from the inside: open the manager, listen, say where, stop when told or orphaned."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import IO

import uvicorn

from deskhand_sandbox.host.frames import LARGEST_FRAME
from deskhand_sandbox.host.server import Host
from deskhand_sandbox.host.settings import HostSettings
from deskhand_sandbox.manager import SandboxManager
from deskhand_sandbox.manager.making import MakeBackend
from deskhand_sandbox.manager.manager import registered_backend

log = logging.getLogger(__name__)

PR_SET_PDEATHSIG = 1
PARENT_DIED = signal.SIGUSR2
"""Sent by the kernel when the thread that started us ends: the parent itself may live on, so we look."""
KEEP_ALIVE_S = 60
"""Idle HTTP connections: longer than the client keeps its own, so that none closes under a request."""


class Server(uvicorn.Server):
    """uvicorn, with signals left to us and a word when it listens."""

    def __init__(self, config: uvicorn.Config, when_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._when_ready = when_ready

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._when_ready()


async def serve(
    settings: HostSettings,
    *,
    ready: IO[str],
    parent: int | None = None,
    lifeline: IO[str] | None = None,
    make_backend: MakeBackend = registered_backend,
) -> None:
    """Serve until SIGTERM, SIGINT or the parent's end.

    Args:
        ready: gets one line of JSON, {url, token, pid}, when the host listens, and is closed.
        parent: process id of the parent, to end with it; None to live on.
        lifeline: a pipe whose other end the parent holds: its end is the parent's.

    Raises:
        OSError: the socket cannot be bound, or the state folder cannot be written.
    """
    token = secrets.token_urlsafe(32)
    stop = asyncio.Event()
    manager = SandboxManager(
        settings.kinds,
        terms=settings.terms,
        deadlines=settings.deadlines,
        state_folder=settings.state_folder,
        make_backend=make_backend,
        owns_process=True,
    )
    listener, manager.endpoint = listen(settings.socket_path)
    watch_for_the_end(stop, parent, lifeline)
    server = Server(server_config(Host(manager, token)), lambda: say_ready(ready, manager.endpoint, token))
    try:
        async with manager:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            stopping = asyncio.create_task(stop.wait())
            await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done():
                stop.clear()
                await drain(manager, settings.drain_s, stop)
            await manager.close()
            server.should_exit = True
            await serving
            stopping.cancel()
    finally:
        listener.close()
        if settings.socket_path is not None:
            settings.socket_path.unlink(missing_ok=True)


async def drain(manager: SandboxManager, drain_s: float, hurry: asyncio.Event) -> None:
    """Let leases end by themselves for a while, unless told to hurry."""
    log.info("stopping; leases may go on for %g s", drain_s)
    draining = asyncio.create_task(manager.drain(drain_s))
    hurrying = asyncio.create_task(hurry.wait())
    await asyncio.wait({draining, hurrying}, return_when=asyncio.FIRST_COMPLETED)
    draining.cancel()
    hurrying.cancel()


def listen(socket_path: Path | None) -> tuple[socket.socket, str]:
    """A listening socket and its URL."""
    if socket_path is None:
        # the protocol is named because asyncio turns Nagle's delay off only then: 40 ms a request otherwise
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)
        return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"
    socket_path.parent.mkdir(parents=True, exist_ok=True)
    socket_path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(socket_path))
    finally:
        os.umask(before)
    listener.listen(512)
    return listener, f"unix:{socket_path.resolve()}"


def server_config(host: Host) -> uvicorn.Config:
    """uvicorn as a sandbox host needs it."""
    return uvicorn.Config(
        host.app(),
        ws="websockets-sansio",
        ws_max_size=LARGEST_FRAME,
        ws_ping_interval=None,  # a holder busy with a long computation must not lose its sandbox
        ws_per_message_deflate=False,  # screenshots are compressed already
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=3,
    )


def say_ready(ready: IO[str], url: str, token: str) -> None:
    """Tell the parent where we are."""
    ready.write(json.dumps({"url": url, "token": token, "pid": os.getpid()}) + "\n")
    ready.flush()
    if ready is not sys.stdout:
        ready.close()


def watch_for_the_end(stop: asyncio.Event, parent: int | None, lifeline: IO[str] | None) -> None:
    """Set `stop` on SIGTERM, SIGINT or the parent's end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    if lifeline is not None:

        def read() -> None:
            if not os.read(lifeline.fileno(), 4096):
                loop.remove_reader(lifeline.fileno())
                log.warning("the parent process closed its end")
                stop.set()

        loop.add_reader(lifeline.fileno(), read)
    if parent is not None:

        def look() -> None:
            if os.getppid() != parent:
                log.warning("the parent process is gone")
                stop.set()

        loop.add_signal_handler(PARENT_DIED, look)
        die_with_parent()
        look()  # it may have died before we asked to be told


def die_with_parent() -> None:
    """Ask the kernel to tell us when the parent ends; where it cannot, the lifeline alone does."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, int(PARENT_DIED), 0, 0, 0)
