"""The network policy, against a second server that must see nothing it forbids."""

import asyncio
import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar
from urllib.parse import urlsplit

import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, create
from deskhand_sandbox.backends.browser.chromium import reserved_port
from deskhand_sandbox.backends.browser.network import PolicyProxy
from deskhand_sandbox.backends.browser.sites import SiteServer
from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tools.policy import DEBUGGING_PORTS, Policy
from deskhand_sandbox.types import Click, Fetch, Navigate, Wait

SHARED = pytest.mark.asyncio(loop_scope="module")


class Elsewhere(BaseHTTPRequestHandler):
    """Another server, which tells who came."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        data = b"<h1>elsewhere</h1>"
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def elsewhere(serve) -> Iterator[tuple[str, list[str]]]:
    """Address of the other server, and the paths it was asked for."""
    Elsewhere.seen.clear()
    with serve(Elsewhere) as place:
        yield place, Elsewhere.seen


EVERY_WAY = """(async () => {
  const there = '%s', failed = [];
  const tried = (name, promise) => promise.then(() => {}, () => failed.push(name));
  const element = (tag, attribute, path) => new Promise((done, fail) => {
    const made = document.createElement(tag);
    made.onload = done; made.onerror = fail;
    made[attribute] = `http://${there}/${path}`;
    if (tag === 'link') made.rel = 'stylesheet';
    document.body.append(made);
  });
  await navigator.serviceWorker.register(`/fetching.js?${there}`);
  const controlled = new Promise((done) => { navigator.serviceWorker.oncontrollerchange = done; });
  await (navigator.serviceWorker.controller ?? controlled);
  await Promise.all([
    tried('fetch', fetch(`http://${there}/fetch`)),
    tried('image', element('img', 'src', 'image')),
    tried('script', element('script', 'src', 'script')),
    tried('style', element('link', 'href', 'style')),
    tried('redirect', fetch(`/redirect?http://${there}/redirect`)),
    tried('socket', new Promise((done, fail) => {
      const socket = new WebSocket(`ws://${there}/socket`); socket.onopen = done; socket.onerror = fail; })),
    tried('events', new Promise((done, fail) => {
      const source = new EventSource(`http://${there}/events`); source.onopen = done;
      source.onerror = () => { source.close(); fail(); }; })),
    tried('worker', new Promise((done, fail) => {
      const code = `fetch('http://${there}/worker').then(() => postMessage(1), () => postMessage(0))`;
      const worker = new Worker(URL.createObjectURL(new Blob([code])));
      worker.onmessage = (event) => event.data ? done() : fail(); })),
    tried('service worker', fetch('/by-service-worker').then((r) => { if (!r.ok) throw 0; })),
  ]);
  navigator.sendBeacon(`http://${there}/beacon`, 'x');
  return [failed.sort(), typeof RTCPeerConnection];
})()"""


@SHARED
@pytest.mark.browser
async def test_nothing_gets_past_an_allow_list(sandbox: BrowserSandbox, visit, site: str, elsewhere) -> None:
    there, seen = elsewhere
    await sandbox.reset(visit(f"{site}/", network=[site.removeprefix("http://")]))
    failed, peer = await sandbox.evaluate(EVERY_WAY % there)  # type: ignore[misc]
    ways = ["events", "fetch", "image", "redirect", "script", "service worker", "socket", "style", "worker"]
    assert failed == ways
    assert peer == "undefined"
    told = (await sandbox.act(Wait(seconds=0.1))).output
    assert told == f"[blocked by the network policy: {there}]"
    assert seen == []
    assert (await sandbox.act(Click(x=15, y=108))).url == f"{site}/next"


PEER = """(async () => {
  const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:%d'}]});
  peer.createDataChannel('any');
  const gathered = new Promise((done) => { peer.onicecandidate = (event) => event.candidate ?? done(); });
  await peer.setLocalDescription(await peer.createOffer());
  await gathered;
  return 'gathered';
})()"""


@SHARED
@pytest.mark.browser
async def test_no_udp_gets_past_a_policy_from_worlds_beside_the_page_s(sandbox: BrowserSandbox, page) -> None:
    """Which are not told of what a page runs first, and are made at an endpoint."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as elsewhere:
        elsewhere.bind(("127.0.0.1", 0))
        elsewhere.setblocking(False)
        await sandbox.reset(page("here", network="deny"))
        session = sandbox.front.session
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        world = await session.send("Page.createIsolatedWorld", {"frameId": frame})
        peer = {"expression": PEER % elsewhere.getsockname()[1], "contextId": world["executionContextId"]}
        said = await session.send("Runtime.evaluate", {**peer, "awaitPromise": True})
        assert said["result"]["value"] == "gathered"
        with pytest.raises(BlockingIOError):
            elsewhere.recv(1)


