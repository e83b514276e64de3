"""The page that shows a sandbox, looked at by a real Chromium and by a plain HTTP client."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from PIL import Image
from playwright.async_api import async_playwright

from deskhand_sandbox.backends.browser.chromium import find_chromium
from deskhand_sandbox.backends.fake import create
from deskhand_sandbox.doors.live import LiveView
from deskhand_sandbox.doors.loopback import serve_on_loopback
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click

START = make_task("fake/press-button", 1)


@asynccontextmanager
async def served() -> AsyncIterator[tuple[LiveView, str]]:
    async with await create().create() as bare:
        view = LiveView(bare, token="secret", idle_s=0.05)
        await view.sandbox.reset(START)
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(serve_on_loopback(view.app(), 0, port.set_result))
        try:
            yield view, f"http://127.0.0.1:{await port}"
        finally:
            serving.cancel()
            await asyncio.wait([serving])


async def test_a_frame_comes_for_every_change() -> None:
    async with served() as (view, url), httpx.AsyncClient(timeout=20) as http:
        async with http.stream("GET", f"{url}/screen.mjpeg?token=secret") as stream:
            parts = frames(stream)
            first = await anext(parts)
            await view.sandbox.act(Click(x=20, y=60))
            async with asyncio.timeout(20):
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


@pytest.mark.browser
async def test_a_person_looks_on_and_clicks_in_the_page() -> None:
    async with served() as (view, url), async_playwright() as playwright:
        chromium = await playwright.chromium.launch(
            executable_path=str(find_chromium()), args=["--no-sandbox"]
        )
        try:
            page = await chromium.new_page(viewport={"width": 390, "height": 600})
            await page.goto(f"{url}/?token=secret", wait_until="domcontentloaded")
            screen = page.locator("#screen")
            await page.wait_for_function("document.getElementById('screen').naturalWidth === 160")
            before = (await view.sandbox.observe()).screenshot.digest
            box = await screen.bounding_box()
            assert box is not None
            await page.mouse.click(box["x"] + box["width"] * 20 / 160, box["y"] + box["height"] * 60 / 200)
            await page.wait_for_function("document.getElementById('said').textContent === 'Done.'")
            assert (await view.sandbox.observe()).screenshot.digest != before
            await page.keyboard.press("a")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        finally:
            await chromium.close()


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
