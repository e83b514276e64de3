"""The browser backend: a site server, and one Chromium for all sandboxes or one for each."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from weakref import WeakSet

from playwright.async_api import Playwright, async_playwright

from deskhand_sandbox.backends.browser.chromium import (
    NO_DEBUGGING,
    Chromium,
    find_chromium,
    start_chromium,
)
from deskhand_sandbox.backends.browser.confined import entering, write_launcher
from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
from deskhand_sandbox.backends.browser.settings import BrowserSettings
from deskhand_sandbox.backends.browser.sites import SiteServer
from deskhand_sandbox.base import Backend
from deskhand_sandbox.isolation import Confinement, Limits
from deskhand_sandbox.isolation.limits import ControlGroup

_THREADS = 4096
"""More than a Chromium and its pages ever have: they are held to their memory alone."""


class BrowserBackend(Backend):
    """See `Backend`. Starts its browser with the first sandbox, and a new one when that has died."""

    kind = "browser"

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._executable = find_chromium(settings.executable)
        self._sites: SiteServer | None = None
        self._chromium: Chromium | None = None
        self._driver: Playwright | None = None
        self._made: WeakSet[BrowserSandbox] = WeakSet()
        self._own: set[Chromium] = set()
        """Browsers of sandboxes that have one to themselves."""
        self._launcher: Path | None = None
        """Folder of the program that starts those."""
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the browser that is shared; None before the first sandbox."""
        return self._chromium.pid if self._chromium else None

    async def create(self) -> BrowserSandbox:
        if self._settings.isolation == "shared":
            sandbox = BrowserSandbox(await self.chromium(), self._settings)
        else:
            chromium = await self._start_own()
            self._own.add(chromium)
            sandbox = BrowserSandbox(chromium, self._settings, let_go=self._let_go)
        self._made.add(sandbox)
        return sandbox

    async def chromium(self) -> Chromium:
        """The running browser that is shared, started if need be."""
        async with self._starting:
            if self._chromium is not None and self._chromium.control.closed.is_set():
                dead, self._chromium = self._chromium, None
                await dead.close()
            if self._chromium is None:
                self._chromium = await self._start(self._executable)
            return self._chromium

    def alive(self) -> bool:
        return self._chromium is None or not self._chromium.control.closed.is_set()

    async def close(self) -> None:
        async with self._starting:
            chromium, self._chromium = self._chromium, None
            sites, self._sites = self._sites, None
            driver, self._driver = self._driver, None
            launcher, self._launcher = self._launcher, None
            try:
                every = [*self._own, *([chromium] if chromium is not None else [])]
                self._own.clear()
                await asyncio.gather(*(each.close() for each in every))
            finally:
                if driver is not None:
                    await driver.stop()
                if launcher is not None:
                    await asyncio.to_thread(shutil.rmtree, launcher, ignore_errors=True)
                if sites is not None:
                    await asyncio.to_thread(sites.close)
                # what they have beside the browser: folders, terminals, endpoints
                await asyncio.gather(*(each.close() for each in list(self._made)))

    async def _start_own(self) -> Chromium:
        """A browser for one sandbox alone, confined as far as this machine can."""
        group = ControlGroup.make(
            Limits(memory_mb=self._settings.memory_mb, processes=_THREADS, cpus=os.cpu_count() or 1)
        )
        try:
            executable = await self._prepared(grouped=group is not None)
            chromium = await self._start(executable, *(entering(group) if group is not None else ()))
        except BaseException:
            if group is not None:
                await asyncio.to_thread(group.remove)
            raise
        chromium.group = group
        return chromium

    async def _start(self, executable: str, *more: str) -> Chromium:
        if self._sites is None:
            self._sites = SiteServer()
        rules = f"--host-resolver-rules={self._sites.resolver_rules},{NO_DEBUGGING}"
        chromium = await start_chromium(
            executable,
            (rules, *self._settings.arguments, *more),
            self._settings.reset_deadline_s,
            driver=self._driver,
        )
        chromium.network, chromium.sites = self._settings.network, self._sites.ports
        chromium.neighbours = self._settings.neighbours
        return chromium

    async def _prepared(self, *, grouped: bool) -> str:
        """The program that starts a sandbox's own browser, and the driver they share."""
        async with self._starting:
            if self._driver is None:
                self._driver = await async_playwright().start()
            apart = Confinement.available()
            if not apart and not grouped:
                return self._executable
            if self._launcher is None:
                self._launcher = Path(tempfile.mkdtemp(prefix="deskhand-chromium-"))
                write_launcher(self._executable, self._launcher, apart=apart)
            return str(self._launcher / "chromium")

    async def _let_go(self, chromium: Chromium) -> None:
        """A sandbox with a browser of its own has closed."""
        if chromium in self._own:
            self._own.discard(chromium)
            await chromium.close()
