"""Dialogs: told of, answered, and never hanging anything."""

import asyncio

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.backends.browser.cdp import DialogOpened
from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    AnswerDialog,
    Click,
    Drag,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    PointerDown,
    PointerUp,
    Press,
    Run,
    TypeText,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]


def asks(script: str) -> str:
    return f"<body style='height:150px' onclick=\"window.got = {script}\"><p id=p>here"


@pytest.mark.parametrize(
    ("script", "said", "answer", "got"),
    [
        ("[alert('Saved'), 1]", "alert: Saved", AnswerDialog(), [None, 1]),
        ("confirm('Delete it?')", "confirm: Delete it?", AnswerDialog(accept=True), True),
        ("confirm('Delete it?')", "confirm: Delete it?", AnswerDialog(accept=False), False),
        ("prompt('Name?', 'Ada')", "prompt: Name? [Ada]", AnswerDialog(text="Grüße 漢"), "Grüße 漢"),
        ("prompt('Name?')", "prompt: Name?", AnswerDialog(accept=False), None),
    ],
)
async def test_a_dialog_is_told_of_and_answered(
    sandbox: BrowserSandbox, page, script: str, said: str, answer: AnswerDialog, got: object
) -> None:
    start = await sandbox.reset(page(asks(script)))
    assert start.observation.dialog is None
    seen = await sandbox.act(Click(x=50, y=80))
    assert seen.dialog == said
    assert seen.screenshot == start.observation.screenshot
    assert (await sandbox.observe(text_tree=True)).dialog == said
    for action in (Click(x=1, y=1), TypeText(text="x"), Navigate(url="about:blank"), Run(command="true")):
        with pytest.raises(InvalidAction, match="answer the dialog first, by AnswerDialog"):
            await sandbox.act(action)
    seen = await sandbox.act(answer)
    assert seen.dialog is None and seen.settled
    assert await sandbox.evaluate("got") == got
    with pytest.raises(InvalidAction, match="no dialog to answer"):
        await sandbox.act(answer)


async def test_dialogs_come_one_after_another(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(asks("[confirm('a'), prompt('b'), alert('c')]")))
    assert (await sandbox.act(Click(x=50, y=80))).dialog == "confirm: a"
    assert (await sandbox.act(AnswerDialog())).dialog == "prompt: b"
    assert (await sandbox.act(AnswerDialog(text="bee"))).dialog == "alert: c"
    assert (await sandbox.act(AnswerDialog())).dialog is None
    assert await sandbox.evaluate("got") == [True, "bee", None]


async def test_a_dialog_from_a_key_or_a_timer_leaves_nothing_held(sandbox: BrowserSandbox, page) -> None:
    html = "<textarea id=t autofocus></textarea><script>t.onkeydown = (e) => { if (e.key === 'Enter')"
    await sandbox.reset(page(html + " confirm('really?') }; setTimeout(() => alert('late'), 300)</script>"))
    seen = await sandbox.observe()
    if seen.dialog is None:  # it may have come before the start state was looked at
        seen = await sandbox.act(Press(keys=("a",)))
    assert seen.dialog == "alert: late"
    await sandbox.act(AnswerDialog())
    await sandbox.act(Click(x=20, y=20))
    assert (await sandbox.act(Press(keys=("Shift", "Enter")))).dialog == "confirm: really?"
    await sandbox.act(AnswerDialog())
    await sandbox.act(TypeText(text="x"))
    assert str(await sandbox.evaluate("t.value")).endswith("x")


async def test_a_key_held_for_a_click_that_asks_can_be_let_go_of(sandbox: BrowserSandbox, page) -> None:
    html = "<textarea id=t style='position:absolute;left:0;top:0'></textarea><p style='margin:90px 0'>here"
    await sandbox.reset(page(html + "<script>onclick = (e) => e.shiftKey && confirm('All?')</script>"))
    await sandbox.act(KeyDown(key="Shift"))
    await sandbox.act(PointerDown(button="middle"))
    assert (await sandbox.act(Click(x=50, y=98))).dialog == "confirm: All?"
    assert (await sandbox.act(KeyUp(key="Shift"))).dialog == "confirm: All?"
    assert (await sandbox.act(PointerUp(button="middle"))).dialog == "confirm: All?"
    for gone in (KeyUp(key="Shift"), PointerUp(button="middle")):
        with pytest.raises(InvalidAction, match="answer the dialog first"):
            await sandbox.act(gone)
    await sandbox.act(AnswerDialog())
    await sandbox.act(Click(x=20, y=20))
    await sandbox.act(TypeText(text="1a"))
    assert await sandbox.evaluate("t.value") == "1a"


