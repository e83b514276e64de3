"""Find Chromium and start it by Playwright, with a port for direct sessions beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import Browser, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpSession, Payload
from deskhand_sandbox.backends.browser.clipboard import BrowserClipboard
from deskhand_sandbox.backends.browser.confined import confined_pid
from deskhand_sandbox.backends.browser.downloads import Downloads
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxTimeout
from deskhand_sandbox.tools.policy import Network, Policy

PROGRAMS = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
"""Tried in this order: the headless shell steps about twice as fast as the whole browser."""

ANSWER_S = 5.0
"""How long a browser whose page has run into a deadline may take to say that it lives."""
REMOVAL_TRIES = 100
REMOVAL_PAUSE_S = 0.02

MEND = "run `make setup`, or `apt-get install chromium`, or name one with DESKHAND_CHROMIUM"

DISABLED_FEATURES = (
    "CDPScreenshotNewSurface",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "IsolateSandboxedIframes",
    "LensOverlay",
    "MediaRouter",
    "OptimizationHints",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-smooth-scrolling",
    "--font-render-hinting=none",
    # tiles are drawn whole: what was drawn before leaves no trace in the last bit of a colour
    "--disable-partial-raster",
    # a page and its frames share a process: one session sees them all, whichever Chromium this is
    "--disable-site-isolation-trials",
    # replaces Playwright's list. CDPScreenshotNewSurface, which it turns on, makes a lone page's screenshots
    # quicker and those of eight pages together slower; the others keep pages from being changed on their way
    "--disable-features=" + ",".join(DISABLED_FEATURES),
    # UDP goes past every proxy. The headless shell knows the first name, the whole browser the second
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    # Playwright speaks by a pipe; the direct sessions use this port, which the kernel chooses
    "--remote-debugging-port=0",
    # lets Browser.getBrowserCommandLine tell the profile folder, where that port is written
    "--enable-automation",
)


def find_chromium(executable: str | None = None) -> str:
    """Path of the Chromium to use: the argument, then DESKHAND_CHROMIUM, then PATH.

    Raises:
        BackendMissing: there is none; says how to get one.
    """
    named = executable or os.environ.get("DESKHAND_CHROMIUM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise BackendMissing(f"no program at {named!r} (DESKHAND_CHROMIUM or `executable`): {MEND}")
        return found
    for program in PROGRAMS:
        found = shutil.which(program)
        if found is not None:
            return found
    raise BackendMissing(f"no Chromium on PATH: {MEND}")


@dataclass(kw_only=True, slots=True, eq=False)
class Chromium:
    """One running browser."""

    playwright: Playwright | None
    """The driver, where it drives no other browser."""
    browser: Browser
    control: CdpSession
    """A direct session to the browser itself; its end tells that the browser died."""
    endpoint: str
    """ws://127.0.0.1:PORT"""
    address: str
    """Websocket of the browser itself."""
    pid: int
    profile: Path
    """Its temporary profile folder, removed when it closes."""
    network: Network = "allow"
    """What pages of any task may reach."""
    sites: Mapping[str, int] = field(default_factory=dict[str, int])
    """Hosts of the backend's own sites -> their loopback ports."""
    calls: set[asyncio.Timeout] = field(default_factory=set[asyncio.Timeout])
    """Deadlines of the calls under way: they come at once when the browser dies."""
    downloads: set[Downloads] = field(default_factory=set[Downloads])
    """Of every context: the browser tells how each goes on, even when the page it came from has gone."""
    clipboard: BrowserClipboard = field(init=False)
    _begun: dict[str, Payload] = field(default_factory=dict[str, Payload])

    def __post_init__(self) -> None:
        self.clipboard = BrowserClipboard(self.browser)
        self.control.on_closed = self._end_calls
        self.control.on("Browser.downloadWillBegin", self._download_began)
        self.control.on("Browser.downloadProgress", self._download_progressed)

    def _download_began(self, event: Payload) -> None:
        self._begun[event["guid"]] = event

    def _download_progressed(self, event: Payload) -> None:
        begun = self._begun.get(event["guid"])
        if event["state"] != "inProgress":
            self._begun.pop(event["guid"], None)
        for each in self.downloads:
            if begun is not None and each.is_own(event):
                each.began(begun)
            each.progressed(event)

    def _end_calls(self) -> None:
        now = asyncio.get_running_loop().time()
        for each in self.calls:
            each.reschedule(now)

    def policy(self, asked: Network) -> Policy:
        """What pages of a task may reach that asks for so much."""
        return Policy(rules=(self.network, asked), sites=self.sites, neighbours=True)

    async def page_session(self, target_id: str) -> CdpSession:
        """A direct session to one page."""
        return await CdpSession.connect(f"{self.endpoint}/devtools/page/{target_id}")

    async def end_if_hung(self) -> None:
        """End a browser that answers nothing any more: it is replaced as one that died."""
        try:
            async with asyncio.timeout(ANSWER_S):
                await self.control.send("Browser.getVersion")
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            # nobody is to be given it in the meantime
            self.control.closed.set()
        except CdpClosed:
            pass  # it has ended by itself

    async def close(self) -> None:
        """End browser and profile, and the driver where it is its own; safe on a dead browser."""
        await self.control.close()
        try:
            await self.browser.close()
        except PlaywrightError:
            # it died before: the driver has already cleaned up
            pass
        finally:
            if self.playwright is not None:
                await self.playwright.stop()
            await remove_profile(self.profile)


