"""The browser as a whole: start states, failures, and what is left behind."""

import asyncio
import contextlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, BrowserSandbox, BrowserSettings, create
from deskhand_sandbox.backends.browser import chromium as chromium_module
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    InvalidTask,
    SandboxDied,
    SandboxTimeout,
)
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Navigate, Observation, Press, Start, Tab, Task, TypeText, Wait

pytestmark = pytest.mark.browser

SHARED = pytest.mark.asyncio(loop_scope="module")


def processes_of(profile: Path) -> list[int]:
    found: list[int] = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                command = (each / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(profile) in command:
                found.append(int(each.name))
    return found


async def gone(profile: Path, within_s: float = 120.0) -> bool:
    deadline = time.monotonic() + within_s
    while processes_of(profile) or profile.exists():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.05)
    return True


# ---- start states


@SHARED
async def test_nothing_of_a_task_survives_the_next(backend: BrowserBackend, visit, site: str) -> None:
    async with await backend.create() as sandbox:
        first = await sandbox.reset(visit(f"{site}/"))
        await sandbox.evaluate(
            "document.cookie = 'a=1'; localStorage.b = 2; sessionStorage.c = 3;history.pushState(1, '', '/d')"
        )
        await sandbox.act(Tab(do="open"))
        again = await sandbox.reset(visit(f"{site}/"))
        left = await sandbox.evaluate(
            "[document.cookie, localStorage.length, sessionStorage.length, history.length, location.pathname]"
        )
        assert left[:3] == ["", 0, 0]  # type: ignore[index]
        assert left[4] == "/"  # type: ignore[index]
        assert again.observation.screenshot == first.observation.screenshot


@SHARED
async def test_held_keys_and_buttons_do_not_reach_the_next_task(sandbox: BrowserSandbox, page) -> None:
    from deskhand_sandbox.types import KeyDown, PointerDown

    task = page("<input id=a>")
    await sandbox.reset(task)
    await sandbox.act(KeyDown(key="Control"))
    await sandbox.act(PointerDown())
    await sandbox.reset(task)
    await sandbox.act(Click(x=20, y=20))
    await sandbox.act(TypeText(text="x"))
    assert await sandbox.evaluate("a.value") == "x"


@SHARED
async def test_a_start_page_that_cannot_be_reached_is_infrastructure(sandbox: BrowserSandbox, visit) -> None:
    with pytest.raises(InfrastructureError, match=r"http://127\.0\.0\.1:9/ does not load"):
        await sandbox.reset(visit("http://127.0.0.1:9/"))
    with pytest.raises(InfrastructureError, match="never became ready"):
        await sandbox.reset(visit("about:blank", ready="false", load_deadline_s=1.0))


@SHARED
async def test_a_task_without_instruction_is_refused(sandbox: BrowserSandbox, page) -> None:
    with pytest.raises(InvalidTask, match="no instruction"):
        await sandbox.reset(replace(page("here"), instruction=""))
    with pytest.raises(InfrastructureError, match="where its instruction was expected"):
        await sandbox.reset(page("here", start="(seed) => 7"))
    drawn = await sandbox.reset(
        replace(page("here", start="(seed) => 'Press ' + seed"), instruction="", seed=4)
    )
    assert drawn.instruction == "Press 4"


@SHARED
async def test_pictures_come_in_the_format_asked_for(sandbox: BrowserSandbox, page) -> None:
    for image_format, begins in (("png", b"\x89PNG"), ("jpeg", b"\xff\xd8"), ("webp", b"RIFF")):
        start = await sandbox.reset(page("here", image_format=image_format, viewport_px=[120, 90]))
        image = start.observation.screenshot
        assert image.data is not None
        assert image.data.startswith(begins)
        assert (image.format, start.observation.size_px) == (image_format, (120, 90))


@SHARED
async def test_the_text_tree_names_what_is_there(sandbox: BrowserSandbox, page) -> None:
    await sandbox.reset(page("<button>Save</button><input type=checkbox checked aria-label=Loud>"))
    tree = (await sandbox.observe(text_tree=True)).text_tree or ""
    assert 'button "Save"' in tree
    assert 'checkbox "Loud" [checked]' in tree