@SHARED
@pytest.mark.browser
async def test_no_browser_s_debugging_port_is_reached(
    sandbox: BrowserSandbox, backend: BrowserBackend, visit, site: str
) -> None:
    """The own one's, and another's: of a sandbox that has a Chromium to itself, or of another program."""
    own = urlsplit((await backend.chromium()).endpoint).port
    assert own in DEBUGGING_PORTS
    Elsewhere.seen.clear()
    with reserved_port() as other, ThreadingHTTPServer(("127.0.0.1", other), Elsewhere) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for network, port in itertools.product(("allow", ["127.0.0.1", f"localhost:{other}"]), (own, other)):
            await sandbox.reset(visit(f"{site}/", network=network))
            for host in ("127.0.0.1", "localhost", "a.localhost", "[::ffff:127.0.0.1]"):
                url = f"http://{host}:{port}/json/list"
                with pytest.raises(InvalidAction, match="the network policy does not allow"):
                    await sandbox.act(Fetch(url=url))
                asked = f"fetch('{url}').then((r) => r.status, () => 'refused')"
                assert await sandbox.evaluate(asked) in ("refused", 403)
                await sandbox.act(Navigate(url=url))
                assert "webSocketDebuggerUrl" not in str(
                    await sandbox.evaluate("document.documentElement.textContent")
                )
                await sandbox.act(Navigate(url=f"{site}/"))
        server.shutdown()
    assert Elsewhere.seen == []


def test_a_reserved_port_is_reserved_once() -> None:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(reserved_port()) for _ in DEBUGGING_PORTS[::10]]
        assert len(set(ports)) == len(ports) and set(ports) <= set(DEBUGGING_PORTS)


@SHARED
@pytest.mark.browser
async def test_a_page_that_is_blocked_says_so(sandbox: BrowserSandbox, visit, site: str, elsewhere) -> None:
    there, seen = elsewhere
    await sandbox.reset(visit(f"{site}/", network=[site.removeprefix("http://"), "example.com"]))
    shown = await sandbox.act(Navigate(url=f"http://{there}/page"))
    assert shown.output == f"[blocked by the network policy: {there}]"
    assert f"does not allow {there}" in str(await sandbox.evaluate("document.body.textContent"))
    shown = await sandbox.act(Navigate(url="https://elsewhere.invalid/"))
    assert shown.output == "[blocked by the network policy: elsewhere.invalid:443]"
    assert "does not allow elsewhere.invalid:443" in str(await sandbox.evaluate("document.body.textContent"))
    assert seen == []


@SHARED
@pytest.mark.browser
async def test_the_same_server_is_reached_where_it_is_allowed(
    sandbox: BrowserSandbox, visit, site: str, elsewhere
) -> None:
    there, seen = elsewhere
    for network in ("allow", [site.removeprefix("http://"), there], ["127.0.0.1"]):
        await sandbox.reset(visit(f"{site}/", network=network))
        assert await sandbox.evaluate(f"fetch('http://{there}/x').then((r) => r.text())") == (
            "<h1>elsewhere</h1>"
        )
        assert (await sandbox.act(Navigate(url=f"http://{there}/page"))).output is None
    assert [path for path in seen if path != "/favicon.ico"] == ["/x", "/page"] * 3


@SHARED
@pytest.mark.browser
async def test_a_task_s_own_site_needs_no_network(sandbox: BrowserSandbox, visit, site: str) -> None:
    from dataclasses import replace

    task = make_task("miniwob/click-test", 1)
    settings = {**task.environment.settings, "network": "deny"}
    denied = replace(task, environment=replace(task.environment, settings=settings))
    first, second = await sandbox.reset(task), await sandbox.reset(denied)
    assert first.observation.screenshot == second.observation.screenshot
    assert (await sandbox.act(Navigate(url=f"{site}/"))).output is not None
    with pytest.raises(InvalidTask, match=r"outside the network policy: allow 127\.0\.0\.1:\d+"):
        await sandbox.reset(visit(f"{site}/", network="deny"))


@pytest.mark.browser
async def test_a_backend_s_policy_bounds_that_of_its_tasks(visit, site: str) -> None:
    backend = create(network="deny")
    assert isinstance(backend, BrowserBackend)
    try:
        async with await backend.create() as sandbox:
            for network in ("allow", ["127.0.0.1"]):
                with pytest.raises(InvalidTask, match="outside the network policy"):
                    await sandbox.reset(visit(f"{site}/", network=network))
            await sandbox.reset(make_task("miniwob/click-test", 1))
    finally:
        await backend.close()


METADATA = "http://169.254.169.254/latest/meta-data"


