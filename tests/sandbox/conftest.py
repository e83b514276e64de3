"""For every test of sandboxes: web servers and servers of tools on this machine."""

import asyncio
import contextlib
import random
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer

import pytest
import pytest_asyncio
from ptyprocess import PtyProcess

from deskhand_sandbox.types import JsonValue

TOOLS = Path(__file__).with_name("tools")
READY_S = 180.0
Serve = Callable[[type[BaseHTTPRequestHandler]], contextlib.AbstractContextManager[str]]


class WebServer(ThreadingTCPServer):
    """Unlike those of `http.server` it asks nobody for this machine's name, and waits for no visitor."""

    daemon_threads = True
    block_on_close = False


@contextlib.contextmanager
def _serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    with WebServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Serves what a handler answers, as long as a block lasts, which is given the server's host and port."""
    return _serving


@pytest.fixture
def free_port() -> int:
    """Nobody listens there, and nobody is given it who asks for any free port."""
    while True:
        port = random.randrange(20_000, 30_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@pytest.fixture(scope="session")
def shelf() -> dict[str, JsonValue]:
    """Settings of a server that needs nothing but a Python, brought into the sandbox's home."""
    return {
        "command": "python3",
        "args": ["shelf/plain.py"],
        "env": {"GREETING": "hello"},
        "files": {"shelf/plain.py": (TOOLS / "plain.py").read_text()},
    }


def _at_a_terminal(script: str, *arguments: str) -> str:
    process = PtyProcess.spawn([sys.executable, "-c", script, *arguments])
    shown = b""
    with contextlib.suppress(EOFError):
        while True:
            shown += process.read()
    process.wait()
    return shown.decode()


@pytest.fixture(scope="session")
def at_a_terminal() -> Callable[..., str]:
    """Runs a Python script as a person at a terminal does; what it showed there."""
    return _at_a_terminal


class HttpServer:
    """The SDK's server over HTTP, as a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.url = process, f"http://127.0.0.1:{port}/mcp"

    async def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


@pytest_asyncio.fixture(loop_scope="module")
async def over_http(tmp_path: Path) -> AsyncIterator[HttpServer]:
    place = tmp_path / "port"
    none = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(TOOLS / "served.py"), str(place), stdin=none, stdout=none, stderr=none
    )
    try:
        async with asyncio.timeout(READY_S):
            while not place.exists():
                assert process.returncode is None, "the server ended before it listened"
                await asyncio.sleep(0.02)
        server = HttpServer(process, int(place.read_text()))
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
