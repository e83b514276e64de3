"""The clipboard: what a task copies is its own, though one browser has but one."""

import asyncio
from typing import cast

import pytest
from playwright.async_api import Browser

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox
from deskhand_sandbox.backends.browser.clipboard import BrowserClipboard, Clipboard
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.types import Click, KeyDown, KeyUp, Press, TypeText

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

FIELDS = (
    "<style>textarea{{position:absolute;left:0;width:190px;height:35px}}</style>"
    "<textarea id=s style='top:0'>{}</textarea><textarea id=d style='top:50px'></textarea>"
    "<div id=rich contenteditable style='position:absolute;top:100px;width:190px;height:50px'></div>"
)


async def copy(sandbox: Sandbox, key: str = "c") -> None:
    await sandbox.act(Click(x=50, y=20))
    await sandbox.act(Press(keys=("Control", "a")))
    await sandbox.act(Press(keys=("Control", key)))


async def paste(sandbox: Sandbox, *keys: str) -> object:
    await sandbox.act(Click(x=50, y=70))
    await sandbox.act(Press(keys=("Control", "a")))
    await sandbox.act(Press(keys=keys or ("Control", "v")))
    return await sandbox.evaluate("d.value")


async def test_tasks_side_by_side_paste_what_they_copied_themselves(backend: BrowserBackend, page) -> None:
    async with await backend.create() as one, await backend.create() as two:
        await one.reset(page(FIELDS.format("of one")))
        await two.reset(page(FIELDS.format("of two")))
        assert await paste(one) == ""
        await copy(one)
        await copy(two, "x")
        assert await two.evaluate("s.value") == ""
        assert (await paste(one), await paste(two, "Shift", "Insert")) == ("of one", "of two")
        await one.act(KeyDown(key="Control"))
        await one.act(TypeText(text="v"))
        await one.act(KeyUp(key="Control"))
        assert await one.evaluate("d.value") == "of oneof one"


@pytest.mark.parametrize("restartable", [True, False])
async def test_a_reset_empties_it(sandbox: BrowserSandbox, visit, site: str, *, restartable: bool) -> None:
    fill = f"() => {{ document.body.innerHTML = {FIELDS.format('before')!r}; return 'Do it.'; }}"
    task = visit(f"{site}/", start=fill, restartable=restartable)
    await sandbox.reset(task)
    context = sandbox.context
    await copy(sandbox)
    assert await paste(sandbox) == "before"
    await sandbox.reset(task)
    assert (sandbox.context is context) is restartable
    assert await paste(sandbox) == ""


async def test_what_a_page_copies_by_a_button_is_kept(
    backend: BrowserBackend, sandbox: BrowserSandbox, page
) -> None:
    button = "<script>rich.onclick = () => { s.select(); document.execCommand('copy'); }</script>"
    await sandbox.reset(page(FIELDS.format("by a button") + button))
    async with await backend.create() as other:
        await other.reset(page(FIELDS.format("")))
        await sandbox.act(Click(x=50, y=120))
        async with asyncio.timeout(120):
            while await paste(sandbox) != "by a button":  # the browser tells of it in its own time
                await asyncio.sleep(0.01)
        await other.act(Press(keys=("Control", "v")))
        assert await paste(sandbox) == "by a button"


class Held(BrowserClipboard):
    """Holds the same whatever is put in."""

    async def take(self) -> dict[str, str]:
        return {"text/plain": "before"}

    async def put(self, held: dict[str, str]) -> None:
        """Nothing."""


async def test_nothing_that_was_copied_before_is_kept_once_it_is_emptied() -> None:
    shared = Held(cast("Browser", None))
    clipboard = Clipboard(shared)
    for emptied in (False, True):
        async with shared.lock:
            for _ in range(3):
                clipboard._copied(None)
            await asyncio.sleep(0)
            taking = set(clipboard._taking)
            if emptied:
                clipboard.empty()
        await asyncio.wait(taking)
        assert bool(clipboard._held) is not emptied
    assert not clipboard._taking


async def test_what_a_page_writes_by_itself_is_kept(sandbox: BrowserSandbox, visit, site: str) -> None:
    """As the copy buttons of today do it, which may, and are told when it is done."""
    write = "navigator.clipboard.writeText('by a button').then(() => s.value = 'done', (e) => s.value = e)"
    begin = f"document.body.innerHTML = {FIELDS.format('')!r}; rich.onclick = () => {write}; return 'Do it.';"
    await sandbox.reset(visit(f"{site}/", start=f"() => {{ {begin} }}"))
    await sandbox.context.grant_permission("geolocation")
    await sandbox.act(Click(x=50, y=120))
    async with asyncio.timeout(120):
        while await paste(sandbox) != "by a button":
            await asyncio.sleep(0.01)
    assert await sandbox.evaluate("s.value") == "done"
    asked = "navigator.permissions.query({name: 'geolocation'}).then((found) => found.state)"
    assert await sandbox.evaluate(asked) == "granted"


async def test_formatted_text_stays_formatted(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(FIELDS.format("") + "<script>rich.innerHTML = 'a <b>bold</b> word'</script>"))
    await sandbox.act(Click(x=50, y=120))
    for keys in (("Control", "a"), ("Control", "c"), ("End",), ("Control", "v")):
        await sandbox.act(Press(keys=keys))
    assert (
        await sandbox.evaluate("rich.querySelectorAll('b, span').length + rich.textContent")
        == "2a bold worda bold word"
    )
