"""One tab: what is loading in it, when it stands still, what it shows. Knows nothing of tasks."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import Container
from importlib.resources import files
from typing import cast

from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpError, CdpSession, Payload
from deskhand_sandbox.backends.browser.dialogs import Dialogs
from deskhand_sandbox.backends.browser.frames import Frames
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import JsonValue

SETTLE_SCRIPT = files("deskhand_sandbox.backends.browser").joinpath("settle.js").read_text()
"""Runs before a page's own scripts; gives the page `__deskhand.settle(limit_ms)`."""

_STILL = "globalThis.__deskhand ? __deskhand.settle(LIMIT) : document.readyState === 'complete'"
_LOADED = "document.readyState === 'complete'"
_LONG_LIVED = frozenset({"EventSource", "WebSocket", "Ping", "Media"})
"""Requests that are not waited for: they have no end of their own."""
_RECHECK_S = 0.05
_UNREACHABLE = "chrome-error:"


class Tab:
    """A page through its direct session."""

    def __init__(self, session: CdpSession, url: str, frame_id: str = "") -> None:
        self.session = session
        self.frame_id = frame_id
        """Of the page's own frame."""
        self.url = url
        self.crashed = False
        self.opening = 0
        """Windows this page has opened that nobody has adopted yet."""
        self._requests: set[str] = set()
        self._loading: set[str] = set()
        self._changed = asyncio.Event()
        self._loaded_anew = asyncio.Event()
        self.dialogs = Dialogs(session, self._ended)
        self.frames = Frames(session)
        session.on_closed = self._ended
        listen = session.on
        listen("Network.requestWillBeSent", self._request_began)
        listen("Network.loadingFinished", self._request_ended)
        listen("Network.loadingFailed", self._request_ended)
        listen("Page.frameRequestedNavigation", self._navigation_began)
        listen("Page.frameStartedLoading", self._navigation_began)
        listen("Page.frameStoppedLoading", self._navigation_ended)
        listen("Page.frameDetached", self._frame_gone)
        listen("Page.frameNavigated", self._navigated)
        listen("Page.navigatedWithinDocument", self._moved_within)
        listen("Page.windowOpen", self._window_opened)
        listen("Inspector.targetCrashed", self._crashed)

    async def attach(self) -> None:
        """Begin to hear what happens in the page; may be called again when a dialog broke it off."""
        await self.session.send("Page.enable")
        self.dialogs.heard = True
        if not self.url:  # its first document may have come unheard
            self.url = (await self.session.send("Target.getTargetInfo"))["targetInfo"]["url"]
        await asyncio.gather(
            *(self.session.send(method) for method in ("Network.enable", "Inspector.enable")),
            self.session.send("Input.setInterceptDrags", {"enabled": True}),
        )

    async def evaluate(self, expression: str) -> JsonValue:
        """Value of an expression in the page; a promise is awaited.

        Raises:
            VerifierError: it threw, or its value is no JSON.
            DialogOpened: a dialog waits for an answer.
            CdpClosed: the tab is gone.
        """
        try:
            answer = await self._evaluate(expression)
        except CdpError as error:
            raise VerifierError(f"the page could not evaluate {_shorten(expression)}: {error}") from error
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details.get("text", "an exception")
            raise VerifierError(f"{_shorten(expression)} failed in the page: {text.splitlines()[0]}")
        return cast("JsonValue", answer["result"].get("value"))

    async def load(self, limit_ms: float) -> bool:
        """Wait until the document and what it names are loaded; False when `limit_ms` came first."""
        return await self._wait_until(_LOADED, limit_ms)

    async def settle(self, limit_ms: float) -> bool:
        """Wait until nothing is under way; False when `limit_ms` came first.

        Still means: no request in flight, no navigation, the document complete, no finite animation, no timer
        about to fire, and loops (intervals, animation frames) that change nothing; in frames too.

        Raises:
            DialogOpened: a dialog waits for an answer.
        """
        return await self._wait_until(_STILL, limit_ms)

    async def _wait_until(self, question: str, limit_ms: float) -> bool:
        """Ask the page `question` (true or false, LIMIT in milliseconds) while nothing is loading in it."""
        deadline = time.perf_counter() + limit_ms / 1000
        while (left := deadline - time.perf_counter()) > 0:
            self.dialogs.refuse_when_open()
            self._changed.clear()
            if self._requests or self._loading:
                await self._change(left)
            elif await self._ask(question.replace("LIMIT", f"{left * 1000:.1f}"), left) is not True:
                await self._change(min(left, _RECHECK_S))
            elif not self._requests and not self._loading:
                return True
        return False

    async def _ask(self, question: str, within_s: float) -> object:
        """The page's answer, and that of frames it cannot see into; None when they went away under it, and
        when none came in time."""
        try:
            async with asyncio.timeout(within_s):
                if not self.frames.unseen:
                    return (await self._evaluate(question))["result"].get("value")
                asked = [self._evaluate(question), *await self.frames.ask(question)]
                answers = [each["result"].get("value") for each in await asyncio.gather(*asked)]
                return next((each for each in answers if each is not True), True)
        except (CdpError, TimeoutError):
            return None

    async def answers(self, limit_ms: float) -> bool:
        """Whether the page answers by then: one that waits for the next page to come answers nothing.

        Raises:
            DialogOpened: a dialog waits for an answer.
        """
        if self._requests or self._loading:
            try:
                async with asyncio.timeout(limit_ms / 1000):
                    await self._evaluate("0")
            except TimeoutError:
                return False
            except CdpError:
                pass  # the next page has come
        return True

    async def stop_loading(self) -> None:
        """Stay on the page there is."""
        await self.session.send("Page.stopLoading")

    async def shows_something(self, unless: Container[str], limit_ms: float) -> bool:
        """Wait for the first document of a new tab: there is nothing to take a picture of before.

        Args:
            unless: frame ids that no document comes to.

        Returns:
            False when none came.

        Raises:
            DialogOpened: a dialog waits for an answer.
        """
        deadline = time.perf_counter() + limit_ms / 1000
        while not self.url:
            self.dialogs.refuse_when_open()
            left = deadline - time.perf_counter()
            if left <= 0 or self.frame_id in unless:
                return False
            self._changed.clear()
            await self._change(min(left, _RECHECK_S))
        return True

    async def screenshot(self, image_format: str, quality: int) -> bytes:
        """What the tab shows now, encoded."""
        wanted: dict[str, object] = {"format": image_format, "optimizeForSpeed": True}
        if image_format != "png":
            wanted["quality"] = quality
        answer = await self.session.send("Page.captureScreenshot", wanted)
        return base64.b64decode(answer["data"])

    async def fit(self, size_px: tuple[int, int]) -> None:
        """Give the page that width and height for good, whatever it or who opened it has asked for."""
        width, height = size_px
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.session.send("Emulation.setDeviceMetricsOverride", metrics)

    async def navigate(self, url: str) -> str | None:
        """Begin to load an address; the reason when it cannot be."""
        answer = await self.session.send("Page.navigate", {"url": url})
        return cast("str | None", answer.get("errorText"))

    async def reload(self) -> None:
        """Load the page anew as a person would, fields and scroll position kept; returns once it is gone."""
        self._loaded_anew.clear()
        await self.session.send("Page.reload")
        await self._gone()

    async def replace(self, url: str) -> str | None:
        """Load an address in place of the page, nothing kept, not in the history either; the reason when it
        cannot be."""
        self._loaded_anew.clear()
        if url == self.url:
            refused = await self.navigate(url)
            if refused is not None:
                return refused
        else:
            await self.evaluate(f"location.replace({json.dumps(url)})")
        await self._gone()
        return "it cannot be reached" if self.url.startswith(_UNREACHABLE) else None

    async def _gone(self) -> None:
        await self._loaded_anew.wait()
        self.dialogs.refuse_when_open()
        if self.session.closed.is_set():
            raise CdpClosed("the tab ended while it was loaded anew")

    async def go(self, steps: int) -> bool:
        """Move in the tab's history; False when there is nothing that way."""
        history = await self.session.send("Page.getNavigationHistory")
        wanted = history["currentIndex"] + steps
        if not 0 <= wanted < len(history["entries"]):
            return False
        entry = history["entries"][wanted]["id"]
        await self.session.send("Page.navigateToHistoryEntry", {"entryId": entry})
        return True

    async def frame(self, limit_ms: float) -> None:
        """Wait until the page has drawn twice, or `limit_ms` came first: what the compositor did by itself is
        then seen by the page."""
        # it may go away, as one does that hears of a scroll
        await self._ask("globalThis.__deskhand?.frame()", limit_ms / 1000)

    async def evaluate_everywhere(self, expression: str) -> None:
        """Evaluate an expression in the page and in every frame of it, for what it does there."""
        with contextlib.suppress(CdpError):  # a frame went away, and what it was to do with it
            asked = [self._evaluate(expression)]
            if self.frames.ids:
                asked += await self.frames.ask(expression)
            await asyncio.gather(*asked)

    def _evaluate(self, expression: str) -> asyncio.Future[Payload]:
        self.dialogs.refuse_when_open()
        return self.session.send(
            "Runtime.evaluate",
            {"expression": expression, "returnByValue": True, "awaitPromise": True, "userGesture": True},
        )

    async def _change(self, within_s: float) -> None:
        try:
            async with asyncio.timeout(within_s):
                await self._changed.wait()
        except TimeoutError:
            return

    def _ended(self) -> None:
        self._changed.set()
        self._loaded_anew.set()

    def _request_began(self, event: Payload) -> None:
        # the end of a worker's own script, which is no document's, is told to that worker alone
        of_a_worker = event.get("type") == "Script" and not event.get("loaderId")
        if event.get("type") not in _LONG_LIVED and not of_a_worker:
            self._requests.add(event["requestId"])

    def _request_ended(self, event: Payload) -> None:
        self._requests.discard(event["requestId"])
        self._changed.set()

    def _navigation_began(self, event: Payload) -> None:
        # a download or a new tab leaves this page as it is
        if event.get("disposition", "currentTab") == "currentTab":
            self._loading.add(event["frameId"])

    def _navigation_ended(self, event: Payload) -> None:
        self._loading.discard(event["frameId"])
        self._changed.set()

    def _frame_gone(self, event: Payload) -> None:
        self.frames.gone(event["frameId"])
        self._navigation_ended(event)

    def _navigated(self, event: Payload) -> None:
        frame = event["frame"]
        self.frames.navigated(frame)
        if "parentId" not in frame:
            self.url = frame["url"] + frame.get("urlFragment", "")
            # requests of the page before are nobody's any more
            self._requests.clear()
            self._loaded_anew.set()
        self._changed.set()

    def _moved_within(self, event: Payload) -> None:
        self._loading.discard(event["frameId"])
        self.url = event["url"]
        self._changed.set()

    def _window_opened(self, _: Payload) -> None:
        self.opening += 1

    def _crashed(self, _: Payload) -> None:
        self.crashed = True
        self.session.abandon(CdpClosed("the page crashed"))
        self._ended()


def _shorten(expression: str) -> str:
    line = " ".join(expression.split())
    return json.dumps(line if len(line) <= 80 else f"{line[:77]}...")
