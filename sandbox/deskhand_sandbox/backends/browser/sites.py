"""Pages served from this machine for tasks that bring their own, under addresses that never change.

A site NAME is reached as http://NAME.localhost/ by the browser alone: Chromium is told to find that host at
the port the kernel gave us, so no address depends on the machine or the run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import socketserver
import threading
from collections.abc import Callable, Mapping
from functools import cache
from http.server import SimpleHTTPRequestHandler
from importlib.resources import files
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName


def _miniwob() -> Path:
    found = importlib.util.find_spec("miniwob")
    if found is None or not found.submodule_search_locations:
        raise BackendMissing("MiniWoB++ needs the module 'miniwob': pip install 'deskhand[browser]'")
    return Path(found.submodule_search_locations[0]) / "html"


def _pages() -> Path:
    return Path(str(files("deskhand_sandbox.tasks").joinpath("pages")))


def _store(address: str) -> str:
    from deskhand_sandbox.store.html import as_html
    from deskhand_sandbox.store.pages import show

    return as_html(show(address))


FOLDERS: Mapping[str, Callable[[], Path]] = {"miniwob": _miniwob, "pages": _pages}
"""Name of a site of files -> finds its folder."""
DRAWN: Mapping[str, Callable[[str], str]] = {"store": _store}
"""Name of a site whose pages are drawn when asked for -> the HTML of an address, path and query."""
SITES = (*FOLDERS, *DRAWN)
DOMAIN = ".localhost"
"""Ends the host of every site."""


def site_url(site: str, url: str) -> str:
    """The full address of a page of a site.

    Raises:
        InvalidTask: no such site, or an address outside it.
    """
    if site not in SITES:
        raise InvalidTask(str(UnknownName("site", site, SITES)))
    root = f"http://{site}{DOMAIN}/"
    full = urljoin(root, url)
    if not full.startswith(root):
        raise InvalidTask(f"{url!r} is not an address inside the site {site}")
    return full


class SiteServer:
    """Serves every site on one loopback port from a thread; the Host header chooses the folder."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="sites", daemon=True
        )
        self._thread.start()

    @property
    def resolver_rules(self) -> str:
        """Value of Chromium's --host-resolver-rules."""
        return ",".join(f"MAP {host}:80 127.0.0.1:{port}" for host, port in self.ports.items())

    @property
    def ports(self) -> Mapping[str, int]:
        """Host of every site -> the loopback port it is served at."""
        port = self._server.server_address[1]
        return {f"{site}{DOMAIN}": port for site in SITES}

    def close(self) -> None:
        """Stop serving and give the port back."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    # who finds the queue full tries again a second later: many pages that open at once are many connections
    request_queue_size = 1024


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        # the browser drops connections whenever it likes
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        draw = DRAWN.get(self._site())
        if draw is None:
            super().do_GET()
            return
        data = draw(self.path).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def translate_path(self, path: str) -> str:
        folder = _folder(self._site())
        self.directory = str(folder if folder is not None else "/nonexistent")
        return super().translate_path(path)

    def _site(self) -> str:
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        return host.removesuffix(DOMAIN)

    def list_directory(self, path: object) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self.send_error(404)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=86400")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: these are a page's own requests."""


@cache
def _folder(site: str) -> Path | None:
    return FOLDERS[site]() if site in FOLDERS else None
