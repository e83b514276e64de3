"""How smoothly the page goes on: gaps between frames while a key is held and while a list is scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deskhand_platform.bench.page.browsing import VIEW, signed_in
from deskhand_platform.bench.page.served import LONG, Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

REPEAT_MS = 33
"""Between two presses of a key that is held."""
WHEEL_MS = 16
WHEEL_PX = 400
HELD_STEPS = 300
SCROLLS = 300
"""Turns of the wheel: thousands of rows, which come in pages of their own."""
WATCH = """() => {
  const gaps = (window.gaps = []);
  let before = null;
  const look = (now) => {
    if (before !== null) gaps.push(now - before);
    before = now;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
AT_END = """() => {
  const list = document.querySelector('[role="table"][aria-label="Trajectories"]');
  return list.scrollTop + list.clientHeight >= list.scrollHeight - 1;
}"""


def replay_gaps(browser: Browser, at: Served, *, steps: int) -> list[float]:
    """Milliseconds between frames while the arrow key is held through the long replay.

    Args:
        steps: it has; at most `HELD_STEPS` are gone through.
    """
    with signed_in(browser, at) as page:
        page.goto(f"{at.url}/trajectories/{LONG}?step=0")
        page.wait_for_function("() => 'image' in window.noted")
        page.evaluate(WATCH)
        for _ in range(min(steps, HELD_STEPS)):
            page.keyboard.down("ArrowRight")  # pressed while it is down: a repeat
            page.wait_for_timeout(REPEAT_MS)
        page.keyboard.up("ArrowRight")
        return _gaps(page)


def list_gaps(browser: Browser, at: Served) -> list[float]:
    """Milliseconds between frames while the list is scrolled over several pages of it, or to its end."""
    with signed_in(browser, at) as page:
        page.goto(f"{at.url}/trajectories")
        page.wait_for_function("() => 'row' in window.noted")
        page.mouse.move(VIEW["width"] / 2, VIEW["height"] * 2 / 3)
        page.evaluate(WATCH)
        for _ in range(SCROLLS):
            page.mouse.wheel(0, WHEEL_PX)
            page.wait_for_timeout(WHEEL_MS)
            if page.evaluate(AT_END):
                # the next page is on its way, or there is none
                page.wait_for_timeout(10 * WHEEL_MS)
                if page.evaluate(AT_END):
                    break
        return _gaps(page)


def _gaps(page: Page) -> list[float]:
    return cast("list[float]", page.evaluate("() => window.gaps"))
