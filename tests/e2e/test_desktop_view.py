"""A live desktop in the page: noVNC shows it, what is done over it is recorded, pictures stand in for it."""

from __future__ import annotations

import asyncio
import re
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from served_platform import SCREENS, Platform, Signed, unhurried
from test_people import begun, steered, stop, until
from waiting_model import waiting_model

from deskhand_platform import host_address
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import BackendMissing
from deskhand_sandbox.host import SandboxClient
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import EnvironmentSpec, Task, VerifierSpec

pytestmark = pytest.mark.browser
DESK: dict[str, Any] = {
    "id": "e2e/desk",
    "instruction": "Write a line.",
    "environment": {
        "kind": "desktop",
        "settings": {
            "size_px": [640, 400],
            "applications": [["xterm", "-geometry", "60x16+60+40", "-e", "cat"]],
            "still_ms": 200,
        },
    },
    "verifier": {"name": "expression", "settings": {"expression": "true"}},
}
DRAWN = """() => {
  const canvas = document.querySelector('[role=img] canvas');
  if (!canvas || canvas.width === 0) return false;
  const { width, height } = canvas;
  const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const pixels = new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer);
  return new Set(pixels).size > 2 && pixels.every((pixel) => pixel >>> 24 === 255);
}"""
"""All of it has been painted: what has not lets the page behind be seen."""
PIXELS = "() => document.querySelector('[role=img] canvas').toDataURL()"
CHANGED = "(before) => document.querySelector('[role=img] canvas').toDataURL() !== before"


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with waiting_model() as url:
        yield url


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, model: str) -> Iterator[Platform]:
    if shutil.which("x11vnc") is None:
        pytest.skip("x11vnc is not installed")
    try:
        create_backend("desktop")
    except BackendMissing as missing:
        pytest.skip(str(missing))
    made = Platform(tmp_path_factory.mktemp("home"), kinds=["desktop", "fake"], endpoints=[model])
    yield made
    made.stop()


@pytest.fixture
def live(platform: Platform, model: str) -> Iterator[dict[str, Any]]:
    """A submitted task whose desktop waits for a person: its trajectory, and its lease as `lease`."""
    settings = {"base_url": model, "model": "waits"}
    policy = {"name": "openai", "settings": settings, "review_s": 300}
    task = begun(platform, {"task": DESK, "policy": policy})
    [lease] = [one for one in platform.get("/v1/sandboxes")["items"] if one["task"] == task["id"]]
    yield task | {"lease": lease["id"]}
    stop(platform, task["id"])


