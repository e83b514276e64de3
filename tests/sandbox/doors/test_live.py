"""The page that shows a sandbox, looked at by a real Chromium and by a plain HTTP client."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from PIL import Image
from playwright.async_api import Page, async_playwright, expect

from deskhand_sandbox.backends.browser.chromium import find_chromium
from deskhand_sandbox.backends.fake import create
from deskhand_sandbox.doors.live import LiveView
from deskhand_sandbox.doors.loopback import serve_on_loopback
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click

START = make_task("fake/press-button", 1)


@asynccontextmanager
async def serving(view: LiveView, port: int = 0) -> AsyncIterator[int]:
    """The page over HTTP; its port."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_on_loopback(view.app(), port, ready.set_result))
    try:
        yield await ready
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def served(*, acting: bool = True) -> AsyncIterator[tuple[LiveView, str]]:
    async with await create().create() as bare:
        view = LiveView(bare, token="secret", acting=acting, idle_s=0.05)
        await view.sandbox.reset(START)
        async with serving(view) as port:
            yield view, f"http://127.0.0.1:{port}"


async def test_a_frame_comes_for_every_change() -> None:
    async with served() as (view, url), httpx.AsyncClient(timeout=120) as http:
        async with http.stream("GET", f"{url}/screen.mjpeg?token=secret") as stream:
            parts = frames(stream)
            first = await anext(parts)
            await view.sandbox.act(Click(x=20, y=60))
            async with asyncio.timeout(120):
                while (second := await anext(parts)) == first:
                    pass
        assert Image.open(io.BytesIO(second)).size == (160, 200)


async def test_who_has_no_token_sees_and_does_nothing() -> None:
    async with served() as (_, url), httpx.AsyncClient() as http:
        for path in ("/", "/screen.mjpeg", "/?token=wrong"):
            assert (await http.get(url + path)).status_code == 401
        assert (await http.post(url + "/act", json={"": "Click", "x": 1, "y": 1})).status_code == 401


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"": "Click", "x": 900, "y": 1}', "off the screen"),
        (b'{"": "Clik"}', "expected"),
        (b"{", "Expecting"),
        (b'{"": "Finish"}', "expected"),
        (b'{"": "Navigate", "url": "http://a/"}', "fake"),
    ],
)
async def test_wrong_actions_are_refused(body: bytes, said: str) -> None:
    async with served() as (_, url), httpx.AsyncClient(headers={"Authorization": "Bearer secret"}) as http:
        refused = await http.post(url + "/act", content=body)
        assert refused.status_code == 400
        assert said in refused.json()["message"]


async def test_the_state_tells_what_no_picture_shows() -> None:
    headers = {"Authorization": "Bearer secret"}
    async with served() as (view, url), httpx.AsyncClient(headers=headers, timeout=120) as http:
        state = (await http.get(url + "/state")).json()
        assert state == {"kind": "fake", "acting": True, "ended": None, "url": None, "dialog": None}
        async with http.stream("GET", f"{url}/screen.mjpeg") as stream:
            parts = frames(stream)
            await anext(parts)
            await view.sandbox.close()
            async for _ in parts:
                pass  # to its end
        assert "dead or closed" in (await http.get(url + "/state")).json()["ended"]


async def test_who_may_only_look_cannot_act() -> None:
    headers = {"Authorization": "Bearer secret"}
    async with served(acting=False) as (_, url), httpx.AsyncClient(headers=headers) as http:
        refused = await http.post(url + "/act", json={"": "Click", "x": 1, "y": 1})
        assert (refused.status_code, refused.json()["error"]) == (403, "LookOnly")
        assert (await http.get(url + "/state")).json()["acting"] is False


async def test_a_picture_without_an_end_does_not_keep_the_server_up(caplog: pytest.LogCaptureFixture) -> None:
    async with httpx.AsyncClient(timeout=120) as http:
        async with served() as (_, url):
            stream = await http.send(
                http.build_request("GET", f"{url}/screen.mjpeg?token=secret"), stream=True
            )
            parts = frames(stream)
            await anext(parts)
        async for _ in parts:
            pass  # to its end, which is a proper one
    assert [each.getMessage() for each in caplog.records if each.levelname in ("WARNING", "ERROR")] == []


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    """A person's browser, on a phone."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=str(find_chromium()), args=["--no-sandbox"]
        )
        page = await chromium.new_page(viewport={"width": 390, "height": 844}, has_touch=True)
        wrong: list[str] = []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        yield page
        await chromium.close()
        assert wrong == []


@pytest.mark.browser
async def test_a_person_looks_on_and_acts_in_the_page(page: Page) -> None:
    async with served() as (view, url):
        await page.goto(f"{url}/?token=secret", wait_until="domcontentloaded")
        screen = page.locator("#screen")
        await expect(page.locator("#link")).to_have_text("You can act", timeout=120_000)
        await expect(screen).to_have_js_property("naturalWidth", 160, timeout=120_000)
        await expect(page.locator("#kind")).to_have_text("fake sandbox", timeout=120_000)
        # as large as there is room for
        await expect(screen).to_have_css("width", "374px", timeout=120_000)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        before = (await view.sandbox.observe()).screenshot.digest
        box = await screen.bounding_box()
        assert box is not None
        await page.mouse.click(box["x"] + box["width"] * 20 / 160, box["y"] + box["height"] * 60 / 200)
        await expect(page.locator("#said")).to_have_text("Done.", timeout=120_000)
        clicked = (await view.sandbox.observe()).screenshot.digest
        assert clicked != before
        await page.keyboard.type("abc")
        await expect(page.locator("#said")).to_have_text("Done.", timeout=120_000)
        await page.fill("#text", "from a phone")
        await page.tap("#entry button")
        await expect(page.locator("#text")).to_have_value("", timeout=120_000)
        async with asyncio.timeout(120):
            while "abcfrom a phone" not in str(await view.sandbox.evaluate("text")):
                await asyncio.sleep(0.02)
        await page.tap("#size")
        await expect(screen).to_have_css("width", "160px", timeout=120_000)


@pytest.mark.browser
async def test_a_lost_connection_is_told_of_and_comes_back(page: Page, free_port: int) -> None:
    async with await create().create() as bare:
        view = LiveView(bare, token="secret", idle_s=0.05)
        await view.sandbox.reset(START)
        async with serving(view, free_port) as port:
            await page.goto(f"http://127.0.0.1:{port}/?token=secret", wait_until="domcontentloaded")
            await expect(page.locator("#link")).to_have_text("You can act", timeout=120_000)
        await expect(page.locator("#link")).to_have_text("Connection lost", timeout=120_000)
        async with serving(view, port):
            await expect(page.locator("#link")).to_have_text("You can act", timeout=120_000)
            await expect(page.locator("#screen")).to_have_js_property("naturalWidth", 160, timeout=120_000)
            await view.sandbox.close()
            await expect(page.locator("#over")).to_contain_text("The sandbox has ended", timeout=120_000)
            await expect(page.locator("#entry")).to_be_hidden(timeout=120_000)


async def frames(stream: httpx.Response) -> AsyncIterator[bytes]:
    """The pictures of a motion JPEG."""
    data = b""
    async for part in stream.aiter_bytes():
        data += part
        while b"\r\n\r\n" in data:
            head, _, rest = data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split()[0])
            if len(rest) < length + 2:
                break
            yield rest[:length]
            data = rest[length + 2 :]
