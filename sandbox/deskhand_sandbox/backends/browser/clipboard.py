"""The clipboard: a browser has one, in which each context finds what was cut or copied in itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from playwright.async_api import Browser, BrowserContext, CDPSession, Page
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.errors import SandboxError

_TELL = """for (const name of ['copy', 'cut']) {
  addEventListener(name, () => {
    const after = new MessageChannel();
    after.port1.onmessage = () => __deskhandCopied();
    after.port2.postMessage(0);
  }, true);
}
for (const name of globalThis.Clipboard ? ['write', 'writeText'] : []) {
  const written = Clipboard.prototype[name];
  Clipboard.prototype[name] = function (...given) {
    const done = written.apply(this, given);
    done.then(() => __deskhandCopied(), () => {});
    return done;
  };
}"""
"""Runs before a page's own scripts: a page may copy by a button of its own, which no key tells of."""
_BEGIN = """() => {
  addEventListener('paste', (event) => {
    event.preventDefault();
    const kinds = event.clipboardData.types.filter((kind) => kind !== 'Files');
    globalThis.held = Object.fromEntries(kinds.map((kind) => [kind, event.clipboardData.getData(kind)]));
  });
  addEventListener('copy', (event) => {
    event.preventDefault();
    for (const [kind, data] of Object.entries(held)) event.clipboardData.setData(kind, data);
  });
}"""
_PUT = "(held) => { globalThis.held = held; document.execCommand('copy'); }"
_EMPTY = {"text/plain": ""}
"""A copy of nothing at all would leave what was there."""


class BrowserClipboard:
    """The one that is there, reached by the keys of a page that nobody sees; made when it is first needed."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._page: tuple[Page, CDPSession] | None = None
        self.lock = asyncio.Lock()
        """Held by who puts something in or takes it out."""
        self.turns = 0
        """How often something was put in."""

    async def put(self, held: dict[str, str]) -> None:
        """Have it hold that and nothing else: kind of content -> content."""
        page, _ = await self._open()
        self.turns += 1
        await page.evaluate(_PUT, held or _EMPTY)

    async def take(self) -> dict[str, str]:
        """What it holds, but for files and pictures."""
        page, keys = await self._open()
        await keys.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", "commands": ["paste"]})
        return await page.evaluate("held")

    async def _open(self) -> tuple[Page, CDPSession]:
        if self._page is None:
            context = await self._browser.new_context()
            page = await context.new_page()
            await page.evaluate(_BEGIN)
            self._page = page, await context.new_cdp_session(page)
        return self._page


class Clipboard:
    """What a context has cut or copied."""

    def __init__(self, shared: BrowserClipboard) -> None:
        self._shared = shared
        self._held: dict[str, str] = {}
        self._taking: set[asyncio.Task[None]] = set()
        """Of each time a page told that it copied something."""

    @contextlib.asynccontextmanager
    async def at_hand(self) -> AsyncGenerator[None]:
        """Keys may cut, copy and paste meanwhile, and those of other contexts wait."""
        async with self._shared.lock:
            await self._shared.put(self._held)
            try:
                yield
            except SandboxError:
                # as of a dialog; where a deadline ends it, the browser may answer nothing any more
                self._held = await self._taken()
                raise
            self._held = await self._taken()

    async def listen(self, made: BrowserContext) -> None:
        """Keep what pages of a context, which has none as yet, copy by themselves."""
        await made.expose_binding("__deskhandCopied", self._copied)
        await made.add_init_script(_TELL)

    def empty(self) -> None:
        """Forget what was copied."""
        self._held = {}
        for taking in self._taking:
            taking.cancel()

    def _copied(self, _: object) -> None:
        taking = asyncio.create_task(self._keep(self._shared.turns), name="keep what was copied")
        self._taking.add(taking)
        taking.add_done_callback(self._taking.discard)

    async def _keep(self, turn: int) -> None:
        async with self._shared.lock:
            # else another context has put its own in by now, and this one's is lost
            if turn == self._shared.turns:
                with contextlib.suppress(PlaywrightError):
                    copied = await self._taken()
                    # nothing is left where it was by keys, which have taken it already
                    self._held = copied if any(copied.values()) else self._held

    async def _taken(self) -> dict[str, str]:
        """What was copied, which is not left there: commands at an endpoint paste what is."""
        held = await self._shared.take()
        await self._shared.put({})
        return held
