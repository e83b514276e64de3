"""Start states: nothing of one task is left in the next, and the next is ready before it is asked for."""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, cast

import pytest
from playwright.async_api import BrowserContext

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, start
from deskhand_sandbox.backends.browser.chromium import Chromium
from deskhand_sandbox.backends.browser.settings import PageSettings
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Navigate, Tab

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

LEAVE_ALL = """(async () => {
  document.cookie = 'a=1; max-age=1000';
  localStorage.b = 2;
  sessionStorage.c = 3;
  await new Promise((done, fail) => {
    const asked = indexedDB.open('d', 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore('kept').put('value', 'key');
    asked.onsuccess = () => { asked.result.close(); done(); };
    asked.onerror = fail;
  });
  await (await caches.open('e')).put('/kept', new Response('cached'));
  await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  await (await navigator.storage.getDirectory()).getFileHandle('f', { create: true });
  history.pushState(1, '', '/deeper');
  await fetch('/counted', { cache: 'force-cache' });
  window.name = 'g';
})().then(() => 1)"""
LEFT = """(async () => {
  const names = [];
  for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
  return {
    cookie: document.cookie,
    local: localStorage.length,
    session: sessionStorage.length,
    databases: (await indexedDB.databases()).length,
    caches: (await caches.keys()).length,
    workers: (await navigator.serviceWorker.getRegistrations()).length,
    controlled: navigator.serviceWorker.controller !== null,
    files: names.length,
    history: history.length,
    name: window.name,
    path: location.pathname,
    permission: (await navigator.permissions.query({ name: 'geolocation' })).state,
    cached: await fetch('/counted', { cache: 'only-if-cached', mode: 'same-origin' })
      .then((r) => r.ok, () => false),
  };
})()"""


async def test_nothing_of_a_task_is_left_in_the_next(sandbox: BrowserSandbox, visit, site: str) -> None:
    task = visit(f"{site}/")
    first = await sandbox.reset(task)
    clean = await sandbox.evaluate(LEFT)
    assert isinstance(clean, dict)
    assert not any(clean[name] for name in ("cookie", "local", "session", "databases", "caches", "workers"))
    assert not any(clean[name] for name in ("controlled", "files", "name", "cached"))
    assert clean["permission"] != "granted" and clean["path"] == "/"
    for _ in range(3):  # the first times the context is made when asked for, later ones were made before
        await sandbox.evaluate(LEAVE_ALL)
        await sandbox.context.grant_permission("geolocation")
        await sandbox.act(Tab(do="open"))
        await sandbox.act(Navigate(url=f"{site}/next"))
        await sandbox.act(Tab(do="focus", index=0))
        used = await sandbox.evaluate(LEFT)
        assert isinstance(used, dict)
        differing = {name for name in clean if used[name] != clean[name]}
        assert differing == set(clean) - {"controlled"} or differing == set(clean), differing
        again = await sandbox.reset(task)
        assert again.observation.screenshot == first.observation.screenshot
        assert await sandbox.evaluate(LEFT) == clean


async def test_the_next_context_is_made_while_the_agent_works(sandbox: BrowserSandbox, visit, site) -> None:
    await sandbox.reset(visit(f"{site}/"))
    assert sandbox._starts._next is None  # one page alone needs no second context
    await sandbox.reset(visit(f"{site}/next"))
    making = sandbox._starts._next
    assert making is not None
    made = await making
    assert made is not None and made is not sandbox.context
    await sandbox.reset(visit(f"{site}/"))
    assert sandbox.context is made
    # one made for another size of page is of no use
    await sandbox.reset(visit(f"{site}/", viewport_px=[320, 200]))
    assert (await sandbox.observe()).size_px == (320, 200)


async def test_our_own_pages_are_loaded_in_advance(sandbox: BrowserSandbox, visit, site: str) -> None:
    task = make_task("miniwob/click-button", 3)
    first = await sandbox.reset(task)
    await sandbox.act(Navigate(url=f"{site}/"))
    await sandbox.reset(task)
    making = sandbox._starts._next
    assert making is not None
    made = await making
    assert made is not None and made.loaded is not None
    await sandbox.act(Navigate(url=f"{site}/"))
    again = await sandbox.reset(task)
    assert sandbox.context is made
    assert (again.instruction, again.observation.screenshot) == (
        first.instruction,
        first.observation.screenshot,
    )


async def test_another_of_our_pages_takes_the_place_of_one_that_left_nothing(
    sandbox: BrowserSandbox, backend: BrowserBackend
) -> None:
    async with await backend.create() as other:
        alone = await other.reset(make_task("miniwob/enter-text", 5))
        clean = await other.evaluate(LEFT)
    await sandbox.reset(make_task("miniwob/click-button", 3))
    context = sandbox.context
    seen = await sandbox.reset(make_task("miniwob/enter-text", 5))
    assert sandbox.context is context and sandbox._starts._next is None
    assert seen.instruction == alone.instruction
    assert seen.observation.screenshot == alone.observation.screenshot
    assert seen.observation.url == alone.observation.url
    assert await sandbox.evaluate(LEFT) == clean
    # where something was left, another size is asked for or another site, the context is another
    await sandbox.evaluate("localStorage.kept = 1")
    await sandbox.reset(make_task("miniwob/click-button", 3))
    assert sandbox.context is not context
    context = sandbox.context
    await sandbox.reset(make_task("generated/press", 3))
    assert sandbox.context is not context
    context = sandbox.context
    await sandbox.reset(make_task("generated/press-wide", 3))
    assert sandbox.context is not context


