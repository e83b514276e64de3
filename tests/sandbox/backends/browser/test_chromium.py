"""Starts of a browser that fail: its driver, which others share, is left with none that nobody uses."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Playwright

from deskhand_sandbox.backends.browser.chromium import start_chromium
from deskhand_sandbox.errors import BackendMissing, SandboxTimeout

PATIENCE_S = 3600.0


class Driver:
    """Launches a browser that fails, once it is let."""

    def __init__(self) -> None:
        self.chromium = self
        self.launching, self.may_launch, self.closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def launch(self, **_: object) -> Driver:
        self.launching.set()
        await self.may_launch.wait()
        return self

    async def new_browser_cdp_session(self) -> None:
        raise PlaywrightError("it broke at once")

    async def close(self) -> None:
        self.closed.set()


def start(driver: Driver, deadline_s: float = PATIENCE_S) -> asyncio.Task[object]:
    starting = start_chromium("chromium", (), deadline_s, driver=cast("Playwright", driver))
    return asyncio.create_task(starting)


async def test_one_that_breaks_as_it_starts_is_closed() -> None:
    driver = Driver()
    driver.may_launch.set()
    with pytest.raises(BackendMissing, match="it broke at once"):
        await start(driver)
    async with asyncio.timeout(120):
        await driver.closed.wait()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_one_that_comes_up_when_nobody_waits_for_it_any_more_is_closed(*, cancelled: bool) -> None:
    driver = Driver()
    starting = start(driver, PATIENCE_S if cancelled else 0.0)
    if cancelled:
        await driver.launching.wait()
        starting.cancel()
    with pytest.raises(asyncio.CancelledError if cancelled else SandboxTimeout):
        await starting
    driver.may_launch.set()
    async with asyncio.timeout(120):
        await driver.closed.wait()
