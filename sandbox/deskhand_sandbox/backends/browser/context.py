"""One clean browser context: its tabs, its downloads, and what is held down in it."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import uuid
from typing import Any

from playwright.async_api import BrowserContext, Dialog, Page, ProxySettings
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.cdp import CdpClosed, DialogOpened
from deskhand_sandbox.backends.browser.chromium import Chromium, close_unused
from deskhand_sandbox.backends.browser.clipboard import Clipboard
from deskhand_sandbox.backends.browser.downloads import Downloads
from deskhand_sandbox.backends.browser.input import PageInput
from deskhand_sandbox.backends.browser.network import NO_WAY_PAST, PolicyProxy
from deskhand_sandbox.backends.browser.network_page import show_blocked
from deskhand_sandbox.backends.browser.page_time import PageClock
from deskhand_sandbox.backends.browser.recording import Recorder
from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.backends.browser.tab import SETTLE_SCRIPT, Tab
from deskhand_sandbox.errors import UnsupportedCapability
from deskhand_sandbox.tools.policy import Policy

_NEW_WINDOW_S = 2.0
"""How long a window a page has opened may take to show up."""
_UNUSED_S = 5.0
"""How long who gave up a context waits for its end; a browser that answers later ends it by itself."""


class Context:
    """Made by `Context.open`; has seen no task before the one it is given to."""

    def __init__(
        self,
        chromium: Chromium,
        made: BrowserContext,
        settings: PageSettings,
        proxy: PolicyProxy | None,
        recorder: Recorder | None,
    ) -> None:
        self._chromium = chromium
        self._made = made
        self._settings = settings
        self._proxy = proxy
        self._recorder = recorder
        self._arrived: asyncio.Queue[Page] = asyncio.Queue()
        self.id: str = ""
        """Chromium's name of it."""
        self._tabs: dict[Page, Tab] = {}
        self._front: Page | None = None
        self._attended = False
        self.loaded: PageSettings | None = None
        """Settings whose start page its tab has loaded, and done no more with."""
        self.touched = False
        """Something was done to it that no page can do, nor undo."""
        self.history_length = 0
        """Of its tab when its start page had loaded."""
        self.files = chromium.profile / "deskhand" / uuid.uuid4().hex
        """Folder of what lands from and waits for its pages; need not exist."""
        self.downloads = Downloads(self.files / "downloads", settings.download_bytes, self._cancel_download)
        self.input = PageInput()
        self.clipboard = Clipboard(chromium.clipboard)
        self.clock = None if settings.page_speed is None else PageClock(settings.page_speed)
        made.on("page", self._arrived.put_nowait)
        made.on("dialog", self._dismiss_of_strangers)

    @classmethod
    async def open(
        cls, chromium: Chromium, settings: PageSettings, recorder: Recorder | None = None
    ) -> Context:
        """A context with one empty tab.

        Raises:
            PlaywrightError, CdpClosed: the browser failed.
        """
        policy = chromium.policy(settings.network, settings.named)
        proxy = await PolicyProxy.start(policy) if policy.holds else None
        try:
            made = await _make(chromium, settings, proxy, recorder)
        except BaseException:
            if proxy is not None:
                await proxy.close()
            raise
        context = cls(chromium, made, settings, proxy, recorder)
        try:
            await made.add_init_script((context.clock.script if context.clock else "") + SETTLE_SCRIPT)
            await context.clipboard.listen(made)
            if proxy is not None:
                await made.add_init_script(NO_WAY_PAST)
            await made.new_page()
            await context._adopt(await context._arrived.get())
            await context._receive_downloads()
            await context._permit("clipboard-write")
        except BaseException:
            with contextlib.suppress(PlaywrightError, CdpClosed):
                await context.close()
            raise
        return context

    async def close(self) -> None:
        """End its pages and take its files away."""
        tabs, self._tabs, self._front = list(self._tabs.values()), {}, None
        self._chromium.downloads.discard(self.downloads)
        self.clipboard.empty()
        try:
            for tab in tabs:
                await tab.session.close()
            await self._made.close()
        finally:
            if self._proxy is not None:
                await self._proxy.close()
            if self._recorder is not None:
                await self._recorder.finish()
            if self.files.exists():
                await asyncio.to_thread(shutil.rmtree, self.files, ignore_errors=True)

    def serves(self, settings: PageSettings) -> bool:
        """Whether it was made as a task with those settings needs it."""
        # a page that was loaded for another task might leave something of itself
        return self.made_for(settings) and self.loaded in (None, settings)

    def made_for(self, settings: PageSettings) -> bool:
        """Whether what it has for its whole life is what a task with those settings needs."""
        return not settings.has_a_past and _made_of(self._settings) == _made_of(settings)

    # ---- tabs

    @property
    def front(self) -> Tab:
        """The tab in front.

        Raises:
            CdpClosed: there is none.
        """
        return self._tabs[self.front_page]

    @property
    def front_page(self) -> Page:
        """The page in front, as Playwright knows it.

        Raises:
            CdpClosed: there is none.
        """
        if self._front is None:
            raise CdpClosed("no tab is open: reset the sandbox first")
        return self._front

    @property
    def pages(self) -> list[Page]:
        """Every tab, left to right."""
        return list(self._tabs)

    @property
    def untouched(self) -> bool:
        """It has one tab, no dialog stands in it, nothing was downloaded, and nobody else was at it."""
        alone = len(self._tabs) == 1 and not self.touched
        return alone and self.front.dialogs.text is None and self.downloads.none

    @property
    def crashed(self) -> bool:
        """A page of it has crashed."""
        return any(tab.crashed for tab in self._tabs.values())

    async def open_tab(self) -> None:
        """A new empty tab, in front."""
        await self._made.new_page()
        await self._adopt(await self._arrived.get())

    async def drop_empty_front(self) -> bool:
        """Close the tab in front whose only document became a download, as a browser with a screen does."""
        if self.front.frame_id not in self.downloads.frames:
            return False
        await self.close_tab(self.front_page)
        return True

    async def focus_tab(self, page: Page) -> None:
        """Bring a tab to the front."""
        await page.bring_to_front()
        self._front = page

    async def grant_permission(self, name: str) -> None:
        """Let pages use what they must ask for ("geolocation", "notifications", …); set-up of a task may."""
        self.touched = True
        await self._permit(name)

    async def _permit(self, name: str) -> None:
        # Playwright's own way takes back what was granted before
        named = {"permission": {"name": name}, "browserContextId": self.id}
        await self._chromium.control.send("Browser.setPermission", {**named, "setting": "granted"})

    async def close_tab(self, page: Page) -> None:
        """Close a tab; the last one leaves an empty tab behind."""
        await page.close()
        self.forget(page)

    def forget(self, page: Page) -> None:
        """A page has gone: what was in front before it comes to the front."""
        self._tabs.pop(page, None)
        if self._front is page:
            self._front = next(reversed(self._tabs), None)

    async def adopt_arrivals(self) -> None:
        """Take up the windows the page in front has opened."""
        if self._front is not None:
            opener = self.front
            while opener.opening > 0 and not self._asks:
                opener.opening -= 1
                if not await self._adopt_next() and self._asks:
                    # its dialog holds the window up: look out for it again once that is answered
                    opener.opening += 1
        while not self._arrived.empty() and not self._asks:
            await self._adopt_next()
        if self._front is None:
            await self.open_tab()

    async def _adopt_next(self) -> bool:
        """Take up the next window that appears; False when none came to be told of in time."""
        page: Page | None = None
        try:
            async with asyncio.timeout(_NEW_WINDOW_S):
                page = await self._arrived.get()
                await self._adopt(page)
        except (TimeoutError, DialogOpened):
            # held up by a dialog, its own or its opener's: its turn comes again
            if page is None:
                return False
            self._arrived.put_nowait(page)
        except (PlaywrightError, CdpClosed):
            # a window that closed at once, as one does whose document is a download
            if page is not None:
                self.forget(page)
            if self._chromium.control.closed.is_set():
                raise
        return True

    async def _adopt(self, page: Page) -> None:
        """Attach to a page that has appeared, and bring it to the front."""
        if page.is_closed():
            return
        tab = self._tabs.get(page) or await self._take_up(page)
        await tab.attach()
        if self._proxy is not None and self.policy.restricts:
            await show_blocked(tab.session, self._proxy)
        if self.clock is not None:
            await self.clock.take_over(tab)
        if self._recorder is not None:
            await self._recorder.watch(tab.session, lambda: page is self._front)
        self._front = page

    async def _take_up(self, page: Page) -> Tab:
        asking = await self._made.new_cdp_session(page)
        target: dict[str, Any] = (await asking.send("Target.getTargetInfo"))["targetInfo"]
        await asking.detach()
        session = await self._chromium.page_session(target["targetId"])
        tab = Tab(session, target["url"], target["targetId"])
        tab.dialogs.attended = self._attended
        tab.dialogs.on_opened = self._dialog_opened
        session.on("Input.dragIntercepted", self.input.drag_started)
        session.on("Page.downloadWillBegin", self.downloads.began)
        session.on("Page.downloadProgress", self.downloads.progressed)
        page.on("close", self.forget)
        self.id = str(target["browserContextId"])
        self._tabs[page] = tab
        return tab

    # ---- dialogs

    def attend_dialogs(self, *, attended: bool) -> None:
        """Leave dialogs open for somebody to answer, or dismiss each as it comes."""
        self._attended = attended
        for tab in self._tabs.values():
            tab.dialogs.attended = attended

    async def tab_with_dialog(self) -> Tab | None:
        """The tab whose dialog waits, brought to the front; None when no dialog is open."""
        for page, tab in self._tabs.items():
            if tab.dialogs.text is not None:
                if page is not self._front:
                    await self.focus_tab(page)
                return tab
        return None

    @property
    def _asks(self) -> bool:
        """A dialog waits for an answer."""
        return any(tab.dialogs.text is not None for tab in self._tabs.values())

    def _dialog_opened(self, why: DialogOpened) -> None:
        """Nobody is to wait for what a page does that may stand still with the one that asks."""
        for tab in self._tabs.values():
            tab.session.abandon(why)

    async def _dismiss_of_strangers(self, dialog: Dialog) -> None:
        """Dialogs of our tabs are the tabs' own matter; others come of windows nobody has taken up yet."""
        tab = None if dialog.page is None else self._tabs.get(dialog.page)
        if tab is None or not tab.dialogs.heard:
            with contextlib.suppress(PlaywrightError):
                await dialog.dismiss()

    @property
    def policy(self) -> Policy:
        """What of the network it may reach."""
        return self._chromium.policy(self._settings.network, self._settings.named)

    def refuses(self, url: str) -> str | None:
        """Host and port of an address that the network policy does not let it open; None when it may."""
        return None if self._proxy is None else self._proxy.refuses(url)

    async def set_speed(self, speed: float) -> None:
        """Let time go on for the pages `speed` times as fast as it does; 0 stops it.

        Raises:
            UnsupportedCapability: the task leaves time alone.
        """
        if self.clock is None:
            raise UnsupportedCapability("the task leaves its pages' time alone: give it a page_speed")
        await self.clock.set(self._tabs.values(), speed)

    def notes(self) -> list[str]:
        """What happened in the background that no picture shows, a line each; told once."""
        return [] if self._proxy is None else self._proxy.told()

    # ---- downloads

    async def _receive_downloads(self) -> None:
        await self._chromium.control.send(
            "Browser.setDownloadBehavior",
            {
                "behavior": "allowAndName",
                "browserContextId": self.id,
                "downloadPath": str(self.downloads.landing),
                "eventsEnabled": True,
            },
        )
        self._chromium.downloads.add(self.downloads)

    def _cancel_download(self, number: str) -> None:
        self._chromium.control.send("Browser.cancelDownload", {"guid": number, "browserContextId": self.id})


def _made_of(settings: PageSettings) -> tuple[object, ...]:
    """The settings that a context has for its whole life."""
    bounds = settings.network, settings.named
    return settings.viewport_px, settings.download_bytes, bounds, settings.page_speed


async def _make(
    chromium: Chromium, settings: PageSettings, proxy: PolicyProxy | None, recorder: Recorder | None
) -> BrowserContext:
    width, height = settings.viewport_px
    # by itself Chromium takes no proxy to this machine's own addresses; of those our sites need none
    past = ",".join(("<-loopback>", *(f"{host}:80" for host in chromium.sites)))
    way_out: ProxySettings | None = None if proxy is None else {"server": proxy.address, "bypass": past}
    making = asyncio.ensure_future(
        chromium.browser.new_context(
            viewport={"width": width, "height": height},
            accept_downloads=False,
            locale="en-US",
            timezone_id="UTC",
            proxy=way_out,
            record_har_path=None if recorder is None else recorder.har,
            record_har_content="embed",
        )
    )
    try:
        # shielded: the driver, once asked, makes it all the same
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait({close_unused(making)}, timeout=_UNUSED_S)
        raise