async def test_other_pages_are_loaded_in_advance_where_their_task_says_so(
    sandbox: BrowserSandbox, visit, site: str
) -> None:
    for preload in (False, True):
        task = visit(f"{site}/next", preload=preload)
        await sandbox.reset(task)
        await sandbox.reset(task)
        making = sandbox._starts._next
        assert making is not None
        made = await making
        assert made is not None and (made.loaded is not None) is preload
        first = await sandbox.observe()
        again = await sandbox.reset(task)
        assert sandbox.context is made
        assert again.observation.screenshot == first.screenshot
    # one that was loaded for another task is of no use
    assert sandbox._starts._next is not None
    made = await sandbox._starts._next
    await sandbox.reset(visit(f"{site}/"))
    assert sandbox.context is not made
    assert await sandbox.evaluate("history.length") == 2


async def test_closing_at_any_moment_leaves_no_context(backend: BrowserBackend, visit, site: str) -> None:
    chromium = await backend.chromium()
    before = len(chromium.browser.contexts)
    for wait in (0.0, 0.02, 0.3):
        sandbox = await backend.create()
        await sandbox.reset(visit(f"{site}/"))
        await sandbox.reset(visit(f"{site}/next"))
        await asyncio.sleep(wait)
        await sandbox.close()
    assert len(chromium.browser.contexts) == before
    async with await backend.create() as sandbox:
        await sandbox.reset(visit(f"{site}/"))
        resetting = asyncio.create_task(sandbox.reset(visit(f"{site}/slow")))
        await asyncio.sleep(0.05)
        resetting.cancel()
        await asyncio.wait([resetting])
    assert len(chromium.browser.contexts) == before
    async with await backend.create() as sandbox:
        await sandbox.reset(visit(f"{site}/"))
        await sandbox.act(Click(x=1, y=1))


async def test_a_reset_given_up_while_its_context_is_made_leaves_none(
    backend: BrowserBackend, visit, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chromium = await backend.chromium()
    before, asked = len(chromium.browser.contexts), asyncio.Event()
    make = chromium.browser.new_context

    def told(**settings: Any) -> Coroutine[Any, Any, BrowserContext]:
        asked.set()
        return make(**settings)

    monkeypatch.setattr(chromium.browser, "new_context", told)
    async with await backend.create() as sandbox:
        for wait in (0.0, 0.001, 0.003):
            asked.clear()
            resetting = asyncio.create_task(sandbox.reset(visit(f"{site}/")))
            await asked.wait()
            await asyncio.sleep(wait)
            resetting.cancel()
            await asyncio.wait([resetting])
            await sandbox.reset(visit(f"{site}/"))  # by then the driver has told of the one before
    assert len(chromium.browser.contexts) == before


async def test_a_page_that_cannot_be_loaded_in_advance_is_no_later_tasks_affair(
    backend: BrowserBackend, visit, site: str
) -> None:
    refused = visit("http://example.com/", network="deny", preload=True)
    async with await backend.create() as sandbox:
        for _ in range(3):  # from the second time on it is loaded in advance as well
            with pytest.raises(InvalidTask, match=r"example\.com"):
                await sandbox.reset(refused)
        assert (await sandbox.reset(visit(f"{site}/"))).observation.url == f"{site}/"


class SlowContext:
    """A context whose end may be held up."""

    made: ClassVar[list["SlowContext"]] = []
    may_close = asyncio.Event()

    def __init__(self, settings: PageSettings) -> None:
        self.loaded, self.untouched, self.closed = settings, False, False
        self.made.append(self)

    @classmethod
    async def open(cls, _: object, settings: PageSettings, recorder: object = None) -> "SlowContext":
        return cls(settings)

    def serves(self, _: PageSettings) -> bool:
        return True

    async def close(self) -> None:
        await self.may_close.wait()
        self.closed = True


@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_context_that_closes_slowly_is_waited_for_no_longer_than_there_is_time(
    monkeypatch: pytest.MonkeyPatch, *, cancelled: bool
) -> None:
    monkeypatch.setattr(start, "Context", SlowContext)
    monkeypatch.setattr(start, "_CLOSE_S", 3600.0 if cancelled else 0.0)
    SlowContext.made.clear()
    SlowContext.may_close.clear()
    states = start.StartStates(cast("Chromium", None))
    for _ in range(2):
        await states.begin(PageSettings(), 0, None)
        states.look_ahead()
    reset = asyncio.create_task(states.begin(PageSettings(), 0, None))
    if cancelled:
        while states._next is not None:
            await asyncio.sleep(0)
        reset.cancel()
    await asyncio.wait({reset})
    states.look_ahead()
    SlowContext.may_close.set()
    await states.begin(PageSettings(), 0, None)
    await states.close()
    assert all(context.closed for context in SlowContext.made)
