"""A browser as a sandbox: one context of a Chromium, its tabs, and the task in them."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from PIL import Image as Picture
from playwright.async_api import Error as PlaywrightError

from deskhand_sandbox.backends.browser.actions import perform
from deskhand_sandbox.backends.browser.cdp import CdpClosed, CdpError, DialogOpened
from deskhand_sandbox.backends.browser.chromium import Chromium
from deskhand_sandbox.backends.browser.context import Context
from deskhand_sandbox.backends.browser.endpoint import Endpoint
from deskhand_sandbox.backends.browser.folder import OwnFolder
from deskhand_sandbox.backends.browser.recording import Recorder, Recording
from deskhand_sandbox.backends.browser.settings import (
    BrowserSettings,
    PageSettings,
    check_speed,
    page_settings,
)
from deskhand_sandbox.backends.browser.start import StartStates
from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.backends.browser.tree import text_tree_of
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.errors import InfrastructureError, InvalidTask, SandboxDied, SandboxTimeout
from deskhand_sandbox.pictures import as_image, encoded, size_px_of
from deskhand_sandbox.tools.program import Program
from deskhand_sandbox.types import DeviceAction, Image, JsonValue, Observation, Start, Task

_LAST_SIGN_S = 0.5
"""How long the browser's own session may outlive a page's when the browser dies."""


class BrowserSandbox(Sandbox):
    """See `Sandbox`. After SandboxDied or SandboxTimeout it is not to be used again."""

    kind = "browser"

    def __init__(
        self,
        chromium: Chromium,
        settings: BrowserSettings,
        *,
        let_go: Callable[[Chromium], Awaitable[None]] | None = None,
    ) -> None:
        """
        Args:
            let_go: called with the browser when the sandbox has closed, where nobody else uses it.
        """
        self.id = uuid.uuid4().hex
        self._chromium = chromium
        self._settings = settings
        self._let_go = let_go
        self._page = PageSettings()
        self._starts = StartStates(chromium)
        self._seen: Image | None = None
        """The last picture of this episode."""
        self._broken: InfrastructureError | None = None
        self._closed = False
        self._endpoint: Endpoint | None = None
        self._recorders: list[Recorder] = []
        self.folder = OwnFolder()
        self.capabilities = frozenset({Capability.EVALUATE, Capability.TEXT_TREE}) | (
            {Capability.RUN} if self.folder.has_terminal else set[Capability]()
        )

    # ---- the contract

    async def reset(self, task: Task) -> Start:
        settings = page_settings(task)
        recorder = None
        if settings.har or settings.video:
            recorder = Recorder(task, settings, self._settings.recordings)
            self._recorders.append(recorder)
        async with self._call("reset", self._settings.reset_deadline_s + settings.load_deadline_s):
            await self.folder.reset()
            if self._endpoint is not None:
                await self._endpoint.drop()
            self._page, self._seen = settings, None
            try:
                drawn = await self._starts.begin(settings, task.seed, recorder)
                instruction = task.instruction or drawn
                if not instruction:
                    raise InvalidTask(f"task {task.id} has no instruction, and its page draws none")
                self.context.attend_dialogs(attended=settings.dialogs == "ask")
                return Start(instruction=instruction, observation=await self._look())
            finally:
                self._starts.look_ahead()

    async def observe(self, *, text_tree: bool = False) -> Observation:
        async with self._call("observe", self._settings.call_deadline_s):
            return await self._look(text_tree=text_tree)

    async def act(self, action: DeviceAction) -> Observation:
        async with self._call(type(action).__name__, self._settings.call_deadline_s + asked_s(action)):
            output = None
            try:
                output = await perform(self, action)
            except DialogOpened:
                # what was left of the action goes nowhere; the observation tells of the dialog
                pass
            except CdpClosed:
                # the action closed the tab: the one before it comes to the front
                await self._raise_if_died()
            seen = await self._look()
            lines = [] if output is None else [output]
            lines += await self.context.downloads.deliver(self.folder)
            lines += self.context.notes()
            return replace(seen, output="\n".join(lines)) if lines else seen

    async def evaluate(self, expression: str) -> JsonValue:
        """See `Sandbox`. What keeps the page from answering ends before: a dialog is dismissed, the load of a
        page that does not come is given up."""
        async with self._call("evaluate", self._settings.call_deadline_s):
            asked = self._page.dialogs == "ask"
            if asked:
                await self._dismiss_dialogs()
            try:
                front = self.context.front
                if not await front.answers(self.settle_deadline_ms):
                    await front.stop_loading()
                return await front.evaluate(expression)
            finally:
                if asked and self._starts.context is not None:
                    self.context.attend_dialogs(attended=True)

    def alive(self) -> bool:
        context = self._starts.context
        return (
            not self._closed
            and self._broken is None
            and not self._chromium.control.closed.is_set()
            and not (context is not None and context.crashed)
        )

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            if self._endpoint is not None:
                await self._endpoint.close()
            await self.folder.reset()
        finally:
            with contextlib.suppress(PlaywrightError, CdpClosed):
                await self._starts.close()
            if self._let_go is not None:
                await self._let_go(self._chromium)

    async def open_endpoint(self, token: str | None = None) -> str:
        """A DevTools endpoint of this browser, for `connect_over_cdp(url)`; it reaches this sandbox's pages.

        Connections end at a reset; the endpoint stays until the sandbox is closed.

        Args:
            token: what the other side must know, e.g. the lease's; it is part of the address, or may come in
                an Authorization header. None leaves what it is, and draws one at first; another one ends the
                connections of those who came with the one before.

        Returns:
            http://127.0.0.1:PORT/TOKEN
        """
        if self._endpoint is None:
            token = token or secrets.token_urlsafe(24)
            self._endpoint = await Endpoint.open(self._chromium.address, self._context_id, token)
        elif token is not None:
            await self._endpoint.renew(token)
        return self._endpoint.url

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> Program:
        """See `RunsPrograms`: it runs in the sandbox's own folder."""
        async with self._call("start_program", self._settings.call_deadline_s):
            return await self.folder.start_program(program, environment)

    @property
    def recordings(self) -> tuple[Recording, ...]:
        """What was recorded of episodes that are over, and is complete: of the last one after `close`."""
        return tuple(file for recorder in self._recorders for file in recorder.complete)

    async def pause_time(self) -> None:
        """Stop the pages' time, where the task has set a `page_speed`: they do nothing more by themselves.

        Raises:
            UnsupportedCapability: the task leaves time alone.
        """
        async with self._call("pause_time", self._settings.call_deadline_s):
            await self.context.set_speed(0.0)

    async def resume_time(self, *, speed: float = 1.0) -> None:
        """Let the pages' time go on, `speed` times as fast as it really does.

        Raises:
            InvalidTask: no such speed.
            UnsupportedCapability: the task leaves time alone.
        """
        check_speed(speed)
        async with self._call("resume_time", self._settings.call_deadline_s):
            await self.context.set_speed(speed)

    def _context_id(self) -> str:
        """For a stranger, who may leave anything in it."""
        self.context.touched = True
        return self.context.id

    # ---- what actions need

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the page, the frame of every coordinate."""
        return self._page.viewport_px

    @property
    def settle_deadline_ms(self) -> float:
        """How long a page may take to stand still."""
        return self._page.settle_deadline_ms

    @property
    def context(self) -> Context:
        """The context of the task under way.

        Raises:
            CdpClosed: there is none.
        """
        if self._starts.context is None:
            raise CdpClosed("no tab is open: reset the sandbox first")
        return self._starts.context

    @property
    def front(self) -> Tab:
        """The tab in front.

        Raises:
            CdpClosed: there is none.
        """
        return self.context.front

    async def _dismiss_dialogs(self) -> None:
        self.context.attend_dialogs(attended=False)
        tab = await self.context.tab_with_dialog()
        if tab is not None:
            await tab.dialogs.dismiss()

    # ---- looking

    async def _look(self, *, text_tree: bool = False) -> Observation:
        began = time.perf_counter()
        context, page = self.context, self._page
        gone: Tab | None = None
        fitted: Tab | None = None

        def left_ms() -> float:
            return page.settle_deadline_ms - (time.perf_counter() - began) * 1000

        while True:
            await context.adopt_arrivals()
            if await context.tab_with_dialog() is not None:
                return self._without_picture(began)
            tab, front = context.front, context.front_page
            try:
                if not tab.url and not await tab.shows_something(
                    context.downloads.frames, page.settle_deadline_ms
                ):
                    if await context.drop_empty_front():
                        continue
                    return self._without_picture(began, settled=False)
                settled = await tab.settle(left_ms() if tab is fitted else page.settle_deadline_ms)
                await context.downloads.finish(left_ms() / 1000)
                if tab.opening > 0 or context.front_page is not front:
                    continue
                settled_ms = (time.perf_counter() - began) * 1000
                if await context.tab_with_dialog() is not None:
                    return self._without_picture(began)
                if text_tree and await tab.answers(page.settle_deadline_ms):
                    data, tree = await asyncio.gather(
                        tab.screenshot(page.image_format, page.image_quality), text_tree_of(tab, page)
                    )
                else:
                    data, tree = await tab.screenshot(page.image_format, page.image_quality), None
                if tab is not fitted and size_px_of(data) != page.viewport_px:
                    # a window opened or resized to a size of its own; a page in full screen
                    fitted = tab
                    await tab.fit(page.viewport_px)
                    continue
            except DialogOpened:
                await context.tab_with_dialog()
                return self._without_picture(began)
            except CdpError:
                # its document went away under the picture: look at the next one
                if tab is gone:
                    raise
                gone = tab
                continue
            except CdpClosed:
                # the page closed itself: look at what is in front now
                await self._raise_if_died()
                context.forget(front)
                continue
            self._seen = as_image(data, page.viewport_px, page.image_format)
            return self._observation(settled, settled_ms, tree)

    def _without_picture(self, began: float, *, settled: bool = True) -> Observation:
        """What can be seen of a page that a dialog stops, or that has not come yet: what was seen last."""
        if self._seen is None:
            blank = Picture.new("RGB", self._page.viewport_px, "white")
            self._seen = encoded(blank, self._page.image_format)
        return self._observation(settled, (time.perf_counter() - began) * 1000, None)

    def _observation(self, settled: bool, settled_ms: float, tree: str | None) -> Observation:
        assert self._seen is not None
        tab = self.context.front
        return Observation(
            screenshot=self._seen,
            captured_at_s=time.time(),
            settled_ms=settled_ms,
            settled=settled,
            url=tab.url,
            text_tree=tree,
            dialog=tab.dialogs.text,
            terminal=self.folder.screen(),
        )

    # ---- failures

    @contextlib.asynccontextmanager
    async def _call(self, what: str, deadline_s: float) -> AsyncGenerator[None]:
        """One call: a deadline, and every way the browser can fail as one of our errors."""
        if self._broken is not None:
            raise type(self._broken)(f"{self._broken} (the sandbox is not to be used again)")
        if self._closed:
            raise SandboxDied("the sandbox is closed")
        if self._chromium.control.closed.is_set():
            await self._raise_if_died()
        try:
            async with asyncio.timeout(deadline_s) as limit:
                self._chromium.calls.add(limit)
                try:
                    yield
                finally:
                    self._chromium.calls.discard(limit)
        except TimeoutError as error:
            if self._chromium.control.closed.is_set():
                await self._raise_if_died()
            self._broken = SandboxTimeout(f"{what} took longer than {deadline_s:g} s")
            await self._chromium.end_if_hung()
            raise self._broken from error
        except (CdpClosed, PlaywrightError) as error:
            await self._raise_if_died()
            first = str(error).strip().splitlines()[0]
            raise InfrastructureError(f"{what} failed in the browser: {first}") from error

    async def _raise_if_died(self) -> None:
        """Raise SandboxDied when the browser or the page's process is gone."""
        crashed = self._starts.context is not None and self._starts.context.crashed
        if not crashed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_SIGN_S):
                    await self._chromium.control.closed.wait()
        if crashed or self._chromium.control.closed.is_set():
            what = "a page of it crashed" if crashed else f"Chromium (process {self._chromium.pid}) is gone"
            self._broken = SandboxDied(f"the browser died: {what}")
            raise self._broken
