"""Settling: what is waited for, what is not."""

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.backends.browser.tab import Tab
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.types import Click, History, Navigate, Scroll

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

BUTTON = "<body style='margin:0'><div id=b style='width:60px;height:30px;background:%23ccc'>go</div>"


def on_click(script: str) -> str:
    return f"{BUTTON.replace('%23', '#')}<p id=p>-</p><script>b.onclick = () => {{ {script} }}</script>"


async def test_a_still_page_is_not_waited_for(
    sandbox: BrowserSandbox, page, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(page("still"))
    assert await sandbox.evaluate("__deskhand.settle(1000) === true")  # and no promise
    asked: list[str] = []
    ask = Tab._ask

    async def noted(tab: Tab, question: str, within_s: float) -> object:
        asked.append(question)
        return await ask(tab, question, within_s)

    monkeypatch.setattr(Tab, "_ask", noted)
    assert all([(await sandbox.observe()).settled for _ in range(3)])
    assert len(asked) == 3


@pytest.mark.parametrize(
    "script",
    [
        "setTimeout(() => { p.textContent = 'done'; }, 250)",
        "setTimeout(() => setTimeout(() => { p.textContent = 'done'; }, 120), 120)",
        "let n = 0; const id = setInterval(() => { p.textContent = n; if (++n > 12) {"
        " clearInterval(id); p.textContent = 'done'; } }, 15)",
        "let n = 0; const f = () => { p.textContent = n; if (++n > 15) p.textContent = 'done';"
        " else requestAnimationFrame(f); }; requestAnimationFrame(f)",
        "p.animate([{opacity: 0}, {opacity: 1}], 300).finished.then(() => { p.textContent = 'done'; })",
        "Promise.resolve().then(() => { p.textContent = 'done'; })",
    ],
    ids=["timer", "timer from a timer", "interval", "frames", "animation", "promise"],
)
async def test_what_a_click_sets_going_is_waited_for(sandbox: BrowserSandbox, page, script: str) -> None:
    await sandbox.reset(page(on_click(script)))
    seen = await sandbox.act(Click(x=10, y=10))
    assert seen.settled
    assert await sandbox.evaluate("p.textContent") == "done"


async def test_a_transition_is_waited_for(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(
        page("<style>p{transition:margin-left .3s}</style>" + on_click("p.style.marginLeft='80px'"))
    )
    seen = await sandbox.act(Click(x=10, y=10))
    assert seen.settled
    assert await sandbox.evaluate("getComputedStyle(p).marginLeft") == "80px"
    assert (await sandbox.observe()).screenshot.digest == seen.screenshot.digest


async def test_requests_are_waited_for(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(
        "document.body.onclick = () => { fetch('/slow').then((r) => r.text())"
        ".then((t) => { document.body.textContent = t; }); }; document.body.style.height = '150px'"
    )
    seen = await sandbox.act(Click(x=150, y=50))
    assert seen.settled
    assert "slow" in str(await sandbox.evaluate("document.body.textContent"))
    assert (await sandbox.observe()).screenshot.digest == seen.screenshot.digest


@pytest.mark.parametrize("kind", ["Worker", "SharedWorker"])
async def test_a_worker_does_not_keep_its_page_from_coming_to_rest(
    sandbox: BrowserSandbox, visit, site: str, kind: str
) -> None:
    await sandbox.reset(visit(f"{site}/"))
    code = "URL.createObjectURL(new Blob(['postMessage(1)']))"
    for script in ("'/worker.js'", code):
        await sandbox.evaluate(f"globalThis.kept = new {kind}({script}); 1")
        assert (await sandbox.observe()).settled


async def test_images_are_loaded_before_the_first_look(sandbox: BrowserSandbox, visit, site: str) -> None:
    start = await sandbox.reset(visit(f"{site}/image"))
    assert start.observation.settled
    assert await sandbox.evaluate("document.images[0].complete") is True


async def test_a_page_that_never_rests_meets_the_deadline(sandbox: BrowserSandbox, page) -> None:
    html = "<p id=p></p><script>setInterval(() => { p.textContent = Math.random(); }, 10)</script>"
    start = await sandbox.reset(page(html, settle_deadline_ms=300))
    assert not start.observation.settled
    assert start.observation.settled_ms >= 300


@pytest.mark.parametrize(
    "loop",
    [
        "setInterval(() => {}, 10)",
        "const f = () => requestAnimationFrame(f); f()",
        "const f = () => setTimeout(f, 5); f()",
        "document.body.animate([{opacity: 1}, {opacity: 1}], {duration: 500, iterations: Infinity})",
        "setInterval(() => { document.title = Date.now(); }, 60000)",
    ],
    ids=["interval", "frames", "timer chain", "endless animation", "slow interval"],
)
async def test_loops_that_change_nothing_are_not_waited_for(sandbox: BrowserSandbox, page, loop: str) -> None:
    start = await sandbox.reset(page(f"<body>loop<script>{loop}</script>"))
    assert start.observation.settled
    assert (await sandbox.observe()).settled


async def test_timers_keep_their_meaning(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(
        page(
            "<script>window.got = []; setTimeout('got.push(1)', 1);"
            "setTimeout((a, b) => got.push(a + b), 5, 2, 3);"
            "const id = setTimeout(() => got.push('never'), 2); clearTimeout(id);"
            "const i = setInterval((a) => { got.push(a); clearInterval(i); }, 8, 'i');"
            "const r = requestAnimationFrame(() => got.push('no frame')); cancelAnimationFrame(r);</script>"
        )
    )
    assert await sandbox.evaluate("got") == [1, 5, "i"]


async def test_expressions_give_json_or_a_clear_error(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("here"))
    assert await sandbox.evaluate("({a: [1, 'x', null, true]})") == {"a": [1, "x", None, True]}
    assert await sandbox.evaluate("undefined") is None
    assert await sandbox.evaluate("new Promise((done) => setTimeout(done, 5, 'later'))") == "later"
    with pytest.raises(VerifierError, match="nowhere is not defined"):
        await sandbox.evaluate("nowhere.at.all")
    with pytest.raises(VerifierError, match="SyntaxError"):
        await sandbox.evaluate("(((")
    with pytest.raises(VerifierError):
        await sandbox.evaluate("(() => { const a = {}; a.a = a; return a; })()")


@pytest.mark.parametrize("by", [Navigate(url="/never"), Click(x=15, y=108), History(to="reload")])
async def test_a_page_that_never_comes_leaves_the_one_there_is(
    sandbox: BrowserSandbox, visit, site: str, by: Navigate | Click | History
) -> None:
    await sandbox.reset(visit(f"{site}/", settle_deadline_ms=300))
    await sandbox.evaluate(
        "document.querySelector('a').href = '/never'; document.body.style.height = '2000px'"
    )
    if isinstance(by, Navigate):
        by = Navigate(url=f"{site}{by.url}")
    elif isinstance(by, History):
        await sandbox.evaluate("history.pushState(0, '', '/never')")
    assert not (await sandbox.act(by)).settled
    assert not (await sandbox.act(Scroll(x=50, y=50, dy_px=100))).settled
    seen = await sandbox.observe(text_tree=True)
    assert (seen.settled, seen.text_tree) == (False, None)
    assert await sandbox.evaluate("document.querySelector('h1').textContent") == "home"
    while not (seen := await sandbox.observe(text_tree=True)).settled:
        pass  # there is little time for it
    assert "home" in (seen.text_tree or "")