@pytest.fixture
def leased(platform: Platform) -> Iterator[Callable[..., None]]:
    """Resets a desktop that is ours to a screen of some size."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    published = host_address.published(platform.home)
    assert published is not None

    async def enter() -> tuple[AsyncExitStack, Sandbox]:
        stack = AsyncExitStack()
        source = await stack.enter_async_context(SandboxClient(*published))
        return stack, await stack.enter_async_context(source.lease("desktop", owner="e2e", wait_s=120))

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(150)

    stack, sandbox = run(enter())

    def reset(*size_px: int) -> None:
        settings = DESK["environment"]["settings"] | {"size_px": list(size_px)}
        task = Task(
            id="e2e/leased",
            environment=EnvironmentSpec(kind="desktop", settings=settings),
            verifier=VerifierSpec(name="expression"),
            instruction="Look.",
        )
        run(sandbox.reset(task))

    yield reset
    run(stack.aclose())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def open_desktop(page: Page, url: str, lease: str) -> Any:
    """The live page of a desktop, once noVNC has drawn it."""
    page.goto(f"{url}/sandboxes/{lease}")
    screen = page.get_by_role("img", name="The screen, live").filter(has=page.locator("canvas"))
    expect(screen).to_be_visible()
    page.wait_for_function(DRAWN)
    return screen


def test_a_desktop_is_shown_by_novnc_and_what_is_done_over_it_is_recorded(
    platform: Platform, signed: Signed, live: dict[str, Any]
) -> None:
    page = signed.page
    page.clock.install()
    screen = open_desktop(page, signed.url, live["lease"])
    expect(page.get_by_alt_text("The screen, live")).to_have_count(0)  # pictures are not asked for as well
    before = page.evaluate(PIXELS)
    screen.click(force=True, position={"x": 150, "y": 120})  # nobody has the controls yet
    page.keyboard.type("lost")
    page.get_by_role("button", name="Take over").click()
    surface = page.get_by_role("application")
    assert surface.bounding_box() == screen.bounding_box()
    assert page.evaluate(PIXELS) == before
    with unhurried(page):  # or slow keys were several texts
        surface.click(position={"x": 150, "y": 120})
        page.keyboard.type("seen")
        page.keyboard.press("Enter")
    did = page.get_by_role("list", name="What you did").get_by_role("listitem")
    expect(did).to_have_count(3)
    page.get_by_role("button", name="Hand back").click()  # at once: nothing of it is lost
    page.wait_for_function(CHANGED, arg=before)
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    done = until(lambda: len(kinds := steered(platform, live["trajectory_id"])) >= 3 and kinds)
    assert done[:3] == ["click", "type_text", "press"]
    platform.send("DELETE", f"/v1/tasks/{live['id']}")
    expect(page.get_by_text("This sandbox was given back")).to_be_visible()
    signed.complaints.clear()  # the browser notes that the lease is gone


def test_the_page_follows_a_sandbox_from_task_to_task(
    platform: Platform, signed: Signed, leased: Callable[..., None]
) -> None:
    page = signed.open("/sandboxes")
    page.get_by_role("link", name="desktop sandbox").click()
    expect(page.get_by_text("Only episodes of submitted tasks can be")).to_be_visible()
    expect(page.locator("canvas")).to_have_count(0)  # there is nothing to be seen yet
    for width, height in ((640, 400), (500, 300)):
        leased(width, height)
        page.wait_for_function(f"() => document.querySelector('[role=img] canvas')?.width === {width}")
        page.wait_for_function(DRAWN)
        expect(page.get_by_alt_text("The screen, live")).to_have_count(0)


def test_pictures_stand_in_where_novnc_cannot_connect(
    platform: Platform, signed: Signed, live: dict[str, Any]
) -> None:
    page = signed.page
    page.route_web_socket(re.compile("/vnc$"), lambda socket: socket.close(code=1011))
    page.goto(f"{signed.url}/sandboxes/{live['lease']}")
    expect(page.get_by_alt_text("The screen, live")).to_be_visible()
    page.wait_for_function(
        "() => document.querySelector('img[alt=\"The screen, live\"]')?.naturalWidth === 640"
    )
    expect(page.locator("[role=img] canvas")).to_have_count(0)
    page.get_by_role("button", name="Take over").click()
    page.get_by_role("application").click(position={"x": 150, "y": 120})
    did = page.get_by_role("list", name="What you did").get_by_role("listitem")
    expect(did.get_by_label("sent")).to_have_count(1)
    page.goto("about:blank")  # or it would note that the lease is gone
    signed.complaints.clear()  # noVNC notes that it could not connect


@SCREENS
def test_the_desktop_fits_the_screen(
    platform: Platform, browser: Browser, live: dict[str, Any], width: int, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{platform.url}/#token={platform.token}")
    expect(page.get_by_role("button", name="Sign out")).to_be_attached()
    shown = open_desktop(page, platform.url, live["lease"]).bounding_box()
    assert shown is not None
    assert shown["width"] / shown["height"] == pytest.approx(640 / 400, rel=0.02)
    drawn = page.locator("[role=img] canvas").bounding_box()
    assert drawn is not None and drawn["width"] == pytest.approx(shown["width"], abs=2)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    context.close()
