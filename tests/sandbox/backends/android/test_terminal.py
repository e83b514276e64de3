"""The agent's terminal on a device, through the real adb server."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable

import pytest

from deskhand_sandbox.backends.android import AndroidSandbox, create
from deskhand_sandbox.backends.android.simulated import Simulated
from deskhand_sandbox.errors import CommandHung, InvalidAction, SandboxDied
from deskhand_sandbox.terminal import Shell
from deskhand_sandbox.terminal.screen import BACKLOG_BYTES
from deskhand_sandbox.types import Click, Run, Task, WriteFile

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
Phone = Callable[..., Task]
Until = Callable[..., Awaitable[None]]


async def output(sandbox: AndroidSandbox, command: str, timeout_s: float = 60.0) -> str:
    """What a command prints, without a picture of the screen, which takes the longest."""
    return await sandbox._hand.terminal.perform(Run(command=command, timeout_s=timeout_s))


def shell_of(sandbox: AndroidSandbox) -> Shell:
    shell = sandbox._hand.terminal._shell
    assert shell is not None
    return shell


async def shows(shell: Shell, text: str) -> None:
    async with asyncio.timeout(120):
        while text not in shell.screen.text():
            await asyncio.sleep(0.01)


async def test_the_screen_is_seen_with_every_observation(sandbox: AndroidSandbox, phone: Phone) -> None:
    start = await sandbox.reset(phone())
    assert (start.observation.terminal, start.observation.output) == (None, None)
    seen = await sandbox.act(Run(command="printf '\\033[31mred\\033[0m\\n'; tty"))
    assert seen.output == "red\n/dev/console"
    first = "/data/local/tmp/deskhand $ printf"
    assert (seen.terminal or "").startswith(first) and (seen.terminal or "").endswith("deskhand $")
    later = await sandbox.act(Click(x=200, y=400))
    assert later.output is None and later.terminal == seen.terminal
    assert (await sandbox.reset(phone())).observation.terminal is None


async def test_a_pipe_in_the_place_of_a_file_hangs_the_command_alone(
    sandbox: AndroidSandbox, phone: Phone
) -> None:
    await sandbox.reset(phone())
    await output(sandbox, "mkfifo note")
    with pytest.raises(CommandHung, match="while another command did"):
        await sandbox._hand.terminal.evaluate("cat note", timeout_s=1)
    assert await sandbox.evaluate("test -p note") is True


async def test_programs_of_the_whole_screen_are_used_by_keys(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    assert await output(sandbox, "stty size; echo $TERM") == "24 80\nxterm-256color"
    shell = shell_of(sandbox)
    shell.resize(100, 30)
    assert await output(sandbox, "stty size") == "30 100"
    await sandbox.act(WriteFile(path="long", content="".join(f"line {n}\n" for n in range(500))))
    shell.type(b"less long\r")
    await shows(shell, "line 28")
    assert shell.busy
    with pytest.raises(InvalidAction, match="busy"):
        await output(sandbox, "true")
    shell.type(b"G")
    await shows(shell, "line 499")
    shell.resize(60, 10)
    async with asyncio.timeout(120):
        while not shell.screen.lines()[9].startswith(":"):  # less has drawn anew
            await asyncio.sleep(0.01)
    assert len(shell.screen.lines()) == 10
    shell.type(b"q")
    async with asyncio.timeout(120):
        while shell.busy:
            await asyncio.sleep(0.01)
    assert await output(sandbox, "stty size") == "10 60"


async def test_a_flood_is_not_kept(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    terminal = sandbox._hand.terminal  # without a look at the screen each time, which has to be drawn for it
    said = await terminal.perform(Run(command="yes flood", timeout_s=1))
    assert said.endswith("[stopped: still running after 1 s]") and len(said) < 70_000
    assert len(shell_of(sandbox).screen._waiting) <= BACKLOG_BYTES
    said = await terminal.perform(Run(command="seq 100000; echo last"))
    assert said.startswith("1\n2\n") and said.endswith("100000\nlast") and len(said) < 70_000
    seen = await sandbox.observe()
    assert (seen.terminal or "").splitlines()[-3:-1] == ["100000", "last"]


@pytest.mark.parametrize("command", ["sleep 73101", "trap '' INT; sleep 73101", "exec sleep 73101"])
async def test_a_command_at_its_deadline_is_stopped(
    sandbox: AndroidSandbox, phone: Phone, until: Until, command: str
) -> None:
    await sandbox.reset(phone())
    for deadline_s in (0.5, 5.0, 50.0):  # the busier the machine, the later it begins
        said = await output(sandbox, f"echo begun; {command}", timeout_s=deadline_s)
        if said.startswith("begun"):
            break
    assert said == f"begun\n[stopped: still running after {deadline_s:g} s]"
    await until(False, "73101")
    assert await output(sandbox, "echo after; pwd") == "after\n/data/local/tmp/deskhand"


async def test_a_shell_that_exits_is_replaced_and_files_stay(sandbox: AndroidSandbox, phone: Phone) -> None:
    await sandbox.reset(phone())
    await output(sandbox, "echo here > kept")
    with pytest.raises(InvalidAction, match="has ended"):
        await output(sandbox, "exit 3")
    assert await output(sandbox, "cat kept") == "here"


async def test_nothing_of_it_outlives_the_task(sandbox: AndroidSandbox, phone: Phone, until: Until) -> None:
    await sandbox.reset(phone())
    await output(sandbox, "nohup sleep 73102 >/dev/null 2>&1 & (setsid sleep 73103 &)")
    cut = asyncio.create_task(sandbox.act(Run(command="sleep 73104", timeout_s=600)))
    await until(True, "73102", "73103", "73104")
    cut.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cut
    with pytest.raises(InvalidAction, match="busy"):
        await output(sandbox, "true")
    await sandbox.reset(phone())
    await until(False, "73102", "73103", "73104")
    assert await output(sandbox, "echo after") == "after"


async def test_a_restored_state_and_a_copy_have_terminals_of_their_own(
    sandbox: AndroidSandbox, phone: Phone
) -> None:
    await sandbox.reset(phone())
    await output(sandbox, "word=kept; cd /sdcard")
    kept = await sandbox.snapshot()
    (copy,) = await sandbox.fork(1)
    async with copy:
        assert isinstance(copy, AndroidSandbox)
        assert await output(copy, "pwd; echo [$word]") == "/data/local/tmp/deskhand\n[]"
    assert await output(sandbox, "pwd; echo [$word]") == "/sdcard\n[kept]"
    assert (await sandbox.restore(kept)).terminal is None
    assert await output(sandbox, "pwd; echo [$word]") == "/data/local/tmp/deskhand\n[]"


async def in_the_middle(sandbox: AndroidSandbox, until: Until, end: Callable[[], object], word: str) -> None:
    """A device that goes while a command runs is told of at once, and leaves nothing."""
    running_one = asyncio.create_task(sandbox.act(Run(command=f"sleep {word}", timeout_s=600)))
    await until(True, word)
    ended = end()
    if asyncio.iscoroutine(ended):
        await ended
    async with asyncio.timeout(120):
        with pytest.raises(SandboxDied):
            await running_one
    assert not sandbox.alive()
    await sandbox.close()
    await sandbox.close()
    await until(False, word)


async def test_a_device_that_goes_in_the_middle_of_a_command(phone: Phone, until: Until) -> None:
    backend = create()
    try:
        sandbox = await backend.create()
        await sandbox.reset(phone())
        assert isinstance(sandbox.machine, Simulated)
        await in_the_middle(sandbox, until, sandbox.machine.simulator.close, "73105")
        sandbox = await backend.create()
        await sandbox.reset(phone())
        server = await backend.server()
        await in_the_middle(sandbox, until, lambda: os.kill(server.pid or 0, signal.SIGKILL), "73106")
        sandbox = await backend.create()
        await sandbox.reset(phone())
        await in_the_middle(sandbox, until, sandbox.close, "73107")
    finally:
        await backend.close()
