import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox
from deskhand_sandbox.backends.browser.cdp import CdpError
from deskhand_sandbox.base import Capability
from deskhand_sandbox.errors import InvalidAction, UnsupportedCapability
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.pictures import size_px_of
from deskhand_sandbox.types import (
    CallTool,
    Click,
    DeviceAction,
    Drag,
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
    Wait,
    WriteFile,
)

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

LISTEN = """<body style='margin:0;height:160px'><script>
window.seen = [];
for (const name of
     ['click', 'dblclick', 'auxclick', 'contextmenu', 'mousedown', 'mouseup', 'keydown', 'keyup'])
  addEventListener(name, (event) => {
    seen.push(name + ':' + (event.key ?? event.button + '@' + event.clientX + ',' + event.clientY));
    if (name === 'contextmenu') event.preventDefault();
  });
</script>"""


async def test_clicks_have_a_place_a_button_and_a_count(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(LISTEN))
    await sandbox.act(Click(x=12, y=34))
    assert await sandbox.evaluate("seen") == ["mousedown:0@12,34", "mouseup:0@12,34", "click:0@12,34"]
    await sandbox.evaluate("seen.length = 0")
    await sandbox.act(Click(x=1, y=2, count=2))
    assert await sandbox.evaluate("seen.filter((each) => !each.startsWith('mouse'))") == [
        "click:0@1,2",
        "click:0@1,2",
        "dblclick:0@1,2",
    ]
    await sandbox.evaluate("seen.length = 0")
    await sandbox.act(Click(x=1, y=2, button="right"))
    assert "contextmenu:2@1,2" in await sandbox.evaluate("seen")  # type: ignore[operator]
    await sandbox.act(Click(x=1, y=2, button="middle"))
    assert "auxclick:1@1,2" in await sandbox.evaluate("seen")  # type: ignore[operator]


async def test_a_held_pointer_is_released_where_it_went(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(LISTEN))
    await sandbox.act(MovePointer(x=5, y=6))
    await sandbox.act(PointerDown())
    await sandbox.act(MovePointer(x=50, y=60))
    await sandbox.act(PointerUp())
    assert await sandbox.evaluate("seen.slice(0, 2)") == ["mousedown:0@5,6", "mouseup:0@50,60"]


async def test_typing_makes_real_keys_and_any_text(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(LISTEN + "<textarea id=t autofocus></textarea>"))
    await sandbox.act(Click(x=10, y=10))
    text = "Ab1!\tß漢🙂 (x)"
    await sandbox.evaluate(
        "document.getElementById('t').addEventListener('keydown', (event) => {"
        " if (event.key === 'Tab') { event.preventDefault(); t.setRangeText('\\t', "
        "t.selectionStart, t.selectionEnd, 'end'); } })"
    )
    await sandbox.act(TypeText(text=text + "\nend"))
    assert await sandbox.evaluate("t.value") == text + "\nend"
    seen = await sandbox.evaluate("seen.filter((each) => each.startsWith('keydown')).slice(0, 4)")
    assert seen == ["keydown:A", "keydown:b", "keydown:1", "keydown:!"]


async def test_a_line_end_is_one_enter_and_a_control_character_is_none(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(LISTEN + "<textarea id=t autofocus></textarea>"))
    await sandbox.act(Click(x=10, y=10))
    await sandbox.act(TypeText(text="p\rq\r\nr"))
    assert await sandbox.evaluate("t.value") == "p\nq\nr"
    assert await sandbox.evaluate("seen.filter((each) => each === 'keydown:Enter').length") == 2
    for text in ("s\x01", "s\x08", "s\ud800"):
        with pytest.raises(InvalidAction, match="no character a keyboard types"):
            await sandbox.act(TypeText(text=text))
    assert await sandbox.evaluate("t.value") == "p\nq\nr"


