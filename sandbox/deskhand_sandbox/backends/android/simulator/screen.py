"""The simulated device's screen: a page of a mobile Chromium, touched by DevTools messages."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, TypeAlias, cast

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.cdp import CdpSession, Payload
from deskhand_sandbox.backends.browser.chromium import Chromium
from deskhand_sandbox.backends.browser.input import PageInput
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.types import JsonValue, Point

Answer: TypeAlias = Callable[[str, Mapping[str, Any]], JsonValue]
"""Answers what the page asks for, by the name of the question and its arguments."""

FRAME_S = 1 / 60
APPS = ("contacts", "notes", "settings", "clock", "messages", "gallery")


@cache
def document() -> str:
    """The page, in one piece: it loads nothing."""
    web = files("deskhand_sandbox.backends.android.simulator").joinpath("web")
    scripts = ["device.js", "tree.js", *(f"apps/{name}.js" for name in APPS)]
    script = "\n".join(web.joinpath(name).read_text() for name in scripts)
    page = web.joinpath("device.html").read_text()
    return page.replace("/*STYLE*/", web.joinpath("device.css").read_text()).replace("/*SCRIPT*/", script)


class Screen:
    """Made by `Screen.start`. Every touch and key returns once the screen shows what came of it."""

    def __init__(self, context: BrowserContext, session: CdpSession, answer: Answer) -> None:
        self._context = context
        self._session = session
        self._answer = answer
        self._input = PageInput()
        self._down: Point | None = None
        session.on("Runtime.bindingCalled", self._asked)

    @classmethod
    async def start(cls, chromium: Chromium, size_px: tuple[int, int], answer: Answer) -> Screen:
        """A page in a context of its own.

        Raises:
            InfrastructureError: the browser is gone.
        """
        width, height = size_px
        try:
            context = await chromium.browser.new_context(
                viewport={"width": width, "height": height},
                has_touch=True,
                offline=True,
                locale="en-US",
                timezone_id="UTC",
            )
            page = await context.new_page()
            asking = await context.new_cdp_session(page)
            target: dict[str, Any] = (await asking.send("Target.getTargetInfo"))["targetInfo"]
            session = await chromium.page_session(target["targetId"])
            screen = cls(context, session, answer)
            await asyncio.gather(
                session.send("Runtime.enable"), session.send("Runtime.addBinding", {"name": "simulator"})
            )
            await page.set_content(document())
        except PlaywrightError as error:
            first = str(error).strip().splitlines()[0]
            raise InfrastructureError(f"the simulated screen did not start: {first}") from error
        return screen

    async def close(self) -> None:
        """Close the page; safe on a dead browser."""
        await self._session.close()
        try:
            await self._context.close()
        except PlaywrightError:
            return  # the browser is gone, and the page with it

    # ---- the page's own words

    async def call(self, name: str, *arguments: JsonValue) -> JsonValue:
        """Call a function of the page's `device`.

        Raises:
            CdpClosed: the page is gone.
            InfrastructureError: the page failed.
        """
        words = ", ".join(json.dumps(each) for each in arguments)
        answer = await self._session.send(
            "Runtime.evaluate",
            {"expression": f"device.{name}({words})", "awaitPromise": True, "returnByValue": True},
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            said = details.get("exception", {}).get("description") or details.get("text", "")
            raise InfrastructureError(f"the simulated screen failed in {name}: {said.splitlines()[0]}")
        return cast("JsonValue", answer["result"].get("value"))

    def _asked(self, event: Payload) -> None:
        """The page asks for rows; the answer follows at once."""
        request: dict[str, Any] = json.loads(event["payload"])
        value, failed = None, None
        try:
            value = self._answer(request["method"], request["args"])
        except ValueError as error:
            failed = str(error)
        words = ", ".join(json.dumps(each) for each in (request["id"], value, failed))
        self._session.send("Runtime.evaluate", {"expression": f"device.answer({words})"})

    # ---- fingers and keys

    async def touch(self, path: list[Point], duration_ms: float) -> None:
        """Put a finger down, draw it along the path in the time given, and lift it."""
        await self.finger("DOWN", path[0])
        moves = _moves(path, duration_ms)
        if not moves:
            await asyncio.sleep(duration_ms / 1000)
        for point in moves:
            await self.finger("MOVE", point)
            await asyncio.sleep(duration_ms / 1000 / len(moves))
        await self.finger("UP", path[-1])

    async def finger(self, what: str, at: Point) -> None:
        """One event of the one finger: DOWN, MOVE, UP or CANCEL."""
        kind = {"DOWN": "touchStart", "MOVE": "touchMove", "UP": "touchEnd", "CANCEL": "touchCancel"}[what]
        points = [] if what in ("UP", "CANCEL") else [{"x": at[0], "y": at[1]}]
        if (what == "DOWN") == (self._down is not None):
            return  # a second finger, or one that is not there
        self._down = None if what in ("UP", "CANCEL") else at
        await self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        if what != "MOVE":
            await self.call("idle")

    async def press(self, names: list[str]) -> None:
        """Press keys together, by their W3C names."""
        await self._input.press_keys(self._session, names)
        await self.call("idle")

    async def insert(self, text: str) -> None:
        """Put text where the focus is, as a keyboard app does."""
        await self._session.send("Input.insertText", {"text": text})
        await self.call("idle")

    async def type(self, text: str) -> None:
        """Type characters by their keys."""
        await self._input.type_text(self._session, text)
        await self.call("idle")

    # ---- what it shows

    async def resize(self, size_px: tuple[int, int]) -> None:
        """Turn the screen."""
        width, height = size_px
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self._session.send("Emulation.setDeviceMetricsOverride", metrics)
        await self.call("idle")

    async def png(self) -> bytes:
        """What it shows now."""
        await self.call("idle")
        wanted = {"format": "png", "optimizeForSpeed": True}
        answer = await self._session.send("Page.captureScreenshot", wanted)
        return base64.b64decode(answer["data"])

    async def tree(self) -> dict[str, Any]:
        """What is on it: nested records as `tree.js` makes them."""
        await self.call("idle")
        found = await self.call("tree")
        assert isinstance(found, dict)
        return found


def _moves(path: list[Point], duration_ms: float) -> list[Point]:
    """Points between, evenly in time; none for a finger that stays where it is."""
    if len(set(path)) == 1:
        return []
    steps = max(2, min(60, round(duration_ms / 1000 / FRAME_S))) // (len(path) - 1) or 1
    return [
        (round(x0 + (x1 - x0) * step / steps), round(y0 + (y1 - y0) * step / steps))
        for (x0, y0), (x1, y1) in pairwise(path)
        for step in range(1, steps + 1)
    ]
