import re
import socket
import threading
from contextlib import ExitStack

import httpx
import pytest

from deskhand_sandbox.backends.browser.sites import SiteServer, site_url
from deskhand_sandbox.errors import InvalidTask


def get(server: SiteServer, path: str, host: str = "miniwob.localhost") -> httpx.Response:
    port = re.findall(r"127\.0\.0\.1:(\d+)", server.resolver_rules)[0]
    return httpx.get(f"http://127.0.0.1:{port}{path}", headers={"Host": host})


def test_pages_are_served_to_their_host_alone() -> None:
    server = SiteServer()
    try:
        found = get(server, "/miniwob/click-test.html")
        assert found.status_code == 200
        assert "core" in found.text
        assert get(server, "/miniwob/click-test.html", host="evil.example").status_code == 404
        assert get(server, "/miniwob/").status_code == 404
        assert get(server, "/../../pyproject.toml").status_code == 404
        assert get(server, "/%2e%2e/%2e%2e/__init__.py").status_code == 404
    finally:
        server.close()
    with pytest.raises(httpx.ConnectError):
        get(server, "/miniwob/click-test.html")


def test_all_are_let_in_who_come_while_one_is_seen_to(monkeypatch: pytest.MonkeyPatch) -> None:
    server = SiteServer()
    port = server.ports["pages.localhost"]
    seen, go_on = threading.Event(), threading.Event()

    def busy(request: socket.socket, _: object) -> None:
        seen.set()
        go_on.wait()
        request.close()

    monkeypatch.setattr(server._server, "process_request", busy)
    try:
        with ExitStack() as doors:
            for _ in range(200):
                doors.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            assert seen.wait(20)
    finally:
        go_on.set()
        server.close()


def test_addresses_stay_inside_their_site() -> None:
    assert site_url("miniwob", "a/b.html") == "http://miniwob.localhost/a/b.html"
    for outside in ("http://example.com/", "//example.com/", "file:///etc/passwd"):
        with pytest.raises(InvalidTask, match="inside the site"):
            site_url("miniwob", outside)