async def test_a_long_text_arrives_whole_and_in_order(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<textarea id=t autofocus></textarea>"))
    await sandbox.act(Click(x=20, y=20))
    text = "".join(chr(33 + index % 90) for index in range(500))
    await sandbox.act(TypeText(text=text))
    assert await sandbox.evaluate("t.value") == text


async def test_a_trailing_newline_submits(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<form onsubmit='window.sent=f.value;return false'><input id=f></form>"))
    await sandbox.act(Click(x=20, y=20))
    await sandbox.act(TypeText(text="hello\n"))
    assert await sandbox.evaluate("window.sent") == "hello"


async def test_shortcuts_work_with_the_clipboard(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<input id=a value='copy me'><br><input id=b>"))
    await sandbox.act(Click(x=20, y=20))
    await sandbox.act(Press(keys=("Control", "a")))
    await sandbox.act(Press(keys=("Control", "c")))
    await sandbox.act(Press(keys=("Tab",)))
    await sandbox.act(Press(keys=("Control", "v")))
    assert await sandbox.evaluate("[a.value, b.value]") == ["copy me", "copy me"]


async def test_held_keys_change_what_others_do(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<input id=a value=word>"))
    await sandbox.act(Click(x=20, y=20))
    await sandbox.act(Press(keys=("End",)))
    await sandbox.act(KeyDown(key="Shift"))
    await sandbox.act(Press(keys=("ArrowLeft",)))
    await sandbox.act(Press(keys=("ArrowLeft",)))
    await sandbox.act(KeyUp(key="Shift"))
    assert await sandbox.evaluate("[a.selectionStart, a.selectionEnd]") == [2, 4]
    await sandbox.act(KeyDown(key="Shift"))
    await sandbox.act(Press(keys=("x",)))
    await sandbox.act(KeyUp(key="Shift"))
    assert await sandbox.evaluate("a.value") == "woX"


async def test_scrolling_is_exact_and_seen_at_once(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<body style='margin:0'><div style='width:2000px;height:3000px'>tall"))
    await sandbox.act(Scroll(x=50, y=50, dy_px=300))
    assert await sandbox.evaluate("[scrollX, scrollY]") == [0, 300]
    await sandbox.act(Scroll(x=50, y=50, dx_px=120, dy_px=-100))
    assert await sandbox.evaluate("[scrollX, scrollY]") == [120, 200]


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_scroll_may_lead_to_another_page(
    sandbox: BrowserSandbox, visit, site: str, *, at_once: bool
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    leave = (
        "location.href = '/next'" if at_once else "requestAnimationFrame(() => { location.href = '/next'; })"
    )
    await sandbox.evaluate(f"addEventListener('wheel', () => {{ {leave}; }}); 1")
    assert (await sandbox.act(Scroll(x=50, y=50, dy_px=100))).url == f"{site}/next"


async def test_a_picture_that_its_document_leaves_is_taken_anew(
    sandbox: BrowserSandbox, page, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(page("here"))
    take = sandbox.front.screenshot
    left = 1

    async def leave(image_format: str, quality: int) -> bytes:
        nonlocal left
        left -= 1
        if left >= 0:
            raise CdpError("Not attached to an active page")
        return await take(image_format, quality)

    monkeypatch.setattr(sandbox.front, "screenshot", leave)
    assert (await sandbox.observe()).settled
    left = 2
    with pytest.raises(CdpError, match="active page"):
        await sandbox.observe()


async def test_dragging_moves_along_the_path(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(
        page(
            "<div id=d style='position:absolute;left:10px;top:10px;width:20px;height:20px;"
            "background:red'></div>"
            "<script>let on = false; window.ys = [];"
            "d.onmousedown = () => { on = true; return false; }; onmouseup = () => { on = false; };"
            "onmousemove = (e) => { if (on) { ys.push(e.clientY);"
            " d.style.left = e.clientX - 10 + 'px'; d.style.top = e.clientY - 10 + 'px'; } };</script>"
        )
    )
    await sandbox.act(Drag(path=((20, 20), (100, 20), (100, 120))))
    assert await sandbox.evaluate("[d.style.left, d.style.top]") == ["90px", "110px"]
    ys = await sandbox.evaluate("ys")
    assert isinstance(ys, list)
    assert ys == sorted(ys)  # type: ignore[type-var]
    assert len(ys) > 10


async def test_html_drag_and_drop_drops(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(
        page(
            "<div id=d draggable=true style='position:absolute;left:10px;top:10px;width:40px;height:40px'>"
            "me</div>"
            "<div id=z style='position:absolute;left:100px;top:80px;width:80px;height:60px'>zone</div>"
            "<script>d.ondragstart = (e) => e.dataTransfer.setData('text/plain', 'payload');"
            "z.ondragover = (e) => e.preventDefault();"
            "z.ondrop = (e) => { e.preventDefault();"
            " window.got = e.dataTransfer.getData('text/plain'); };</script>"
        )
    )
    await sandbox.act(Drag(path=((25, 25), (140, 110))))
    assert await sandbox.evaluate("window.got") == "payload"


async def test_history_and_navigation(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    seen = await sandbox.act(Click(x=15, y=108))
    assert seen.url == f"{site}/next"
    assert (await sandbox.act(History(to="back"))).url == f"{site}/"
    assert (await sandbox.act(History(to="forward"))).url == f"{site}/next"
    with pytest.raises(InvalidAction, match="no page to go forward"):
        await sandbox.act(History(to="forward"))
    await sandbox.evaluate("window.mark = 1")
    assert (await sandbox.act(History(to="reload"))).url == f"{site}/next"
    assert await sandbox.evaluate("window.mark") is None
    assert (await sandbox.act(Navigate(url=f"{site}/slow"))).url == f"{site}/slow"
    assert await sandbox.evaluate("document.title") == "slow"


async def test_an_address_that_does_not_load_shows_the_browser_s_own_page(
    sandbox: BrowserSandbox, page
) -> None:
    await sandbox.reset(page("start"))
    seen = await sandbox.act(Navigate(url="http://127.0.0.1:9/"))
    assert seen.screenshot.data
    await sandbox.act(Click(x=5, y=5))


@pytest.mark.parametrize("format", ["png", "jpeg"])
async def test_whatever_size_a_page_wants_it_is_seen_in_its_task_s(
    sandbox: BrowserSandbox, page, format: str
) -> None:
    opens = "w = open('', '', 'width=90,height=80'); w.document.body.innerHTML = document.body.innerHTML"
    corner = "<p style='position:fixed;margin:0;right:0;bottom:0;width:9px;height:9px' onclick='hit = 1'>"
    for wish in ("document.documentElement.requestFullscreen()", opens, f"{opens}; w.resizeTo(70, 60)"):
        button = f'<button style="position:fixed;inset:0 auto auto 0" onclick="{wish}">Go</button>'
        start = await sandbox.reset(
            page(f"<body>{button}{corner}", viewport_px=[900, 700], image_format=format)
        )
        seen = start.observation
        for action in (Click(x=9, y=9), Click(x=895, y=695)):
            seen = await sandbox.act(action)
            assert seen.screenshot.data is not None and size_px_of(seen.screenshot.data) == seen.size_px
        assert seen.size_px == (900, 700)
        assert await sandbox.evaluate("[hit, innerWidth, innerHeight]") == [1, 900, 700]


async def test_tabs_open_change_and_close(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    assert (await sandbox.act(Tab(do="open"))).url == "about:blank"
    await sandbox.act(Navigate(url=f"{site}/next"))
    assert (await sandbox.act(Tab(do="focus", index=0))).url == f"{site}/"
    with pytest.raises(InvalidAction, match="no tab 2: there are 2"):
        await sandbox.act(Tab(do="focus", index=2))
    assert (await sandbox.act(Tab(do="close"))).url == f"{site}/next"
    assert (await sandbox.act(Tab(do="close"))).url == "about:blank"


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Click(x=200, y=0), r"\(200, 0\) is off the screen, which is 200 x 160"),
        (Click(x=0, y=160), "200 x 160"),
        (MovePointer(x=-1, y=0), "200 x 160"),
        (Scroll(x=0, y=999, dy_px=1), "200 x 160"),
        (Drag(path=((0, 0), (0, 500))), "200 x 160"),
        (Drag(path=((0, 0),)), "at least two points"),
        (Click(x=1, y=1, count=0), "1 to 10 presses"),
        (Press(keys=()), "at least one key"),
        (Press(keys=("Control", "Entr")), "did you mean Enter"),
        (KeyUp(key="a"), "not held"),
        (KeyDown(key="Hyperspace"), "unknown key"),
        (Wait(seconds=-1), "0 to 600"),
        (Navigate(url="file:///etc/passwd"), "cannot open"),
        (Navigate(url="javascript:alert(1)"), "cannot open"),
        (Navigate(url="chrome://settings"), "cannot open"),
        (Navigate(url=""), "cannot open"),
        (Navigate(url="https://"), "cannot open 'https://'"),
        (Navigate(url="https://[your-site].com/"), r"cannot open 'https://\[your-site\].com/'"),
        (Navigate(url="http://localhost:port/"), "cannot open 'http://localhost:port/'"),
        (Navigate(url="example.com:80800"), "cannot open 'https://example.com:80800'"),
        (Tab(do="close", index=5), "no tab 5"),
    ],
)
async def test_impossible_actions_are_the_agent_s_fault_and_do_nothing(
    sandbox: BrowserSandbox, page, action: DeviceAction, said: str
) -> None:
    start = await sandbox.reset(page(LISTEN + "here"))
    with pytest.raises(InvalidAction, match=said):
        await sandbox.act(action)
    assert await sandbox.evaluate("seen") == []
    assert (await sandbox.observe()).screenshot == start.observation.screenshot


@pytest.mark.parametrize(
    "action",
    [
        Touch(x=1, y=1),
        Swipe(path=((1, 1), (2, 2))),
        OpenApp(name="Clock"),
        History(to="home"),
        CallTool(name="search"),
    ],
)
async def test_actions_of_other_devices_are_refused_as_such(
    sandbox: BrowserSandbox, page, action: DeviceAction
) -> None:
    await sandbox.reset(page("here"))
    with pytest.raises(UnsupportedCapability, match="browser"):
        await sandbox.act(action)


async def test_a_terminal_stands_beside_the_page(sandbox: BrowserSandbox, page) -> None:
    start = await sandbox.reset(page("here"))
    assert (start.observation.terminal, start.observation.output) == (None, None)
    await sandbox.act(WriteFile(path="list.txt", content="b\na\n"))
    seen = await sandbox.act(Run(command="sort list.txt"))
    assert seen.output == "a\nb" and "sort list.txt" in (seen.terminal or "")
    assert seen.screenshot == start.observation.screenshot
    clicked = await sandbox.act(Click(x=1, y=1))
    assert clicked.output is None and clicked.terminal == seen.terminal
    again = await sandbox.reset(page("here"))
    assert again.observation.terminal is None
    with pytest.raises(InvalidAction, match=r"list.txt cannot be read"):
        await sandbox.act(ReadFile(path="list.txt"))


async def test_without_a_confinement_there_is_no_terminal(
    backend: BrowserBackend, page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Confinement, "available", lambda: False)
    async with await backend.create() as sandbox:
        assert Capability.RUN not in sandbox.capabilities
        await sandbox.reset(page("here"))
        with pytest.raises(UnsupportedCapability, match="bubblewrap"):
            await sandbox.act(Run(command="ls"))
