"""The time pages live in: stopped, or running at any speed, by `page_time.js` in every document.

An init script and not Chromium's virtual time: that one never goes back to real time, runs ahead as fast as
it can between its stops, and leaves animation frames and style animations to the real clock. Style and web
animations go by the protocol's playback rate. Web workers, media and events' time stamps keep real time.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from importlib.resources import files

from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.types import JsonValue

_SCRIPT = files("deskhand_sandbox.backends.browser").joinpath("page_time.js").read_text()
_SET = "globalThis.__deskhandTime?.set(%s)"
_LATER = "globalThis.__deskhandTime ? __deskhandTime.begin(%s) : (globalThis.__deskhandStart = %s)"
"""For documents to come: before or after the script itself, whichever runs first."""


class PageClock:
    """One context's clock, which all its documents share: a date goes on from page to page."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._real_ms = self._virtual_ms = time.time() * 1000
        self._scripts: dict[Tab, str] = {}

    @property
    def script(self) -> str:
        """Runs before a page's own scripts, and before the script that watches for stillness."""
        return _SCRIPT.replace("DESKHAND_START", self._start())

    async def set(self, tabs: Iterable[Tab], speed: float) -> None:
        """Let time run `speed` times as fast as it really does; 0 stops it."""
        tabs, told = list(tabs), list[JsonValue]()
        for tab in tabs:
            told.append(await tab.evaluate(f"{_SET % json.dumps(speed)} ?? null"))
        now = time.time() * 1000
        self._virtual_ms += (now - self._real_ms) * self.speed
        self._real_ms, self.speed = now, speed
        match told:
            # what the page's date was when it heard of it: a message's way is long on a fast clock
            case [[int() | float() as shown, int() | float() as real], *_]:
                self._virtual_ms, self._real_ms = float(shown), float(real)
            case _:
                pass
        await asyncio.gather(*(self.take_over(tab) for tab in tabs))

    async def take_over(self, tab: Tab) -> None:
        """Bring a tab, and every document that will be in it, to the clock."""
        page = tab.session
        later = _LATER % (self._start(), self._start())
        old = self._scripts.pop(tab, None)
        if old is not None:
            await page.send("Page.removeScriptToEvaluateOnNewDocument", {"identifier": old})
        added = await page.send("Page.addScriptToEvaluateOnNewDocument", {"source": later})
        self._scripts[tab] = added["identifier"]
        await tab.evaluate_everywhere(_SET % json.dumps(self.speed))
        await page.send("Animation.enable")
        await page.send("Animation.setPlaybackRate", {"playbackRate": self.speed})

    def _start(self) -> str:
        return json.dumps({"speed": self.speed, "real": self._real_ms, "virtual": self._virtual_ms})
