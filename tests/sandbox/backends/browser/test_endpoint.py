"""A stranger's Playwright at a leased browser: its own pages, and nothing else."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox
from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpError, CdpSession, Payload
from deskhand_sandbox.backends.browser.endpoint import Endpoint
from deskhand_sandbox.types import Click, Press

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


async def ask(
    stranger: ClientConnection, method: str, parameters: Payload | None = None, session: str | None = None
) -> Payload:
    """The answer to a command of a stranger that knows no manners."""
    to = {} if session is None else {"sessionId": session}
    await stranger.send(json.dumps({"id": 1, "method": method, "params": parameters or {}, **to}))
    return await answer(stranger)


async def answer(stranger: ClientConnection) -> Payload:
    """What comes next that is no event."""
    async for text in stranger:
        message = json.loads(text)
        if "method" not in message:
            return message
    raise AssertionError("the endpoint has ended the connection")


async def attached(stranger: ClientConnection) -> str:
    """A session to the page that is there."""
    pages = (await ask(stranger, "Target.getTargets"))["result"]["targetInfos"]
    parameters = {"targetId": pages[0]["targetId"], "flatten": True}
    return (await ask(stranger, "Target.attachToTarget", parameters))["result"]["sessionId"]


async def test_a_stranger_works_in_the_page_the_sandbox_shows(
    sandbox: BrowserSandbox, backend: BrowserBackend, visit, site: str
) -> None:
    async with await backend.create() as other, async_playwright() as playwright:
        await other.reset(visit(f"{site}/next"))
        await sandbox.reset(visit(f"{site}/frame"))
        url = await sandbox.open_endpoint("lease-token")
        stranger = await playwright.chromium.connect_over_cdp(url)
        pages = [page for context in stranger.contexts for page in context.pages]
        assert [page.url for page in pages] == [f"{site}/frame"]
        page = pages[0]
        await page.get_by_role("button").click()
        assert await sandbox.evaluate("document.querySelector('button').textContent") == "pressed"
        await page.locator("#i").fill("from outside")
        assert await sandbox.evaluate("i.value") == "from outside"
        assert await page.screenshot()
        await page.goto(f"{site}/next")
        assert (await sandbox.observe()).url == f"{site}/next"
        opened = await stranger.contexts[0].new_page()
        await opened.goto(f"{site}/")
        while (await sandbox.observe()).url != f"{site}/":
            pass  # a stranger's new tab is told of when it is told of
        await stranger.contexts[0].add_cookies([{"name": "a", "value": "1", "url": site}])
        assert await sandbox.evaluate("document.cookie") == "a=1"
        assert await other.evaluate("document.cookie") == ""
        with pytest.raises(PlaywrightError, match="files"):
            await page.goto("file:///etc/passwd")
        await stranger.close()
        assert (await sandbox.act(Click(x=1, y=1))).settled
        assert (await other.observe()).settled


async def test_the_token_is_needed(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    url = await sandbox.open_endpoint("lease-token")
    assert url.endswith("/lease-token")
    root = url.removesuffix("/lease-token")
    socket = root.replace("http", "ws")
    async with httpx.AsyncClient() as client:
        assert (
            (await client.get(f"{url}/json/version/")).json()["webSocketDebuggerUrl"].startswith("ws://127")
        )
        named = {"Authorization": "Bearer lease-token"}
        assert (await client.get(f"{root}/json/version", headers=named)).status_code == 200
        for path, headers in (("/json/version", {}), ("/wrong/json/version", {}), ("/json/list", {})):
            refused = await client.get(root + path, headers=headers)
            assert refused.status_code == 403 and "token" in refused.text
    for path in ("", "/", "/wrong", "/lease-toke"):
        with pytest.raises(InvalidStatus, match="403"):
            await connect(socket + path)


async def test_another_token_shuts_out_the_one_before(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("here"))
    before = (await sandbox.open_endpoint("before")).replace("http", "ws")
    async with connect(before) as stranger:
        await ask(stranger, "Browser.getVersion")
        assert (await sandbox.open_endpoint()).endswith("/before")
        assert (await sandbox.open_endpoint("before")).endswith("/before")
        await ask(stranger, "Browser.getVersion")
        assert (await sandbox.open_endpoint("after")).endswith("/after")
        with pytest.raises(ConnectionClosed):
            await ask(stranger, "Browser.getVersion")
    with pytest.raises(InvalidStatus, match="403"):
        await connect(before)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("Target.createBrowserContext", {}),
        ("Target.attachToBrowserTarget", {}),
        ("Target.exposeDevToolsProtocol", {"targetId": "THEIRS"}),
        ("Target.attachToTarget", {"targetId": "THEIRS", "flatten": True}),
        ("Target.closeTarget", {"targetId": "THEIRS"}),
        ("Target.getTargetInfo", {"targetId": "THEIRS"}),
        ("Target.createTarget", {"url": "file:///etc/passwd"}),
        ("Target.disposeBrowserContext", {"browserContextId": "CONTEXT"}),
        ("SystemInfo.getProcessInfo", {}),
        ("Browser.getBrowserCommandLine", {}),
        ("Browser.crash", {}),
        ("Tracing.start", {}),
        ("Page.navigate", {"url": "about:blank"}),
        ("No.suchThing", {}),
    ],
)
async def test_what_is_not_the_lease_s_is_refused(
    sandbox: BrowserSandbox, backend: BrowserBackend, page, method: str, parameters: dict[str, object]
) -> None:
    async with await backend.create() as other:
        await sandbox.reset(page("mine"))
        await other.reset(page("theirs"))
        theirs = (await other.front.session.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
        named = {"THEIRS": theirs, "CONTEXT": other.context.id}
        filled = {key: named.get(str(value), value) for key, value in parameters.items()}
        url = await sandbox.open_endpoint()
        stranger = await CdpSession.connect(url.replace("http", "ws"))
        try:
            seen = (await stranger.send("Target.getTargets"))["targetInfos"]
            assert len(seen) == 1 and seen[0]["browserContextId"] == sandbox.context.id
            with pytest.raises(CdpError):
                await stranger.send(method, filled)
            cookies = {"browserContextId": other.context.id}
            assert (await stranger.send("Storage.getCookies", cookies))["cookies"] == []
        finally:
            await stranger.close()
        assert (await other.observe()).settled


async def test_a_stranger_drags_none_of_the_machine_s_files(
    sandbox: BrowserSandbox, page, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    tell = "event.dataTransfer.files[0]?.text().then((text) => document.title = text)"
    tell += "; document.title = event.dataTransfer.getData('text/plain')"
    await sandbox.reset(
        page(f'<body style="height:90vh" ondragover="event.preventDefault()" ondrop="{tell}">drop')
    )
    async with connect((await sandbox.open_endpoint()).replace("http", "ws")) as stranger:
        session = await attached(stranger)
        words = {"items": [{"mimeType": "text/plain", "data": "words"}], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            event = {"type": kind, "x": 9, "y": 9, "data": words}
            files = {**event, "data": {**words, "files": [str(secret)]}}
            refused = await ask(stranger, "Input.dispatchDragEvent", files, session)
            assert "files" in refused["error"]["message"]
            assert "result" in await ask(stranger, "Input.dispatchDragEvent", event, session)
        assert await sandbox.evaluate("document.title") == "words"


@pytest.mark.parametrize(
    "said",
    [
        "nope",
        "[]",
        "[" * 100_000,
        '{"id": 1}',
        '{"method": "Browser.getVersion"}',
        '{"id": "x", "method": "Browser.getVersion"}',
        '{"id": 1073741824, "method": "Browser.getVersion"}',
        '{"id": 1, "method": "Target.getTargets", "params": [1]}',
        '{"id": 1, "method": "Target.attachToTarget", "params": {"targetId": ["x"]}}',
        '{"id": 1, "method": "Target.detachFromTarget", "params": {"sessionId": ["x"]}}',
        '{"id": 1, "method": "Browser.getVersion", "sessionId": ["x"]}',
        '{"id": 1, "method": "Target.createTarget", "params": {"url": "http://[bad/"}}',
    ],
)
async def test_what_is_no_command_is_refused_and_ends_nothing(
    sandbox: BrowserSandbox, page, said: str
) -> None:
    await sandbox.reset(page("here"))
    async with connect((await sandbox.open_endpoint()).replace("http", "ws")) as stranger:
        await stranger.send(said)
        assert "error" in await answer(stranger)
        assert "result" in await ask(stranger, "Browser.getVersion")


async def test_connections_end_with_the_episode(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("one"))
    url = (await sandbox.open_endpoint()).replace("http", "ws")
    stranger = await CdpSession.connect(url)
    await stranger.send("Browser.getVersion")
    assert not sandbox.context.untouched
    await sandbox.reset(page("two"))
    assert sandbox.context.untouched
    with pytest.raises(CdpClosed):
        await stranger.send("Browser.getVersion")
    await stranger.close()
    again = await CdpSession.connect(url)
    assert (await again.send("Target.getTargets"))["targetInfos"][0]["url"].endswith("two")
    await sandbox.close()
    with pytest.raises(CdpClosed):
        await CdpSession.connect(url)
    await again.close()


async def test_a_stranger_pastes_nothing_that_another_task_has_copied(
    sandbox: BrowserSandbox, backend: BrowserBackend, page
) -> None:
    async with await backend.create() as other:
        field = "<textarea id=t autofocus>{}</textarea>"
        await other.reset(page(field.format("secret")))
        await sandbox.reset(page(field.format("")))
        await other.act(Click(x=20, y=20))
        for key in ("a", "c"):
            await other.act(Press(keys=("Control", key)))
        async with connect((await sandbox.open_endpoint()).replace("http", "ws")) as stranger:
            session = await attached(stranger)
            pressed = {"type": "rawKeyDown", "commands": ["paste"]}
            assert "result" in await ask(stranger, "Input.dispatchKeyEvent", pressed, session)
        assert await sandbox.evaluate("t.value") == ""
        await other.act(Press(keys=("Control", "v")))
        assert await other.evaluate("t.value") == "secret"


@pytest.mark.timeout(150)
async def test_strangers_that_have_gone_silent_hold_no_reset_up(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("one"))
    url = urlsplit(await sandbox.open_endpoint())
    silent = [await asyncio.open_connection(url.hostname, url.port) for _ in range(20)]
    for reader, writer in silent:
        lines = [
            f"GET {url.path} HTTP/1.1",
            f"Host: {url.netloc}",
            "Upgrade: websocket",
            "Connection: Upgrade",
        ]
        lines += ["Sec-WebSocket-Key: ZnJvbSBhIHN0cmFuZ2VyIQ==", "Sec-WebSocket-Version: 13", "", ""]
        writer.write("\r\n".join(lines).encode())
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
    await sandbox.reset(page("two"))  # ten seconds for each, as servers wait, would outlast the test
    for _, writer in silent:
        writer.close()


async def test_a_browser_that_dies_while_a_page_is_opened_holds_nothing_up() -> None:
    async def browser(socket: ServerConnection) -> None:
        async for message in socket:
            asked = json.loads(message)
            if asked["method"] == "Target.createTarget":
                socket.transport.abort()
                return
            await socket.send(json.dumps({"id": asked["id"], "result": {}}))

    async with serve(browser, "127.0.0.1", 0) as server, asyncio.timeout(120):
        port = next(iter(server.sockets)).getsockname()[1]
        endpoint = await Endpoint.open(f"ws://127.0.0.1:{port}", lambda: "context", "lease-token")
        stranger = await CdpSession.connect(endpoint.url.replace("http", "ws"))
        with pytest.raises(CdpClosed):
            await stranger.send("Target.createTarget", {"url": "about:blank"})
        await stranger.close()
        await endpoint.close()
