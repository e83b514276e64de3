"""For every test of sandboxes: web servers on this machine."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer

import pytest

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