@SHARED
@pytest.mark.browser
async def test_what_is_near_is_not_reached_unless_it_is_named(
    sandbox: BrowserSandbox, page, visit, site: str, elsewhere
) -> None:
    there, seen = elsewhere
    port = there.partition(":")[2]
    asked = "fetch('%s').then((r) => r.status, () => 'failed')"
    for task, near in (
        (page("here"), (there, f"localhost:{port}", f"a.localhost:{port}")),
        (visit(f"{site}/"), ("10.255.255.1", "[::ffff:192.168.255.1]")),
        (make_task("miniwob/click-test", 1), (there,)),
    ):
        await sandbox.reset(task)
        for url in (*(f"http://{each}/page" for each in near), METADATA):
            host = urlsplit(url).netloc
            with pytest.raises(InvalidAction, match=r"on this machine|nothing there is reached"):
                await sandbox.act(Fetch(url=url))
            assert await sandbox.evaluate(asked % url) in ("failed", 403)
            shown = await sandbox.act(Navigate(url=url))
            assert "blocked by the network policy" in (shown.output or "")
            assert "does not allow" in str(await sandbox.evaluate("document.body.textContent")), host
        await sandbox.reset(task)
    assert seen == []
    await sandbox.reset(visit(f"{site}/", network=["127.0.0.1", "169.254.169.254"]))
    assert (await sandbox.act(Navigate(url=METADATA))).output == (
        "[blocked by the network policy: 169.254.169.254:80]"
    )


@SHARED
@pytest.mark.browser
async def test_our_own_sites_are_asked_without_a_detour(
    sandbox: BrowserSandbox, elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    relayed: list[str] = []
    relay = PolicyProxy._relay

    async def noted(proxy: PolicyProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        relayed.append("one")
        await relay(proxy, reader, writer)

    monkeypatch.setattr(PolicyProxy, "_relay", noted)
    await sandbox.reset(make_task("miniwob/click-test", 1))
    asked = "fetch('%s').then((r) => r.status, () => 'failed')"
    assert await sandbox.evaluate(asked % "http://miniwob.localhost/miniwob/click-test.html") == 200
    assert relayed == []
    assert await sandbox.evaluate(asked % f"http://{elsewhere[0]}/") in ("failed", 403)
    assert relayed == ["one"]


@pytest.mark.browser
@pytest.mark.parametrize("neighbours", ["allow", "deny"])
async def test_a_backend_says_whether_what_is_near_is_reached(
    page, visit, site: str, elsewhere, neighbours: str
) -> None:
    there, seen = elsewhere
    backend = create(neighbours=neighbours)
    try:
        async with await backend.create() as sandbox:
            await sandbox.reset(page("here"))
            if neighbours == "allow":
                assert (await sandbox.act(Fetch(url=f"http://{there}/fetched"))).output is not None
                assert (await sandbox.act(Navigate(url=f"http://{there}/page"))).output is None
                assert seen[:2] == ["/fetched", "/page"]
            else:
                for network in ("allow", ["127.0.0.1"]):
                    with pytest.raises(InvalidTask, match="outside the network policy"):
                        await sandbox.reset(visit(f"{site}/", network=network))
                await sandbox.reset(make_task("miniwob/click-test", 1))
    finally:
        await backend.close()


async def test_a_proxy_of_the_environment_asks_for_what_is_far(
    serve, elsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, seen = elsewhere  # answers as a proxy would: to a whole address
    for name in ("http_proxy", "HTTP_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://{there}")
    proxy = await PolicyProxy.start(Policy(rules=("allow",)))

    async def answer(url: str) -> str:
        host, port = proxy.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(f"GET {url} HTTP/1.1\r\nHost: x\r\nProxy-Connection: keep-alive\r\n\r\n".encode())
        said = await reader.read()
        writer.close()
        return said.decode()

    try:
        assert "elsewhere" in await answer("http://far.invalid/page?a=b")
        for near in ("10.1.2.3", "localhost", "169.254.169.254"):
            assert "does not allow" in await answer(f"http://{near}/")
    finally:
        await proxy.close()
    assert seen == ["http://far.invalid/page?a=b"]


def test_rules_name_hosts_and_ports() -> None:
    rule = ("Example.com", "*.wiki.org", "127.0.0.1:8080")
    policy = Policy(rules=("allow", rule), sites={"miniwob.localhost": 1})
    for host, port in (("example.com", 80), ("en.wiki.org", 443), ("127.0.0.1", 8080)):
        assert policy.allows(host, port)
    for host, port in (("a.example.com", 80), ("wiki.org", 443), ("127.0.0.1", 80), ("evilwiki.org", 80)):
        assert not policy.allows(host, port)
    assert policy.allows("miniwob.localhost", 80)
    assert not Policy(rules=("allow", "deny"), sites={}).allows("example.com", 80)
    assert not Policy(rules=("allow", ("127.0.0.1", "127.0.0.1:62000"))).allows("127.0.0.1", 62000)


def test_sites_tell_their_ports() -> None:
    server = SiteServer()
    assert server.ports["miniwob.localhost"] > 0
    server.close()


@pytest.mark.parametrize("network", ["all", [], [5], ["http://x/"], ["x:port"], ["*"], ["x:0"], 7, ["a b"]])
async def test_wrong_policies_are_refused(network) -> None:
    with pytest.raises(InvalidTask, match="network must be"):
        create(network=network)
