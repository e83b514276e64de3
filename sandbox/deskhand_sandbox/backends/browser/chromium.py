"""Find Chromium and start it by Playwright, with a port for direct sessions beside it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import socket
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Playwright, async_playwright
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpSession, Payload
from deskhand_sandbox.backends.browser.clipboard import BrowserClipboard
from deskhand_sandbox.backends.browser.confined import confined_pid
from deskhand_sandbox.backends.browser.downloads import Downloads
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxTimeout
from deskhand_sandbox.isolation.limits import ControlGroup
from deskhand_sandbox.tools.policy import DEBUGGING_PORTS, Neighbours, Network, Policy

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
    # lets Browser.getBrowserCommandLine tell the profile folder
    "--enable-automation",
)
NO_DEBUGGING = ",".join(f"MAP *:{first // 100}?? ~NOTFOUND" for first in DEBUGGING_PORTS[::100])
"""For --host-resolver-rules: no page reaches the debugging port of any of our browsers, at whatever host. A
"?" stands for one digit or none: 620 to 624 and 6200 to 6249 are closed as well."""


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
    group: ControlGroup | None = None
    """What holds it to its memory; ends with it."""
    network: Network = "allow"
    """What pages of any task may reach."""
    neighbours: Neighbours = "named"
    """Whether they reach this machine and its networks."""
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

    def policy(self, asked: Network, named: tuple[str, ...]) -> Policy:
        """What pages of a task may reach.

        Args:
            asked: what it asks for.
            named: hosts it begins at.
        """
        rules = (self.network, asked)
        return Policy(rules=rules, sites=self.sites, neighbours=self.neighbours, trusted=named)

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
            if self.group is not None:
                await asyncio.to_thread(self.group.remove)
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
    # Playwright speaks by a pipe; the direct sessions use the port
    with reserved_port() as port:
        args = [*arguments, f"--remote-debugging-port={port}"]
        # shielded: the driver, which others may share, launches it all the same
        launching = asyncio.ensure_future(playwright.chromium.launch(executable_path=executable, args=args))
        try:
            return await _connect(playwright, await asyncio.shield(launching), port)
        except BaseException:
            close_unused(launching)
            raise


def close_unused(making: asyncio.Future[Browser] | asyncio.Future[BrowserContext]) -> asyncio.Task[None]:
    """Close a browser or a context that nobody came to use, once it is made; failures are nobody's."""

    async def close() -> None:
        await (await making).close()

    closing = asyncio.create_task(close(), name="close what is unused")
    # its driver may have ended with it
    closing.add_done_callback(lambda task: task.cancelled() or task.exception())
    return closing


async def _connect(playwright: Playwright, browser: Browser, port: int) -> Chromium:
    asking = await browser.new_browser_cdp_session()
    processes = (await asking.send("SystemInfo.getProcessInfo"))["processInfo"]
    pid = int(next(each["id"] for each in processes if each["type"] == "browser"))
    command_line = (await asking.send("Browser.getBrowserCommandLine"))["arguments"]
    await asking.detach()
    option = "--user-data-dir="
    profile = Path(next(each for each in command_line if each.startswith(option)).removeprefix(option))
    pid = await confined_pid(profile) or pid
    address = await websocket_of(port, profile)
    return Chromium(
        playwright=playwright,
        browser=browser,
        control=await CdpSession.connect(address),
        endpoint=f"ws://127.0.0.1:{port}",
        address=address,
        pid=pid,
        profile=profile,
    )


@contextlib.contextmanager
def reserved_port() -> Generator[int]:
    """One of DEBUGGING_PORTS that, meanwhile, nobody takes but the Chromium that is told of it.

    Raises:
        InfrastructureError: all are taken.
    """
    for port in random.SystemRandom().sample(DEBUGGING_PORTS, len(DEBUGGING_PORTS)):
        with socket.socket() as held:
            try:
                held.bind(("127.0.0.1", port))
            except OSError:
                continue
            # Chromium shares addresses that others share; who reserves one does not
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            yield port
            return
    ports = f"{DEBUGGING_PORTS[0]} to {DEBUGGING_PORTS[-1]}"
    raise InfrastructureError(f"Chromium cannot be started: every port from {ports} is taken")


async def websocket_of(port: int, profile: Path) -> str:
    """Address of a browser's own websocket, once it listens (it does so after it is up).

    Raises:
        InfrastructureError: it has ended, and its profile with it.
    """
    while True:
        with contextlib.suppress(OSError, HTTPException):
            return await asyncio.to_thread(_told_websocket, port)
        if not profile.exists():  # noqa: ASYNC240
            raise InfrastructureError("Chromium ended while it started")
        await asyncio.sleep(0.005)


def _told_websocket(port: int) -> str:
    with contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=ANSWER_S)) as asking:
        asking.request("GET", "/json/version")
        return json.load(asking.getresponse())["webSocketDebuggerUrl"]