async def remove_profile(folder: Path) -> None:
    """Remove a profile for good: one removal can lose to children that still write as they die."""
    for _ in range(REMOVAL_TRIES):
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        if not folder.exists():  # noqa: ASYNC240
            return
        await asyncio.sleep(REMOVAL_PAUSE_S)


async def start_chromium(
    executable: str, arguments: tuple[str, ...], deadline_s: float, *, driver: Playwright | None = None
) -> Chromium:
    """Start a browser and connect to it both ways.

    Args:
        driver: drives it beside others; None starts one for it alone.

    Raises:
        BackendMissing: the program cannot be run.
        SandboxTimeout: it did not come up in time.
    """
    playwright = driver or await async_playwright().start()
    try:
        try:
            async with asyncio.timeout(deadline_s):
                chromium = await _start(playwright, executable, (*ARGUMENTS, *arguments))
                chromium.playwright = None if driver else playwright
                return chromium
        except TimeoutError as error:
            raise SandboxTimeout(f"{executable} did not start within {deadline_s:g} s") from error
        except PlaywrightError as error:
            first = str(error).strip().splitlines()[0]
            raise BackendMissing(f"{executable} cannot be started ({first}): {MEND}") from error
    except BaseException:
        if driver is None:
            await playwright.stop()
        raise


async def _start(playwright: Playwright, executable: str, arguments: tuple[str, ...]) -> Chromium:
    browser = await playwright.chromium.launch(executable_path=executable, args=list(arguments))
    asking = await browser.new_browser_cdp_session()
    processes = (await asking.send("SystemInfo.getProcessInfo"))["processInfo"]
    pid = int(next(each["id"] for each in processes if each["type"] == "browser"))
    command_line = (await asking.send("Browser.getBrowserCommandLine"))["arguments"]
    await asking.detach()
    option = "--user-data-dir="
    profile = Path(next(each for each in command_line if each.startswith(option)).removeprefix(option))
    pid = await confined_pid(profile) or pid
    port, path = await debugging_port(profile, pid)
    endpoint = f"ws://127.0.0.1:{port}"
    control = await CdpSession.connect(f"{endpoint}{path}")
    return Chromium(
        playwright=playwright,
        browser=browser,
        control=control,
        endpoint=endpoint,
        address=f"{endpoint}{path}",
        pid=pid,
        profile=profile,
    )


async def debugging_port(profile: Path, pid: int) -> tuple[int, str]:
    """Port and path, once Chromium has written them next to its profile (it does so after it is up)."""
    file = profile / "DevToolsActivePort"
    while True:
        lines = file.read_text().splitlines() if file.exists() else []  # two lines on a local disk
        if len(lines) == 2:
            return int(lines[0]), lines[1]
        if not profile.exists():  # noqa: ASYNC240
            raise InfrastructureError(f"Chromium (process {pid}) ended while it started")
        await asyncio.sleep(0.005)