# ---- what pages do to hang a driver


@SHARED
async def test_windows_a_page_opens_come_to_the_front(sandbox: BrowserSandbox, visit, site: str) -> None:
    await sandbox.reset(visit(f"{site}/"))
    await sandbox.evaluate(
        "document.body.style.height='150px'; document.body.onclick = () => { open('/next'); }"
    )
    seen = await sandbox.act(Click(x=150, y=50))
    while not seen.url:  # a window has no address before its page is there
        seen = await sandbox.observe()
    assert seen.url == f"{site}/next"
    assert "next" in str(await sandbox.evaluate("document.body.textContent"))
    await sandbox.evaluate("document.body.style.height='150px'; document.body.onclick = () => { close(); }")
    seen = await sandbox.act(Click(x=150, y=50))
    while seen.url != f"{site}/":  # the window may be seen once more before it has gone
        seen = await sandbox.observe()


@SHARED
async def test_a_page_in_an_endless_loop_ends_in_a_timeout() -> None:
    backend = BrowserBackend(BrowserSettings(call_deadline_s=1.0))
    try:
        sandbox = await backend.create()
        await sandbox.reset(make_task("miniwob/click-test", 1))
        with pytest.raises(SandboxTimeout, match="evaluate took longer than 1 s"):
            await sandbox.evaluate("(() => { for (;;); })()")
        assert backend.alive()
        with pytest.raises(SandboxTimeout, match="not to be used again"):
            await sandbox.observe()
        other = await backend.create()
        await other.reset(make_task("miniwob/click-test", 1))
    finally:
        await backend.close()


# ---- many, the same, fast


@SHARED
async def test_the_same_seed_is_the_same_screen_in_eight_pages_at_once(backend: BrowserBackend) -> None:
    async def play(sandbox: BrowserSandbox, seed: int) -> list[Start | Observation]:
        task = make_task("miniwob/click-button", seed)
        first = await sandbox.reset(task)
        clicked = await sandbox.act(Click(x=80, y=120))
        return [first, clicked, await sandbox.reset(task)]

    sandboxes = [await backend.create() for _ in range(8)]
    played = await asyncio.gather(*(play(each, 40 + index % 4) for index, each in enumerate(sandboxes)))
    for index, (first, _, again) in enumerate(played):
        twin = played[(index + 4) % 8][0]
        assert isinstance(first, Start)
        assert isinstance(again, Start)
        assert isinstance(twin, Start)
        for other in (again, twin):
            assert other.instruction == first.instruction
            assert other.observation.screenshot == first.observation.screenshot
    assert len({start.instruction for start, *_ in played if isinstance(start, Start)}) == 4
    await asyncio.gather(*(each.close() for each in sandboxes))


# ---- failures


async def test_a_killed_browser_ends_every_call_quickly() -> None:
    backend = create()
    task = make_task("miniwob/click-test", 1)
    calls: list[Callable[[BrowserSandbox], Awaitable[object]]] = [
        lambda each: each.act(Wait(seconds=0.0)),
        lambda each: each.observe(),
        lambda each: each.observe(text_tree=True),
        lambda each: each.evaluate("new Promise(() => {})"),
        lambda each: each.reset(task),
        lambda each: each.reset(replace(task, seed=each_seed())),
        lambda each: each.reset(make_task(*next(turns))),
    ]
    turns = itertools.cycle([("miniwob/click-test", 1), ("miniwob/choose-date", 1)])
    each_seed = itertools.count().__next__
    sandboxes = [await backend.create() for _ in calls]
    chromium = await backend.chromium()
    await asyncio.gather(*(each.reset(task) for each in sandboxes))

    async def until_it_dies(index: int) -> str:
        while True:
            try:
                await calls[index](sandboxes[index])
            except SandboxDied as error:
                return str(error)

    pending = [asyncio.create_task(until_it_dies(index)) for index in range(len(calls))]
    await asyncio.sleep(0.3)
    os.kill(chromium.pid, signal.SIGKILL)
    for said in await asyncio.gather(*pending):
        assert str(chromium.pid) in said
    for sandbox in sandboxes:
        with pytest.raises(SandboxDied):
            await sandbox.observe()
        await sandbox.close()

    fresh = await backend.create()
    assert (await fresh.reset(task)).instruction
    newer = await backend.chromium()
    assert newer.pid != chromium.pid
    await backend.close()
    assert await gone(chromium.profile)
    assert await gone(newer.profile)


