"""Start states: brought up by the cheapest way that leaves nothing of the task before."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.cdp import CdpClosed, DialogOpened
from deskhand_sandbox.backends.browser.chromium import Chromium
from deskhand_sandbox.backends.browser.context import Context
from deskhand_sandbox.backends.browser.recording import Recorder
from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.errors import InfrastructureError, InvalidTask, SandboxError
from deskhand_sandbox.types import JsonValue

_CLOSE_S = 5.0
"""How long the context made in advance may take to be finished before it is abandoned."""
_UNMARKED = """(() => {
  try {
    return location.href === %s && history.length === %d && !document.cookie
      && !localStorage.length && !sessionStorage.length;
  } catch { return false; }
})()"""
"""True while a task has left nothing outside its page."""
_RESTART = """(async () => {
  if (!(%s)) return null;
  getSelection()?.removeAllRanges();
  document.activeElement?.blur?.();
  scrollTo(0, 0);
  return [await (%s)(%d)];
})()"""


class StartStates:
    """The context of the task under way, and the clean one that the next task is given.

    The next one is made in the background while an agent works, from the second time on that one was needed:
    a sandbox that works one page alone never pays for it.
    """

    def __init__(self, chromium: Chromium) -> None:
        self._chromium = chromium
        self._settings = PageSettings()
        self._swaps = 0
        self._again = False
        """The last two tasks had the same settings: likely, so will the next."""
        self._left: list[Context] = []
        """Contexts of earlier tasks, to be closed."""
        self._next: asyncio.Task[Context | None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self.context: Context | None = None

    async def begin(self, settings: PageSettings, seed: int, recorder: Recorder | None) -> str:
        """Bring up a start state; the instruction its page has drawn, empty where it draws none."""
        context = self.context
        if context is not None and context.untouched and context.made_for(settings):
            drawn = await self._stay(context, settings, seed)
            if drawn is not None:
                self._settings = settings
                return drawn
        context = await self._swap(settings, recorder)
        if context.loaded != settings:
            context.attend_dialogs(attended=settings.attends_dialogs_at_load)
            await load(context, settings)
        return await draw(context, settings, seed)

    def look_ahead(self) -> None:
        """Close what is left of earlier tasks, and make the next context, in the background."""
        if self._left:
            left, self._left = self._left, []
            self._closing = asyncio.create_task(_close(left, after=self._closing), name="close contexts")
        if self._next is None and self._swaps > 1 and not self._settings.has_a_past:
            self._next = asyncio.create_task(self._make_next(self._settings), name="make the next context")

    async def close(self) -> None:
        """Close every context."""
        if self.context is not None:
            self._left.append(self.context)
            self.context = None
        spare = await self._finished()
        if spare is not None:
            self._left.append(spare)
        self._swaps = 0
        self.look_ahead()
        if self._closing is not None:
            await asyncio.shield(self._closing)

    async def _stay(self, context: Context, settings: PageSettings, seed: int) -> str | None:
        """The page that is there, drawn or loaded anew, or another of its site in its place; None when that
        might leave something of before.

        Only of pages that vouch for it, or that are our own, is it known what they can leave behind.
        """
        before, same = self._settings, settings == self._settings
        if not same and (settings.site is None or settings.site != before.site):
            return None
        context.attend_dialogs(attended=False)
        context.clipboard.empty()
        tab = context.front
        await context.input.let_go_of_all(tab.session)
        unmarked = _UNMARKED % (json.dumps(before.address), context.history_length)
        if same and settings.restartable and settings.start and settings.address.startswith("http"):
            script = _RESTART % (unmarked, settings.start, seed)
            _, value = await asyncio.gather(context.input.move(tab.session, (0, 0)), tab.evaluate(script))
            return _instruction(value[0]) if isinstance(value, list) else None
        if settings.site is None or await tab.evaluate(unmarked) is not True:
            return None
        # a reload would keep where the page was scrolled to and what its fields hold
        context.attend_dialogs(attended=settings.attends_dialogs_at_load)
        _loads(settings, await tab.replace(settings.address))
        await arrive(context, tab, settings)
        return await draw(context, settings, seed)

    async def _swap(self, settings: PageSettings, recorder: Recorder | None) -> Context:
        """A context that has never seen another task."""
        if self.context is not None:
            self._left.append(self.context)
            self.context = None
        spare = await self._finished()
        if spare is not None and not spare.serves(settings):
            self._left.append(spare)
            spare = None
        self._swaps += 1
        self._again = settings == self._settings
        self._settings = settings
        self.context = spare or await Context.open(self._chromium, settings, recorder)
        return self.context

    async def _finished(self) -> Context | None:
        """The context made in advance; None when there is none, or it could not be made."""
        making, self._next = self._next, None
        if making is None:
            return None
        try:
            async with asyncio.timeout(_CLOSE_S):
                return await making
        except TimeoutError:
            return None

    async def _make_next(self, settings: PageSettings) -> Context | None:
        if self._closing is not None:
            # what is given up here is the next context, not the end of those before
            await asyncio.wait({self._closing})
        # what is wrong with it the reset says that needs it: the next task may be another
        with contextlib.suppress(PlaywrightError, SandboxError):
            context = await Context.open(self._chromium, settings)
            if not self._again or (settings.site is None and not settings.preload):
                return context
            try:
                await load(context, settings)
            except BaseException:
                await context.close()
                raise
            context.loaded = settings
            return context
        return None


async def load(context: Context, settings: PageSettings) -> None:
    """Open the start page in a context that has shown none."""
    tab = context.front
    refused = context.refuses(settings.address)
    if refused is not None:
        raise InvalidTask(f"the start page {settings.address} is outside the network policy: allow {refused}")
    _loads(settings, await tab.navigate(settings.address))
    await arrive(context, tab, settings)


async def arrive(context: Context, tab: Tab, settings: PageSettings) -> None:
    """Wait for a start page that loads, until it may be begun."""
    context.history_length = -1
    # a dialog that somebody is to answer stands in the way of a page that has no more to do
    with contextlib.suppress(DialogOpened):
        if not await tab.load(settings.load_deadline_s * 1000):
            raise InfrastructureError(f"{settings.address} did not load in {settings.load_deadline_s:g} s")
        await tab.settle(settings.settle_deadline_ms)
        await _ready(tab, settings)
        length, _ = await asyncio.gather(
            tab.evaluate("history.length"), context.input.move(tab.session, (0, 0))
        )
        context.history_length = int(str(length))


async def draw(context: Context, settings: PageSettings, seed: int) -> str:
    """Let a loaded page draw its start state; the instruction."""
    if settings.start is None:
        return ""
    return _instruction(await context.front.evaluate(f"({settings.start})({seed})"))


async def _ready(tab: Tab, settings: PageSettings) -> None:
    if settings.ready is None:
        return
    deadline = time.perf_counter() + settings.load_deadline_s
    while await tab.evaluate(settings.ready) is not True:
        if time.perf_counter() > deadline:
            raise InfrastructureError(
                f"{settings.address} never became ready: {settings.ready} stayed false for"
                f" {settings.load_deadline_s:g} s"
            )
        await tab.frame(settings.settle_deadline_ms)


async def _close(contexts: list[Context], *, after: asyncio.Task[None] | None) -> None:
    if after is not None:
        await asyncio.wait({after})
    for context in contexts:
        with contextlib.suppress(PlaywrightError, CdpClosed):
            await context.close()


def _loads(settings: PageSettings, refused: str | None) -> None:
    if refused is not None:
        raise InfrastructureError(f"the start page {settings.address} does not load: {refused}")


def _instruction(value: JsonValue) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InfrastructureError(f"the page drew {value!r} where its instruction was expected")
    return value
