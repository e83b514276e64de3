"""The same pages by protocol messages alone, no sandbox and no driver: what our overhead is measured against.

A bare step does what reset, act and reward do, in the same order and with the same settle rule; it checks
nothing, records nothing, and leaves whatever it likes behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpSession
from deskhand_sandbox.backends.browser.chromium import (
    ARGUMENTS,
    find_chromium,
    remove_profile,
)
from deskhand_sandbox.backends.browser.settings import page_settings
from deskhand_sandbox.backends.browser.sites import SiteServer
from deskhand_sandbox.backends.browser.tab import SETTLE_SCRIPT, Tab
from deskhand_sandbox.types import JsonValue, Point, Task

HEADLESS = ("--headless", "--hide-scrollbars", "--mute-audio", "--force-color-profile=srgb", "about:blank")

CLOSE_S = 5.0
"""How long a browser may take to close before it is killed."""


class BarePage:
    """One page of one task, stepped as fast as it goes."""

    def __init__(self, tab: Tab, task: Task, reward: str) -> None:
        self._tab = tab
        self._settings = page_settings(task)
        self._reward = reward

    async def load(self) -> None:
        """Bring the task's page up."""
        await self._tab.navigate(self._settings.address)
        await self._tab.load(self._settings.load_deadline_s * 1000)
        while self._settings.ready and await self._tab.evaluate(self._settings.ready) is not True:
            await self._tab.frame(self._settings.settle_deadline_ms)

    async def step(self, seed: int, at: Point) -> tuple[JsonValue, float]:
        """Draw a start state, look, click, look, read the reward.

        Returns:
            The reward, and the milliseconds that were waiting for a still screen.
        """
        await self._tab.evaluate(f"({self._settings.start})({seed})")
        settled_ms = await self._look()
        x, y = at
        where = {"x": x, "y": y}
        press = {**where, "button": "left", "buttons": 1, "clickCount": 1}
        await asyncio.gather(
            self._tab.session.send("Input.dispatchMouseEvent", {"type": "mouseMoved", **where}),
            self._tab.session.send("Input.dispatchMouseEvent", {"type": "mousePressed", **press}),
            self._tab.session.send(
                "Input.dispatchMouseEvent", {**press, "type": "mouseReleased", "buttons": 0}
            ),
        )
        settled_ms += await self._look()
        return await self._tab.evaluate(self._reward), settled_ms

    async def _look(self) -> float:
        began = time.perf_counter()
        await self._tab.settle(self._settings.settle_deadline_ms)
        settled_ms = (time.perf_counter() - began) * 1000
        await self._tab.screenshot(self._settings.image_format, self._settings.image_quality)
        return settled_ms


@asynccontextmanager
async def bare_pages(
    task: Task, count: int, *, reward: str, arguments: Sequence[str] = ()
) -> AsyncGenerator[list[BarePage], None]:
    """`count` pages of one task in a Chromium of their own; `reward` is the expression that reads it.

    Raises:
        BackendMissing: there is no Chromium.
    """
    program = find_chromium()
    sites = SiteServer()
    profile = Path(tempfile.mkdtemp(prefix="deskhand-bare-"))
    process = await asyncio.create_subprocess_exec(
        program,
        *ARGUMENTS,
        *arguments,
        f"--host-resolver-rules={sites.resolver_rules}",
        f"--user-data-dir={profile}",
        "--remote-debugging-port=0",
        *HEADLESS,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,  # Debian's chromium is a shell script around the browser: end both
    )
    sessions: list[CdpSession] = []
    try:
        port, path = await _debugging_port(profile)
        control = await CdpSession.connect(f"ws://127.0.0.1:{port}{path}")
        sessions.append(control)
        pages: list[BarePage] = []
        for _ in range(count):
            tab = await _open(control, f"ws://127.0.0.1:{port}", task)
            sessions.append(tab.session)
            pages.append(BarePage(tab, task, reward))
        await asyncio.gather(*(page.load() for page in pages))
        yield pages
    finally:
        if sessions:
            # asked to, it ends its children before itself: none is left to write into the profile
            with contextlib.suppress(CdpClosed, TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await sessions[0].send("Browser.close")
                    await process.wait()
        for session in sessions:
            await session.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        await remove_profile(profile)
        await asyncio.to_thread(sites.close)


async def _debugging_port(profile: Path) -> tuple[int, str]:
    """Port and path, once Chromium has written them next to its profile (it does so after it is up)."""
    file = profile / "DevToolsActivePort"
    while True:
        lines = file.read_text().splitlines() if file.exists() else []  # two lines on a local disk
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        await asyncio.sleep(0.005)


async def _open(control: CdpSession, endpoint: str, task: Task) -> Tab:
    width, height = page_settings(task).viewport_px
    context = (await control.send("Target.createBrowserContext"))["browserContextId"]
    target = (await control.send("Target.createTarget", {"url": "about:blank", "browserContextId": context}))[
        "targetId"
    ]
    session = await CdpSession.connect(f"{endpoint}/devtools/page/{target}")
    tab = Tab(session, "about:blank")
    await tab.attach()
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    await session.send("Emulation.setDeviceMetricsOverride", size)
    await session.send("Page.addScriptToEvaluateOnNewDocument", {"source": SETTLE_SCRIPT})
    return tab
