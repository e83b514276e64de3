"""A desktop's network: none, this machine's, and this machine's own services."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from deskhand_sandbox.backends.desktop import DesktopBackend, DesktopSandbox, create
from deskhand_sandbox.errors import BackendMissing, InvalidTask
from deskhand_sandbox.isolation.network import HOST
from deskhand_sandbox.types import Run, Task

pytestmark = pytest.mark.asyncio(loop_scope="module")
Desk = Callable[..., Task]
ASK = """/usr/bin/python3 -c 'import sys, urllib.request as u
print(u.urlopen(sys.argv[1], timeout=120).read().decode())' {} 2>&1 | tail -n 1"""


class Greeting(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"here I am")

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def port(serve) -> Iterator[int]:
    """Of a web server on this machine's loopback."""
    with serve(Greeting) as place:
        yield int(place.partition(":")[2])


async def told(sandbox: DesktopSandbox, url: str) -> str:
    return (await sandbox.act(Run(command=ASK.format(url)))).output or ""


async def routes(sandbox: DesktopSandbox) -> str:
    return (await sandbox.act(Run(command="tail -n +2 /proc/net/route; cat /etc/resolv.conf"))).output or ""


async def test_a_task_has_no_network_unless_it_asks_for_it(desk: Desk, port: int) -> None:
    backend = create(host_loopback=True)
    try:
        async with await backend.create() as sandbox:
            assert isinstance(sandbox, DesktopSandbox)
            for _ in range(2):
                await sandbox.reset(desk(applications=[], network="allow"))
                assert await told(sandbox, f"http://{HOST}:{port}/") == "here I am"
                assert "refused" in await told(sandbox, f"http://127.0.0.1:{port}/")
                assert "tap0" in await routes(sandbox)
                await sandbox.reset(desk(applications=[]))
                assert "unreachable" in await told(sandbox, f"http://{HOST}:{port}/")
                assert await routes(sandbox) == ""
    finally:
        await backend.close()


async def test_a_network_does_not_reach_this_machines_own_services(
    sandbox: DesktopSandbox, desk: Desk, port: int
) -> None:
    await sandbox.reset(desk(applications=[], network="allow"))
    assert "tap0" in await routes(sandbox)
    for host in (HOST, "127.0.0.1"):
        assert "here I am" not in await told(sandbox, f"http://{host}:{port}/")


async def test_wrong_networks_are_refused(sandbox: DesktopSandbox, desk: Desk) -> None:
    for wrong in ("yes", True, ["example.com"], None):
        with pytest.raises(InvalidTask, match='network must be "allow" or "deny", not'):
            await sandbox.reset(desk(network=wrong))
    with pytest.raises(InvalidTask, match="host_loopback must be true or false"):
        create(host_loopback="yes")


async def test_what_a_network_needs_is_asked_for_only_then(
    backend: DesktopBackend, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "slirp4netns" else found(name))
    async with await backend.create() as sandbox:
        await sandbox.reset(desk(applications=[]))
        with pytest.raises(BackendMissing, match="apt-get install slirp4netns"):
            await sandbox.reset(desk(applications=[], network="allow"))
        await sandbox.reset(desk(applications=[]))
