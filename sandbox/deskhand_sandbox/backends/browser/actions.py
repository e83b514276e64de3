"""Carries out actions in a browser, after checking that they can be."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deskhand_sandbox.backends.action_checks import check_action, typed_text
from deskhand_sandbox.backends.browser.cdp import CdpError
from deskhand_sandbox.backends.browser.keys import find_key
from deskhand_sandbox.backends.browser.uploads import stage, upload
from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.tools.fetch import fetch
from deskhand_sandbox.types import (
    AnswerDialog,
    CallTool,
    Click,
    DeviceAction,
    Drag,
    EditFile,
    Fetch,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    OpenApp,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Swipe,
    Tab,
    Touch,
    TypeText,
    Upload,
    Wait,
    WriteFile,
)

if TYPE_CHECKING:
    from deskhand_sandbox.backends.browser.sandbox import BrowserSandbox
    from deskhand_sandbox.backends.browser.tab import Tab as Page

OPEN_SCHEMES = ("http", "https", "about", "data")
"""What an agent may open: not the machine's files, not the browser's own pages."""


async def perform(sandbox: BrowserSandbox, action: DeviceAction) -> str | None:
    """Carry out one action; what it returns to the agent, where it returns anything.

    Raises:
        InvalidAction: it cannot be as given; nothing was done.
        UnsupportedCapability: a browser has no such thing.
        DialogOpened: a dialog opened before it was done.
        CdpClosed: the tab or the browser went away.
    """
    check_action(action, sandbox.size_px)
    if isinstance(action, Upload):
        check_action(Click(x=action.x, y=action.y), sandbox.size_px)
    tab = await sandbox.context.tab_with_dialog()
    if isinstance(action, AnswerDialog):
        if tab is None:
            raise InvalidAction("there is no dialog to answer")
        await tab.dialogs.answer(accept=action.accept, text=action.text)
        return None
    if tab is not None:
        if isinstance(action, KeyUp | PointerUp) and sandbox.context.input.forget(tab.session, action):
            return None
        raise InvalidAction(f"answer the dialog first, by AnswerDialog: {tab.dialogs.text}")
    match action:
        case Click() | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll():
            await _point(sandbox, action)
        case TypeText() | Press() | KeyDown() | KeyUp():
            await _type(sandbox, action)
        case Navigate() | History() | Tab():
            await _browse(sandbox, action)
        case Upload():
            await _upload(sandbox, action)
        case Wait():
            await asyncio.sleep(action.seconds)
        case Touch() | Swipe() | OpenApp():
            raise UnsupportedCapability(f"{type(action).__name__} is for touch devices; this is a browser")
        case Fetch():
            return await fetch(action, sandbox.context.policy)
        case Run() | ReadFile() | WriteFile() | EditFile():
            return await sandbox.folder.perform(action)
        case CallTool():
            raise UnsupportedCapability("a browser has no tools to call")
        case _:  # pyright: ignore[reportUnnecessaryComparison]  # callers without types
            raise InvalidAction(f"{type(action).__name__} is not an action of a browser")
    return None


async def _point(
    sandbox: BrowserSandbox, action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll
) -> None:
    page, pointer = sandbox.front.session, sandbox.context.input
    match action:
        case Click():
            await pointer.click(page, (action.x, action.y), action.button, action.count)
        case MovePointer():
            await pointer.move(page, (action.x, action.y))
        case PointerDown():
            await pointer.press(page, action.button)
        case PointerUp():
            await pointer.release(page, action.button)
        case Drag():
            await pointer.drag(page, action.path, action.button)
        case Scroll():
            await pointer.wheel(page, (action.x, action.y), action.dx_px, action.dy_px)
            # the compositor scrolls by itself; the page learns of it with a frame
            await sandbox.front.frame(sandbox.settle_deadline_ms)


async def _type(sandbox: BrowserSandbox, action: TypeText | Press | KeyDown | KeyUp) -> None:
    page, keyboard = sandbox.front.session, sandbox.context.input
    if isinstance(action, Press):
        for name in action.keys:
            find_key(name)
    clipboard = sandbox.context.clipboard.at_hand() if keyboard.commands_clipboard(action) else nullcontext()
    async with clipboard:
        match action:
            case TypeText():
                await keyboard.type_text(page, typed_text(action.text))
            case Press():
                await keyboard.press_keys(page, action.keys)
            case KeyDown():
                await keyboard.key_down(page, action.key)
            case KeyUp():
                await keyboard.key_up(page, action.key)


async def _browse(sandbox: BrowserSandbox, action: Navigate | History | Tab) -> None:
    tab, context = sandbox.front, sandbox.context
    match action:
        case Navigate():
            await _come(sandbox, _navigate(tab, _open_address(action.url)))
        case History(to="home"):
            raise UnsupportedCapability("a browser has no home button")
        case History(to="reload"):
            await _come(sandbox, tab.reload())
        case History():
            if not await tab.go(-1 if action.to == "back" else 1):
                raise InvalidAction(f"there is no page to go {action.to} to")
        case Tab(do="open"):
            await context.open_tab()
        case Tab():
            pages = context.pages
            if action.index is not None and not 0 <= action.index < len(pages):
                raise InvalidAction(f"there is no tab {action.index}: there are {len(pages)}, from 0")
            page = context.front_page if action.index is None else pages[action.index]
            await (context.focus_tab(page) if action.do == "focus" else context.close_tab(page))


async def _upload(sandbox: BrowserSandbox, action: Upload) -> None:
    place = sandbox.context.files / "uploads" / uuid.uuid4().hex
    files = await stage(sandbox.folder, action.paths, place)
    await upload(sandbox.front.session, sandbox.context.input, (action.x, action.y), files)


async def _come(sandbox: BrowserSandbox, page: Awaitable[None]) -> None:
    """Wait for the next page, but no longer than for one to stand still: its server may never answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(sandbox.settle_deadline_ms / 1000):
            await page


async def _navigate(tab: Page, url: str) -> None:
    try:
        await tab.navigate(url)
    except CdpError as error:
        # which hosts and ports there can be Chromium knows best
        if "invalid URL" not in str(error):
            raise
        raise InvalidAction(f"cannot open {url!r}: {error}") from error


def _open_address(url: str) -> str:
    url = url.strip()
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise InvalidAction(f"cannot open {url!r}: {error}") from error
    if scheme in OPEN_SCHEMES:
        return url
    if "://" not in url and "." in url.partition("/")[0].partition(":")[0]:
        return f"https://{url}"
    raise InvalidAction(f"cannot open {url!r}: an address starts with {', '.join(OPEN_SCHEMES)}")
