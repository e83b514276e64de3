"""The browser backend: one Chromium and one site server, a context for each sandbox."""

from __future__ import annotations

import asyncio

from deskhand_sandbox.backends.browser.chromium import Chromium, find_chromium, start_chromium
from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
from deskhand_sandbox.backends.browser.settings import BrowserSettings
from deskhand_sandbox.backends.browser.sites import SiteServer
from deskhand_sandbox.base import Backend


class BrowserBackend(Backend):
    """See `Backend`. Starts its browser with the first sandbox, and a new one when that has died."""

    kind = "browser"

    def __init__(self, settings: BrowserSettings) -> None:
        self._settings = settings
        self._executable = find_chromium(settings.executable)
        self._sites: SiteServer | None = None
        self._chromium: Chromium | None = None
        self._starting = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the browser; None before the first sandbox."""
        return self._chromium.pid if self._chromium else None

    async def create(self) -> BrowserSandbox:
        return BrowserSandbox(await self.chromium(), self._settings)

    async def chromium(self) -> Chromium:
        """The running browser, started if need be."""
        async with self._starting:
            if self._chromium is not None and self._chromium.control.closed.is_set():
                dead, self._chromium = self._chromium, None
                await dead.close()
            if self._chromium is None:
                if self._sites is None:
                    self._sites = SiteServer()
                rules = f"--host-resolver-rules={self._sites.resolver_rules}"
                self._chromium = await start_chromium(
                    self._executable, (rules, *self._settings.arguments), self._settings.reset_deadline_s
                )
            return self._chromium

    async def close(self) -> None:
        async with self._starting:
            chromium, self._chromium = self._chromium, None
            sites, self._sites = self._sites, None
            try:
                if chromium is not None:
                    await chromium.close()
            finally:
                if sites is not None:
                    await asyncio.to_thread(sites.close)
