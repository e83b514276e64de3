"""Page time: stopped, slowed, sped up, and exact in between."""

import asyncio

import pytest

from deskhand_sandbox.backends.browser import BrowserSandbox
from deskhand_sandbox.errors import InvalidTask, UnsupportedCapability
from deskhand_sandbox.types import Click, Navigate

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

CLOCKS = "[performance.now(), Date.now(), new Date().getTime(), frames.n, ticks.n, turned()]"
PAGE = """<body style='margin:0'><style>@keyframes t { from { margin-left: 0 } to { margin-left: 100px } }
div { animation: t 100s linear infinite; width: 20px; height: 20px; background: red }</style><div id=d></div>
<script>var frames = {n: 0}, ticks = {n: 0};
const f = () => { window.frames_ = ++frames.n; requestAnimationFrame(f); }; f();
setInterval(() => { ticks.n += 1; }, 50);
const turned = () => Math.round(parseFloat(getComputedStyle(d).marginLeft) * 1000);</script>"""


async def around_a_frame(sandbox: BrowserSandbox) -> tuple[float, float]:
    """Real milliseconds before and after the browser draws a whole frame."""
    moments = await sandbox.evaluate(
        """(async ({now, requestAnimationFrame: frame}) => {
            const before = now();
            await new Promise(drawn => frame(() => frame(drawn)));
            return [before, now()];
        })(__deskhandTime.real)"""
    )
    assert isinstance(moments, list)
    return moments[0], moments[1]  # type: ignore[return-value]


async def test_stopped_time_stands_still_and_goes_on(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page(PAGE, page_speed=0.0))
    await sandbox.resume_time()
    while not await sandbox.evaluate("frames.n > 1 && ticks.n > 1"):
        pass
    await sandbox.pause_time()
    first = await sandbox.evaluate(CLOCKS)
    await asyncio.sleep(0.25)
    assert await sandbox.evaluate(CLOCKS) == first
    seen = await sandbox.observe()
    assert seen.settled  # nothing moves
    assert (await sandbox.act(Click(x=100, y=100))).screenshot == seen.screenshot
    await sandbox.resume_time()
    async with asyncio.timeout(120):
        while not all(b > a for a, b in zip(first, await sandbox.evaluate(CLOCKS), strict=True)):  # type: ignore[arg-type,operator]
            pass


@pytest.mark.parametrize("speed", [20.0, 0.2])
async def test_time_goes_as_fast_as_it_is_told(sandbox: BrowserSandbox, page, speed: float) -> None:
    """Every clock of a page agrees, and they run `speed` times as fast as one that nobody touches."""
    await sandbox.reset(page(PAGE, page_speed=0.0))
    real = "__deskhandTime.real.now()"
    before, _ = await around_a_frame(sandbox)
    began = await sandbox.evaluate(f"[{real}, ...{CLOCKS}]")
    await sandbox.resume_time(speed=speed)
    await asyncio.sleep(0.6)
    while not await sandbox.evaluate("frames.n"):
        pass
    await sandbox.pause_time()
    ended = await sandbox.evaluate(f"[{real}, ...{CLOCKS}]")
    _, after = await around_a_frame(sandbox)
    passed, shown, date, new_date, frames, ticks, turned = (
        b - a
        for a, b in zip(began, ended, strict=True)  # type: ignore[arg-type]
    )
    assert frames > 0
    # asking takes real time before and after: the page's part of it is less than all
    assert speed * 300 < shown <= speed * passed + 1
    assert abs(date - shown) <= 2 and abs(new_date - shown) <= 2
    # those due while the page was busy, as it was stopped, come when it goes on
    assert speed * 300 / 50 - 1 < ticks <= shown / 50 + 1
    # of 100 px in 100 s, in thousandths of a pixel; its speed is set a moment after the clocks' and goes by
    # whole frames: from the one before that moment, to the one after it
    assert speed * 300 < turned <= speed * (after - before) + 1


async def test_timers_run_in_order_at_their_own_moment(sandbox: BrowserSandbox, page) -> None:
    script = """<script>const got = []; const from = performance.now();
    const say = (name) => got.push([name, Math.round(performance.now() - from)]);
    setTimeout(say, 3000, 'c'); setTimeout(say, 1000, 'a'); setTimeout(() => say('b'), 2000);
    const never = setTimeout(say, 1500, 'never'); clearTimeout(never);
    let left = 5; const chain = () => { say('chain' + left); if (--left) setTimeout(chain, 10); };
    setTimeout(chain, 1200);
    let rounds = 3; const id = setInterval(() => { say('i'); if (!--rounds) clearInterval(id); }, 700);
    setTimeout("got.push(['text', 0])", 2100);</script>"""
    await sandbox.reset(page(script, page_speed=0.0))
    assert await sandbox.evaluate("got") == []
    await sandbox.resume_time(speed=100.0)
    seen = await sandbox.observe()
    while len(await sandbox.evaluate("got")) < 12:  # type: ignore[arg-type]
        seen = await sandbox.observe()
    assert seen.settled
    expected = [["i", 700], ["a", 1000], ["chain5", 1200], ["chain4", 1210], ["chain3", 1220]]
    expected += [["chain2", 1230], ["chain1", 1240], ["i", 1400], ["b", 2000], ["i", 2100]]
    got = await sandbox.evaluate("got")
    assert [each for each in got if each[0] != "text"] == [*expected, ["c", 3000]]  # type: ignore[union-attr]


async def test_the_clock_is_the_same_in_frames_and_on_the_next_page(
    sandbox: BrowserSandbox, visit, site: str
) -> None:
    await sandbox.reset(visit(f"{site}/", page_speed=1000.0))
    await asyncio.sleep(0.1)
    await sandbox.pause_time()
    date = await sandbox.evaluate("Date.now()")
    real = await sandbox.evaluate("Date.now() - performance.now() + __deskhandTime.real.now()")
    assert date > real + 50_000  # type: ignore[operator]
    await sandbox.act(Navigate(url=f"{site}/next"))
    assert await sandbox.evaluate("Date.now()") == pytest.approx(date, abs=5)
    frame = f"<iframe src='{site}/frame'></iframe>"
    await sandbox.evaluate(f"document.body.insertAdjacentHTML('beforeend', `{frame}`)")
    await sandbox.observe()
    assert await sandbox.evaluate("frames[0].Date.now()") == pytest.approx(date, abs=5)
    await sandbox.resume_time(speed=1.0)
    assert await sandbox.evaluate("new Promise((done) => frames[0].setTimeout(done, 5, 'ran'))") == "ran"


async def test_time_that_a_task_leaves_alone_cannot_be_paused(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("here"))
    with pytest.raises(UnsupportedCapability, match="page_speed"):
        await sandbox.pause_time()
    for speed in (-1, 1e9, True, "fast"):
        with pytest.raises(InvalidTask, match="times as fast"):
            await sandbox.reset(page("here", page_speed=speed))
    await sandbox.reset(page("here", page_speed=1))
    with pytest.raises(InvalidTask, match="times as fast"):
        await sandbox.resume_time(speed=-1)
