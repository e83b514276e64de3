"""What somebody who opens the page waits for, in Chromium with nothing kept from before."""

from __future__ import annotations

import gzip
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, cast

from deskhand_platform.bench.page.accessibility import serious
from deskhand_platform.bench.page.served import LONG, Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

PATIENCE_MS = 60_000
VIEW = {"width": 1366, "height": 768}
IMAGE = "main img"
ROW = '[role="table"] [role="row"][aria-rowindex="2"]'
NOTE = """(() => {
  const noted = (window.noted = {});
  const look = () => {
    const image = document.querySelector('IMAGE');
    if (!("image" in noted) && image?.complete && image.naturalWidth > 0) noted.image = performance.now();
    if (!("row" in noted) && document.querySelector('ROW')) noted.row = performance.now();
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})()""".replace("IMAGE", IMAGE).replace("ROW", ROW)
"""Notes at which frame, in milliseconds since navigation began, the first of each was there."""
PLACES = (
    "/",
    "/rounds",
    "/trajectories",
    f"/trajectories/{LONG}?step=1",
    "/compare",
    "/tasks?task=fake/press-button",
    "/tasks/evaluations",
    "/flywheel",
)
SETTLED = """() => document.querySelector("h1") &&
  !document.querySelector("[role=status][aria-label^=Loading], [role=status][aria-label^=Measuring]")"""


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser without a window.

    Raises:
        SandboxError: there is no Chromium.
    """
    from playwright.sync_api import sync_playwright

    from deskhand_sandbox.backends.browser.chromium import find_chromium

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        )
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def signed_in(browser: Browser, at: Served, scheme: Literal["light", "dark"] = "light") -> Generator[Page]:
    """A page that is signed in and has loaded nothing yet."""
    context = browser.new_context(viewport=VIEW, color_scheme=scheme)  # pyright: ignore[reportArgumentType]
    try:
        context.request.post(f"{at.url}/login", data={"token": at.token}).dispose()
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.add_init_script(NOTE)
        yield page
    finally:
        context.close()


def first(browser: Browser, at: Served, path: str, what: Literal["image", "row"]) -> float:
    """Milliseconds from asking for an address to the frame that shows the first of it."""
    with signed_in(browser, at) as page:
        page.goto(f"{at.url}{path}")
        page.wait_for_function("what => what in window.noted", arg=what)
        return cast(float, page.evaluate("what => window.noted[what]", what))


def script_bytes(browser: Browser, at: Served) -> int:
    """Bytes, gzipped, of every script that the first load of the start page asks for."""
    with signed_in(browser, at) as page:
        answers: list[Response] = []
        page.on("response", lambda answer: answers.append(answer))
        page.goto(f"{at.url}/")
        page.wait_for_function(SETTLED)
        page.wait_for_load_state("networkidle")
        scripts = {answer.url: answer.body() for answer in answers if answer.url.endswith(".js")}
        return sum(len(gzip.compress(body, mtime=0)) for body in scripts.values())


def faults(browser: Browser, at: Served) -> list[str]:
    """Serious faults of accessibility on every page, light and dark."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        with signed_in(browser, at, scheme) as page:
            for path in PLACES:
                page.goto(f"{at.url}{path}")
                page.wait_for_function(SETTLED)
                found += [f"{path} ({scheme}): {fault}" for fault in serious(page)]
    return found
