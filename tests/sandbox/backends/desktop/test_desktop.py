"""Real desktops: Xvfb, openbox and xterm in a real confinement, driven by the real pyautogui."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from deskhand_sandbox.backends.action_checks import MAX_SCROLL_PX
from deskhand_sandbox.backends.desktop import DesktopBackend, DesktopSandbox, create, session
from deskhand_sandbox.backends.desktop.settings import screen_settings
from deskhand_sandbox.backends.desktop.stock import Stock
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.conformance import check_backend
from deskhand_sandbox.dialects.pyautogui import read_script
from deskhand_sandbox.errors import (
    CommandHung,
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    UnsupportedCapability,
    VerifierError,
)
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.isolation import Limits
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.terminal.verdict import COMMAND_BYTES
from deskhand_sandbox.tools.program import RunsPrograms
from deskhand_sandbox.types import (
    CallTool,
    Click,
    DeviceAction,
    Drag,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Task,
    TypeText,
    VerifierSpec,
    Wait,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")
Desk = Callable[..., Task]
LEFT_OUT = "[a program, or the rest of it, is left out"


async def shell(sandbox: DesktopSandbox, command: str) -> str:
    return (await sandbox.act(Run(command=command))).output or ""


async def until(sandbox: Sandbox, command: str) -> None:
    """Until a shell command succeeds: programs take their time to start and to read."""
    async with asyncio.timeout(120):
        while await sandbox.evaluate(command) is False:
            await asyncio.sleep(0.05)


async def tree_with(sandbox: DesktopSandbox, *words: str) -> str:
    """What is on the windows, once it holds these: programs tell of themselves some time after they show."""
    async with asyncio.timeout(120):
        while True:
            tree = (await sandbox.observe(text_tree=True)).text_tree or ""
            if all(word in tree for word in words):
                return tree


async def test_a_desktop_conforms(backend: DesktopBackend, desk: Desk) -> None:
    quiet: list[str] = ["xterm", "-geometry", "60x20+20+20", "-e", "cat"]
    await check_backend(backend, desk(applications=[quiet], still_ms=200))


async def test_any_text_is_typed(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    ascii = "".join(map(chr, range(ord(" "), ord("~") + 1)))
    text = f"grüße 日本語\u3000😀 5\u00a0€uro 👩\u200d🚀 {ascii} ЖЩ" + "".join(
        chr(0x4E00 + n) for n in range(300)
    )
    await sandbox.act(TypeText(text="cat > typed\n"))
    await until(sandbox, "test -f typed")
    await sandbox.act(TypeText(text=f"{text}\n"))
    await until(sandbox, "test -s typed")
    assert await shell(sandbox, "cat typed") == text
    with pytest.raises(InvalidAction, match="no character a keyboard types"):
        await sandbox.act(TypeText(text="bell\a"))


async def test_keys_work_together_and_alone(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    await sandbox.act(TypeText(text="cat > keys\n"))
    await until(sandbox, "test -f keys")
    await sandbox.act(TypeText(text="abc"))
    await sandbox.act(Press(keys=("Backspace",)))
    await sandbox.act(KeyDown(key="Shift"))
    await sandbox.act(Press(keys=("d",)))
    await sandbox.act(KeyUp(key="Shift"))
    await sandbox.act(Press(keys=("é",)))
    await sandbox.act(Press(keys=("Enter",)))
    await until(sandbox, "test -s keys")
    assert await shell(sandbox, "cat keys") == "abDé"
    with pytest.raises(InvalidAction, match="did you mean Enter"):
        await sandbox.act(Press(keys=("Entr",)))
    with pytest.raises(InvalidAction, match="unknown key 'F13'; did you mean F"):
        await sandbox.act(KeyDown(key="F13"))


async def test_the_pointer_clicks_drags_and_turns_the_wheel(sandbox: DesktopSandbox, desk: Desk) -> None:
    start = (await sandbox.reset(desk(prepare="seq 200 > numbers; echo one two > words"))).observation
    await sandbox.act(TypeText(text="clear; cat words; touch shown\n"))
    await until(sandbox, "test -f shown")
    shown = await sandbox.act(MovePointer(x=0, y=0))
    assert shown.screenshot.digest != start.screenshot.digest
    # a double click selects a word of the second line, a drag the whole of it
    await sandbox.act(Click(x=40, y=52, count=2))
    await until(sandbox, "xclip -o | grep -qxE 'one|two|[$]'")
    await sandbox.act(Drag(path=((22, 52), (120, 52))))
    await until(sandbox, "xclip -o | grep -qE '^(one two|[$] )'")
    # sooner xterm may take it for a second click, which selects whole words
    await sandbox.act(Wait(seconds=0.5))
    await sandbox.act(MovePointer(x=22, y=52))
    await sandbox.act(PointerDown())
    await sandbox.act(MovePointer(x=60, y=52))
    await sandbox.act(PointerUp())
    await until(sandbox, "xclip -o | grep -qvE '^(one two|[$] )'")
    await sandbox.act(Click(x=200, y=200))
    await sandbox.act(TypeText(text="cat numbers; touch counted\n"))
    await until(sandbox, "test -f counted")
    bottom = await sandbox.act(Wait(seconds=0.3))
    above = await sandbox.act(Scroll(x=200, y=200, dy_px=-300))
    assert above.screenshot.digest != bottom.screenshot.digest
    again = await sandbox.act(Scroll(x=200, y=200, dy_px=300))
    assert again.screenshot.digest != above.screenshot.digest


async def test_scripts_of_osworld_run_unmodified(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    script = """
import pyautogui
import time
pyautogui.click(300, 200, duration=0.2)
pyautogui.typewrite('echo one tw', interval=0.02)
time.sleep(0.1)
pyautogui.press('backspace', presses=2)
pyautogui.write('> made', interval=0.01)
pyautogui.hotkey('ctrl', 'a')
pyautogui.write(' ')
pyautogui.press('enter')
"""
    for action in read_script(script):
        await sandbox.act(cast("DeviceAction", action))
    await until(sandbox, "test -s made")
    assert await shell(sandbox, "cat made") == "one"


async def test_what_is_on_the_windows_is_told_as_text(sandbox: DesktopSandbox, desk: Desk) -> None:
    editor: list[JsonValue] = ["mousepad", "letter.txt"]
    await sandbox.reset(desk(applications=[editor], prepare="echo grüße > letter.txt", ready_deadline_s=120))
    tree = await tree_with(sandbox, 'application "mousepad"', 'value="grüße', 'menu "File"')
    found = re.search(r'menu "File" \((\d+), (\d+)\)', tree)
    assert found is not None
    await sandbox.act(Click(x=int(found[1]), y=int(found[2])))
    assert await tree_with(sandbox, 'menu item "Save"') != tree
    assert (await sandbox.observe()).text_tree is None
    capped = desk(applications=[editor], text_tree_nodes=3, ready_deadline_s=120)
    await sandbox.reset(capped)
    few = (await tree_with(sandbox, "[the rest is left out]")).splitlines()
    assert len(few) == 4
    assert few[-1] == "[the rest is left out]"


async def test_a_program_that_does_not_answer_is_told_of_and_holds_no_tree_up(
    sandbox: DesktopSandbox, desk: Desk
) -> None:
    programs: list[JsonValue] = [["mousepad"], ["mousepad", "--disable-server", "other.txt"]]
    await sandbox.reset(desk(applications=programs, ready_deadline_s=120, text_tree_deadline_ms=60_000))
    assert LEFT_OUT not in ((await sandbox.observe(text_tree=True)).text_tree or "")
    assert await sandbox.evaluate("pkill -STOP -o mousepad")
    tree = (await sandbox.observe(text_tree=True)).text_tree or ""
    assert f"{LEFT_OUT}: atspi_error: Did not receive a reply" in tree
    assert 'menu "File"' in tree
    assert await sandbox.evaluate("pkill -STOP mousepad")
    assert ((await sandbox.observe(text_tree=True)).text_tree or "").count(LEFT_OUT) == 2


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("pkill -STOP -f at-spi2-regist[r]yd", "the accessibility registry does not answer"),
        ("pkill -KILL -f 'at-spi-bus-launche[r]|at-spi2/accessibilit[y]'", "nobody answers on the acc"),
        ("pkill -STOP -f at-spi2/accessibilit[y]", "nobody answered in 1 s"),
    ],
)
async def test_a_tree_nobody_can_tell_of_is_no_empty_one(
    sandbox: DesktopSandbox, desk: Desk, broken: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sandbox.reset(desk(text_tree_deadline_ms=30_000))
    assert (await sandbox.observe(text_tree=True)).text_tree == ""  # xterm tells nothing
    assert await sandbox.evaluate(broken)
    if "nobody answered" in said:
        monkeypatch.setattr(session, "TREE_STARTS_S", -29.0)
    with pytest.raises(InfrastructureError, match=f"no accessibility tree: {said}"):
        await sandbox.observe(text_tree=True)
    assert (await sandbox.observe()).text_tree is None


async def test_terminal_and_screen_are_one_machine(sandbox: DesktopSandbox, desk: Desk) -> None:
    start = await sandbox.reset(desk(applications=[]))
    await shell(sandbox, "xterm -title second -geometry 40x5+50+50 & echo started")
    async with asyncio.timeout(120):
        while (await sandbox.observe()).screenshot.digest == start.observation.screenshot.digest:
            await asyncio.sleep(0.05)
    assert "xterm -title second" in await shell(sandbox, "ps ax")
    assert "Xvfb" in await shell(sandbox, "ps ax")
    assert await shell(sandbox, "ls -d /srv /etc/shadow 2>&1 | grep -c 'No such'; id -un") == "2\nagent"
    assert "0000000000000000" in await shell(sandbox, "grep CapEff /proc/self/status")


async def test_programs_inside_can_be_talked_to(sandbox: DesktopSandbox, desk: Desk) -> None:
    assert isinstance(sandbox, RunsPrograms)
    await sandbox.reset(desk(applications=[]))
    program = await sandbox.start_program(
        ("sh", "-c", "read line; echo $line $DISPLAY $MORE"), {"MORE": "more"}
    )
    await program.write(b"said\n")
    assert re.fullmatch(rb"said :\d+ more\n", await program.read_line())
    await program.close()


async def test_an_agent_cannot_answer_for_the_hand(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(applications=[]))
    hand = await sandbox.evaluate("pgrep -x python")
    said = await shell(sandbox, f"cat /proc/{hand}/environ; echo x > /proc/{hand}/fd/1")
    assert said.count("Permission denied") == 2
    await sandbox.ping()


async def test_verifiers_look_at_files(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    verifier = create_verifier(
        VerifierSpec(name="expression", settings={"expression": "grep -qx hello note"})
    )
    with pytest.raises(VerifierError, match="No such file"):
        await verifier.score(sandbox, answer=None)
    await sandbox.act(TypeText(text="echo bye > note\n"))
    await until(sandbox, "test -s note")
    assert not (await verifier.score(sandbox, answer=None)).success
    await sandbox.act(TypeText(text="echo hello > note\n"))
    await until(sandbox, "grep -q hello note")
    assert (await verifier.score(sandbox, answer=None)).success
    assert await sandbox.evaluate("echo '[1, 2]'") == [1, 2]
    assert await sandbox.evaluate("echo two words") == "two words"


async def test_a_task_prepares_its_files_from_the_seed(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(prepare="echo $SEED > seed"))
    assert await shell(sandbox, "cat seed") == "0"
    with pytest.raises(InvalidTask, match=r"exit status 4: no luck"):
        await sandbox.reset(desk(prepare="echo no luck >&2; exit 4"))
    with pytest.raises(InfrastructureError, match=r"was killed"):
        await sandbox.reset(desk(prepare="kill -KILL $$"))
    with pytest.raises(InfrastructureError, match=r"no-such-program"):
        await sandbox.reset(desk(applications=[["no-such-program"]]))
    await sandbox.reset(desk())


async def test_what_a_script_leaves_running_is_not_waited_for(sandbox: DesktopSandbox, desk: Desk) -> None:
    talks = "(while sleep 0.02; do echo on >> said; seq 1000; done) &"
    await sandbox.reset(desk(applications=[], prepare=f"{talks} echo ready > note", ready_deadline_s=120))
    assert await sandbox.evaluate("sleep 600 & cat note") == "ready"
    # its output is read on: it would stand still once the pipe is full
    await until(sandbox, "test $(wc -l < said) -gt 30")
    async with asyncio.timeout(120):
        with pytest.raises(CommandHung, match="did not end in 1 s"):
            await sandbox.session.evaluate("sleep 600 & sleep 600", timeout_s=1)


async def test_a_command_that_no_program_can_be_given_is_refused(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(applications=[]))
    assert await sandbox.evaluate("true " + "x" * (COMMAND_BYTES - 5)) is True
    for command in ("true " + "x" * (COMMAND_BYTES - 4), "true \0"):
        with pytest.raises(InvalidTask, match="the task's command 'true"):
            await sandbox.evaluate(command)
        with pytest.raises(InvalidTask, match="the task's command 'true"):
            await sandbox.reset(desk(applications=[], prepare=command))
    await sandbox.reset(desk(applications=[]))


async def test_a_pipe_in_the_place_of_a_file_hangs_the_command_alone(
    sandbox: DesktopSandbox, desk: Desk
) -> None:
    await sandbox.reset(desk(applications=[]))
    await sandbox.act(Run(command="mkfifo note"))
    with pytest.raises(CommandHung, match="while another command did"):
        await sandbox.session.evaluate("cat note", timeout_s=1)
    assert await sandbox.evaluate("test -p note") is True


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"applications": "xterm"}, "lists of words"),
        ({"applications": [[]]}, "lists of words"),
        ({"size_px": [10, 10]}, "from 64 to 8192"),
        ({"image_format": "gif"}, "png, jpeg or webp"),
        ({"still_ms": 0}, "still_ms must be a positive number"),
        ({"prepare": 3}, "prepare must be text"),
        ({"aplications": []}, "did you mean applications"),
    ],
)
async def test_wrong_settings_are_refused(desk: Desk, settings: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        screen_settings(desk(**settings))


async def test_what_a_desktop_lacks_is_said(sandbox: DesktopSandbox, desk: Desk) -> None:
    assert Capability.FORK not in sandbox.capabilities
    await sandbox.reset(desk())
    for action in (Navigate(url="https://example.org"), CallTool(name="x")):
        with pytest.raises(UnsupportedCapability, match=type(action).__name__):
            await sandbox.act(action)
    with pytest.raises(InvalidAction, match="0 to 600 seconds"):
        await sandbox.act(Wait(seconds=601))


async def test_a_dead_screen_is_noticed_and_leaves_nothing(desk: Desk, tmp_path: Path) -> None:
    sandbox = await create().create()
    await sandbox.reset(desk())
    assert sandbox.alive()
    pid, folder = sandbox.session.pid, sandbox.session.folder
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(SandboxDied):
        for _ in range(50):
            await sandbox.observe()
    with pytest.raises(SandboxDied, match="not to be used again"):
        await sandbox.observe()
    assert not sandbox.alive()
    await sandbox.close()
    assert not folder.exists()
    async with asyncio.timeout(120):
        while any(str(folder) in line for line in command_lines()):
            await asyncio.sleep(0.02)


async def test_a_killed_x_server_is_the_end_of_the_desktop(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    assert await sandbox.evaluate("pkill -KILL Xvfb")
    with pytest.raises(SandboxDied, match="the X server has ended"):
        await sandbox.observe()
    with pytest.raises(SandboxDied):
        await sandbox.evaluate("false")  # and no verdict
    assert not sandbox.alive()


async def test_nothing_is_left_of_a_reset_that_is_cut_short(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sandbox = await create(spares=0).create()
    task = desk(prepare="touch here; sleep 600", ready_deadline_s=600)
    resetting = asyncio.create_task(sandbox.reset(task))
    async with asyncio.timeout(120):
        while not list(tmp_path.glob("*/home/here")):
            await asyncio.sleep(0.01)
    await sandbox.close()
    with pytest.raises(SandboxDied, match="closed during reset"):
        await resetting
    assert list(tmp_path.iterdir()) == []
    assert not any(str(tmp_path) in line for line in command_lines())
    await sandbox.close()
    assert not sandbox.alive()


async def test_a_cancelled_look_does_not_answer_the_next_one(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(still_ms=400, settle_deadline_ms=2000))
    looking = asyncio.create_task(sandbox.observe())
    await asyncio.sleep(0.05)
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking
    await sandbox.ping()
    assert (await sandbox.act(Run(command="echo still here"))).output == "still here"
    seen = await sandbox.observe()
    assert seen.screenshot.data is not None
    assert seen.screenshot.data.startswith(b"\x89PNG")


async def test_a_closed_backend_leaves_no_desktop(desk: Desk) -> None:
    backend = create()
    sandbox = await backend.create()
    await sandbox.reset(desk())
    await backend.close()
    with pytest.raises(SandboxDied):
        await sandbox.observe()
    await sandbox.close()
    with pytest.raises(SandboxDied, match="closed"):
        await backend.create()
    await backend.close()


def command_lines() -> list[str]:
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(place.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


async def test_a_read_that_never_ends_leaves_no_program(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(prepare="mkfifo nobody-writes"))
    with pytest.raises(InvalidAction, match="longer than"):
        await sandbox.act(ReadFile(path="nobody-writes"))
    await until(sandbox, "! pgrep -x head > head || false")


async def test_the_next_desktop_waits_ready(backend: DesktopBackend, desk: Desk) -> None:
    stock = Stock(1, Limits(memory_mb=1024, processes=64))
    size_px = (320, 240)
    try:
        for _ in range(2):
            await (await stock.take(size_px)).close()
        await settled(stock)
        ready = await stock.take(size_px)
        await settled(stock)
        other = await stock.take(size_px)
        assert other is not ready
        os.kill(other.pid, signal.SIGKILL)
        await ready.close()
        await other.close()
        await settled(stock)
        for session in stock.ready:
            os.kill(session.pid, signal.SIGKILL)
            async with asyncio.timeout(120):
                while not session.ended:
                    await asyncio.sleep(0.01)
        alive = await stock.take(size_px)
        await alive.ask("ping")
        await alive.close()
        larger = await stock.take((400, 300))
        told, _ = await larger.ask("look", deadline_ms=60_000, still_ms=20, format="png", quality=80)
        assert told["settled"] is True
        await larger.close()
    finally:
        await stock.close()
    assert stock.ready == ()


async def test_a_new_desktop_is_of_the_size_last_asked_for(backend: DesktopBackend, desk: Desk) -> None:
    small = desk(applications=[], size_px=[320, 240])
    async with await backend.create() as before:
        await before.reset(small)
    async with await backend.create() as sandbox:
        ready = sandbox._session
        assert (await sandbox.reset(small)).observation.size_px == (320, 240)
        assert sandbox.session is ready
        assert (await sandbox.reset(desk(applications=[]))).observation.size_px == (640, 420)


async def test_a_far_scroll_leaves_the_desktop_at_work(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk())
    await sandbox.act(TypeText(text="seq 300; cat > note\n"))
    await sandbox.act(Scroll(x=300, y=200, dy_px=-MAX_SCROLL_PX))
    await sandbox.act(Scroll(x=300, y=200, dy_px=MAX_SCROLL_PX))
    assert sandbox.alive()
    await sandbox.act(TypeText(text="here\n"))
    await until(sandbox, "grep -qs here note")


async def test_what_nobody_waits_for_any_more_fails_in_silence() -> None:
    gc.collect()
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    own = await session.Session.start((320, 200), Limits())
    asking = asyncio.create_task(own.ask("look", deadline_ms=9000, still_ms=9000, format="png", quality=80))
    await asyncio.sleep(0.1)
    asking.cancel()
    await own.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await asyncio.sleep(0.1)
    gc.collect()
    asyncio.get_running_loop().set_exception_handler(None)
    assert told == []


async def settled(stock: Stock) -> None:
    """Wait until the stock makes nothing."""
    async with asyncio.timeout(120):
        while stock.busy:
            await asyncio.sleep(0.01)


async def test_a_desktop_is_lent_like_any_other(desk: Desk, tmp_path: Path) -> None:
    settings = HostSettings(kinds={"desktop": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as source:
        for said in ("first", "second"):
            async with source.lease("desktop", owner="test", wait_s=300) as sandbox:
                await sandbox.reset(desk())
                assert (await sandbox.act(Run(command="ls"))).output == ""
                await sandbox.act(TypeText(text=f"echo {said} > note; sync\n"))
                await until(sandbox, f"grep -qs {said} note || false")
        (journal,) = tmp_path.glob("manager-*.json")
        scratch = json.loads(journal.read_text())["scratch"]
        assert any(scratch in line for line in command_lines())
    async with asyncio.timeout(120):
        while any(scratch in line for line in command_lines()):
            await asyncio.sleep(0.02)
