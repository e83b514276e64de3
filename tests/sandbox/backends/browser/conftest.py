import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from typing import Protocol
from urllib.parse import quote

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, create
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend() -> AsyncIterator[BrowserBackend]:
    """One Chromium for a module's tests."""
    backend = create()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(backend: BrowserBackend) -> AsyncIterator[BrowserSandbox]:
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, BrowserSandbox)
        yield sandbox


class Pages(BaseHTTPRequestHandler):
    """A site that remembers its visitors, with a page that is slow and one that never ends."""

    protocol_version = "HTTP/1.1"
    stop = threading.Event()

    def do_GET(self) -> None:
        if self.path.startswith("/file/"):
            self.send_file()
            return
        path, _, query = self.path.partition("?")
        if path == "/redirect":
            self.send_response(302)
            self.send_header("Location", query)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if path == "/never":
            self.stop.wait()
        kind = "text/javascript" if path.endswith(".js") else "text/html"
        body = {
            "/worker.js": "addEventListener('fetch', () => {}); addEventListener('activate', (event) =>"
            " event.waitUntil(clients.claim()));",
            "/fetching.js": "addEventListener('activate', (e) => e.waitUntil(clients.claim()));"
            "addEventListener('fetch', (event) => { if (event.request.url.endsWith('/by-service-worker'))"
            " event.respondWith(fetch('http://' + location.search.slice(1) + '/sw')); });",
            "/slow": "<title>slow</title><h1>slow</h1>",
            "/image": "<body><img src=/pixel style='width:50px;height:50px;background:red'></body>",
            "/next": "<h1>next</h1>",
            "/frame": "<body style='margin:0'><button onclick='this.textContent=`pressed`'>Inside</button>"
            "<br><input id=i>",
            "/later": "<body style='margin:0'><button onclick='setTimeout(() => {"
            " this.textContent = `done`; }, 250)'>Later</button>",
            "/alert": "<script>setTimeout(() => alert('from a frame'), 50)</script>",
        }.get(path, "<h1>home</h1><a href=/next style='position:absolute;left:10px;top:100px'>next</a>")
        if self.path in ("/slow", "/pixel"):
            self.stop.wait(0.3)
        data = body.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        if self.path == "/counted":
            self.send_header("Cache-Control", "max-age=1000")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def send_file(self) -> None:
        """/file/NAME/BYTES[/slow]: a download."""
        _, _, name, size, *slow = self.path.split("/")
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Disposition", f'attachment; filename="{name}"')
        self.send_header("Content-Length", size)
        self.end_headers()
        self.wfile.write(b"x" * (int(size) // 2))
        if slow:
            self.wfile.flush()
            self.stop.wait(0.6)
        with contextlib.suppress(ConnectionError):
            self.wfile.write(b"x" * (int(size) - int(size) // 2))

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def site(serve) -> Iterator[str]:
    Pages.stop.clear()
    with serve(Pages) as place:
        yield f"http://{place}"
        Pages.stop.set()


PATIENT: dict[str, JsonValue] = {"settle_deadline_ms": 15_000, "text_tree_deadline_ms": 30_000}
"""Longer waits than usual for a still screen: machines are busy."""


@pytest.fixture(scope="session")
def patient() -> Callable[[Task], Task]:
    """A task of the catalogue, waiting longer than usual for a still screen."""

    def wait(task: Task) -> Task:
        settings = {**task.environment.settings, **PATIENT}
        return replace(task, environment=replace(task.environment, settings=settings))

    return wait


class MakeTask(Protocol):
    """A task from HTML or from an address, with more settings."""

    def __call__(self, start: str, /, **settings: JsonValue) -> Task: ...


@pytest.fixture
def visit() -> MakeTask:
    """Makes tasks that open an address, and wait longer than usual for a still screen."""

    def make(start: str, /, **settings: JsonValue) -> Task:
        every = {"url": start, "viewport_px": [200, 160], **PATIENT, **settings}
        return Task(
            id="browser/test",
            environment=EnvironmentSpec(kind="browser", settings=every),
            verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
            instruction="Do it.",
        )

    return make


@pytest.fixture
def page(visit: MakeTask) -> MakeTask:
    """Makes tasks that open a page given as HTML."""

    def make(start: str, /, **settings: JsonValue) -> Task:
        return visit(f"data:text/html;charset=utf-8,{quote('<!doctype html>' + start)}", **settings)

    return make