@pytest.mark.parametrize("asks_at", ["ondrop", "ondragover"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_drag_that_asks_is_over(
    sandbox: BrowserSandbox, page, asks_at: str, *, at_once: bool
) -> None:
    html = (
        "<div draggable=true style='position:absolute;left:0;top:0;width:60px;height:60px;background:red'"
        " ondragstart='event.dataTransfer.setData(\"text\", 1)'></div>"
        "<div style='position:absolute;left:100px;top:0;width:60px;height:60px;background:blue'"
        " ondragover='event.preventDefault()' ondrop='event.preventDefault()'></div>"
        "<div style='position:absolute;left:0;top:100px;width:60px;height:60px;background:green'"
        " onmousemove='got(event)' onmousedown='got(event)' onmouseup='got(event)'></div>"
        "<script>seen = []; got = (e) => seen.push(e.type.slice(5));"
        f"document.{asks_at} = () => {{ document.{asks_at} = null; alert('moved') }}</script>"
    )
    await sandbox.reset(page(html))
    if at_once:
        seen = await sandbox.act(Drag(path=((30, 30), (130, 30))))
    else:
        for action in (MovePointer(x=30, y=30), PointerDown()):
            await sandbox.act(action)
        if (await sandbox.act(MovePointer(x=120, y=30))).dialog is None:
            await sandbox.act(MovePointer(x=130, y=30))
        seen = await sandbox.act(PointerUp())
    assert seen.dialog == "alert: moved"
    await sandbox.act(AnswerDialog())
    for action in (MovePointer(x=30, y=130), PointerDown(), MovePointer(x=40, y=140), PointerUp()):
        await sandbox.act(action)
    assert await sandbox.evaluate("seen.join()") == "move,down,move,up"


async def test_a_page_may_be_left_or_kept(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.act(Click(x=150, y=150))
    await sandbox.evaluate("onbeforeunload = (event) => { event.preventDefault(); }")
    seen = await sandbox.act(Navigate(url=f"{site}/next"))
    assert (seen.dialog or "").startswith("beforeunload: ")
    assert (await sandbox.act(AnswerDialog(accept=False))).url == f"{site}/"
    assert (await sandbox.act(History(to="reload"))).dialog
    await sandbox.act(AnswerDialog(accept=False))
    await sandbox.act(Navigate(url=f"{site}/next"))
    assert (await sandbox.act(AnswerDialog(accept=True))).url == f"{site}/next"


async def test_a_dialog_of_the_start_page_waits_for_the_agent(sandbox: BrowserSandbox, page) -> None:
    start = await sandbox.reset(page("<p id=p>-</p><script>p.textContent = confirm('Cookies?')</script>"))
    assert start.observation.dialog == "confirm: Cookies?"
    assert start.observation.size_px == (200, 160)
    await sandbox.act(AnswerDialog())
    assert await sandbox.evaluate("p.textContent") == "true"


async def test_a_dialog_in_a_frame_or_another_window_is_told_of(
    sandbox: BrowserSandbox, visit, site: str
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    elsewhere = site.replace("127.0.0.1", "localhost")
    await sandbox.evaluate(f"document.body.innerHTML = `<iframe src='{elsewhere}/alert'></iframe>`; 1")
    assert (await sandbox.observe()).dialog == "alert: from a frame"
    await sandbox.act(AnswerDialog())
    await sandbox.evaluate(
        "document.body.innerHTML = 'x'; document.body.style.height = '150px';"
        " document.body.onclick = () => { open('/next'); alert('opened'); }; 1"
    )
    assert (await sandbox.act(Click(x=50, y=50))).dialog == "alert: opened"
    seen = await sandbox.act(AnswerDialog())
    async with asyncio.timeout(120):
        while seen.url != f"{site}/next":  # the window is there before its page
            seen = await sandbox.observe()


OPENS = "document.body.style.height = '150px'; onclick = () => { open('/next'); }; 1"


async def test_a_dialog_of_the_opener_is_told_of_while_its_window_is_taken_up(
    sandbox: BrowserSandbox, visit, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(OPENS)
    opener, attach = sandbox.front, Tab.attach

    async def attach_late(window: Tab) -> None:
        monkeypatch.undo()
        with pytest.raises(DialogOpened):
            await opener.evaluate("alert('signed in')")
        await attach(window)

    monkeypatch.setattr(Tab, "attach", attach_late)
    assert (await sandbox.act(Click(x=150, y=50))).dialog == "alert: signed in"
    assert (await sandbox.act(AnswerDialog())).url == f"{site}/next"
    await sandbox.evaluate("document.body.style.height = '150px'; onclick = () => opener.postMessage(1); 1")
    await opener.evaluate("onmessage = () => alert('told'); 1")
    assert (await sandbox.act(Click(x=150, y=50))).dialog == "alert: told"
    assert (await sandbox.act(AnswerDialog())).dialog is None


async def test_a_dialog_of_a_window_is_told_of_while_it_is_taken_up(
    sandbox: BrowserSandbox, visit, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(OPENS)
    attach = Tab.attach

    async def attach_and_ask(window: Tab) -> None:
        monkeypatch.undo()
        await attach(window)
        await window.evaluate("alert('Cookies')")

    monkeypatch.setattr(Tab, "attach", attach_and_ask)
    assert (await sandbox.act(Click(x=150, y=50))).dialog == "alert: Cookies"
    seen = await sandbox.act(AnswerDialog())
    assert (seen.dialog, len(sandbox.context.pages)) == (None, 2)
    assert await sandbox.evaluate("opener !== null") is True


async def test_a_verifier_can_read_a_page_whose_dialog_nobody_answered(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(asks("confirm('sure?')")))
    assert (await sandbox.act(Click(x=50, y=80))).dialog
    assert await sandbox.evaluate("window.got") is False
    assert (await sandbox.observe()).dialog is None
    assert await sandbox.evaluate("confirm('within')") is False


async def test_dialogs_are_dismissed_where_a_task_wants_it(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(asks("[alert('a'), confirm('b'), prompt('c')]"), dialogs="dismiss"))
    seen = await sandbox.act(Click(x=50, y=80))
    assert seen.settled and seen.dialog is None
    assert await sandbox.evaluate("got") == [None, False, None]


async def test_a_reset_goes_through_an_open_dialog(sandbox: BrowserSandbox, page) -> None:
    task = page(asks("confirm('sure?')"))
    first = await sandbox.reset(task)
    assert (await sandbox.act(Click(x=50, y=80))).dialog
    again = await sandbox.reset(task)
    assert again.observation.dialog is None
    assert again.observation.screenshot == first.observation.screenshot