async def test_a_crashed_page_takes_its_sandbox_and_no_other(patient: Callable[[Task], Task]) -> None:
    backend = create()
    crashing, other = await backend.create(), await backend.create()
    for sandbox in (crashing, other):
        await sandbox.reset(patient(make_task("miniwob/click-test", 1)))
    pending = asyncio.create_task(crashing.evaluate("new Promise(() => {})"))
    await asyncio.sleep(0.1)
    crash = crashing.front.session.send("Page.crash")
    with pytest.raises(SandboxDied, match="crashed"):
        await pending
    with pytest.raises(SandboxDied):
        await crashing.observe()
    with contextlib.suppress(InfrastructureError):
        await crash
    assert (await other.observe()).settled
    await crashing.close()
    await backend.close()


async def test_a_frozen_browser_ends_in_a_timeout_and_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = BrowserBackend(BrowserSettings(call_deadline_s=1.0))
    sandbox = await backend.create()
    chromium = await backend.chromium()
    await sandbox.reset(make_task("miniwob/click-test", 1))
    os.kill(chromium.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch, pytest.raises(SandboxTimeout):
        patch.setattr(chromium_module, "ANSWER_S", 0.2)
        await sandbox.act(Press(keys=("a",)))
    assert not backend.alive()
    await sandbox.close()
    async with await backend.create() as another:
        assert (await another.reset(make_task("miniwob/click-test", 1))).instruction
    await backend.close()
    assert await gone(chromium.profile)


async def test_closing_leaves_nothing_behind() -> None:
    backend = create()
    sandbox = await backend.create()
    chromium = await backend.chromium()
    await sandbox.reset(make_task("miniwob/click-test", 1))
    assert processes_of(chromium.profile)
    await sandbox.close()
    await sandbox.close()
    with pytest.raises(SandboxDied, match="closed"):
        await sandbox.observe()
    await backend.close()
    await backend.close()
    assert await gone(chromium.profile)


@pytest.mark.parametrize("isolation", ["shared", "process"])
async def test_closing_ends_sandboxes_that_are_open(
    visit, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolation: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    backend = create(isolation=isolation)
    sandbox = await backend.create()
    assert isinstance(sandbox, BrowserSandbox)
    await sandbox.reset(visit(f"{site}/", network=[site.removeprefix("http://")]))
    await sandbox.act(Navigate(url=f"{site}/file/a.txt/3"))
    url = urlsplit(await sandbox.open_endpoint())
    assert list(tmp_path.glob("deskhand-browser-*"))
    await backend.close()
    assert not list(tmp_path.glob("deskhand-*"))
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(url.hostname, url.port)
    with pytest.raises(SandboxDied, match="closed"):
        await sandbox.observe()


async def test_a_killed_program_takes_its_browser_with_it(tmp_path: Path) -> None:
    script = tmp_path / "holds_a_browser.py"
    script.write_text(
        "import asyncio\n"
        "from deskhand_sandbox.backends.browser import create\n"
        "async def main():\n"
        "    chromium = await create().chromium()\n"
        "    print(chromium.profile, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        profile = Path(program.stdout.readline().strip())
        assert processes_of(profile)
        program.kill()
    assert await gone(profile)


# ---- no browser


def test_no_chromium_says_the_command_that_mends_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DESKHAND_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackendMissing, match=r"make setup.*apt-get install chromium"):
        create()
    monkeypatch.setenv("DESKHAND_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(BackendMissing, match=r"/nowhere/chromium.*make setup"):
        create()


async def test_a_program_that_is_no_browser_is_named(tmp_path: Path) -> None:
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    backend = create(executable=str(program))
    with pytest.raises(BackendMissing, match="cannot be started"):
        await backend.create()
    await backend.close()
