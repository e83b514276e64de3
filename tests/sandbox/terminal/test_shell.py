"""A real bash on a real pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.errors import BackendMissing, InvalidAction, SandboxDied
from deskhand_sandbox.terminal import Shell
from deskhand_sandbox.terminal.shell import MARK_BYTES, OUTPUT_BYTES, plain


@pytest_asyncio.fixture
async def shell(tmp_path: Path, variables: dict[str, str]) -> AsyncGenerator[Shell]:
    made = await Shell.start(environment=variables, folder=tmp_path)
    yield made
    await made.close()
    assert made._pty is not None
    with pytest.raises(ProcessLookupError):
        os.kill(made._pty.pid, 0)


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo hello", "hello\n", 0),
        ("false", "", 1),
        ("printf 'no newline'; exit_code() { return 7; }; exit_code", "no newline", 7),
        ("echo out; echo err >&2", "out\nerr\n", 0),
        ("echo '[31mred[0m'; printf '\\e[31mred\\e[0m\\n'", "[31mred[0m\nred\n", 0),
        ("for i in 1 2\ndo\n\techo $i\ndone", "1\n2\n", 0),  # tabs and lines are not keys
        ("cat <<END\nline\nEND", "line\n", 0),
        ("printf '10%%\\r50%%\\r100%%\\n'", "100%\n", 0),
        ("echo grüße 日本 🎉", "grüße 日本 🎉\n", 0),
        ("echo !!", "!!\n", 0),
        ("printf '\\e]133;D;0\\a'; echo still here", "still here\n", 0),
        ("echo " + "x" * 3000, "x" * 3000 + "\n", 0),
        ("no-such-program", "bash: no-such-program: command not found\n", 127),
        ("echo 'never closed", "the command is not complete\n", 130),
        ("echo a &&", "the command is not complete\n", 130),
    ],
)
async def test_a_command_gives_output_and_status(shell: Shell, command: str, output: str, code: int) -> None:
    result = await shell.run(command, timeout_s=120)
    assert (result.output, result.exit_code) == (output, code)
    assert not shell.busy
    assert (await shell.run("echo on", timeout_s=120)).output == "on\n"


async def test_an_incomplete_command_is_noticed_after_another(shell: Shell) -> None:
    assert (await shell.run("echo 'never\nclosed", timeout_s=120)).exit_code == 2
    for command in ("echo 'never closed", "echo a \\"):
        result = await shell.run(command, timeout_s=120)
        assert (result.output, result.exit_code) == ("the command is not complete\n", 130)
    assert (await shell.run("echo on", timeout_s=120)).output == "on\n"


async def test_a_command_is_over_once_the_next_can_be_typed(shell: Shell) -> None:
    """What is typed before bash reads again is shown twice: once by the terminal, once after the prompt."""
    shown = prompt = shell.screen.text().rstrip() + " "
    for number in range(20):
        await shell.run(f"echo {number}", timeout_s=120)
        shown += f"echo {number}\n{number}\n{prompt}"
        assert shell.screen.text().rstrip() == "\n".join(shown.split("\n")[-24:]).rstrip()


async def test_a_command_may_change_the_prompt(shell: Shell) -> None:
    assert (await shell.run("PS1='> '; false", timeout_s=120)).exit_code == 1
    result = await shell.run("echo on", timeout_s=120)
    assert (result.output, result.exit_code) == ("on\n", 0)
    assert not shell.busy


async def test_folder_and_variables_stay(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    await shell.run("cd below; word=kept", timeout_s=120)
    assert (await shell.run("pwd; echo $word", timeout_s=120)).output == f"{tmp_path}/below\nkept\n"


async def test_a_long_command_goes_on_past_its_deadline_and_can_be_stopped(shell: Shell) -> None:
    result = await shell.run("echo begun; sleep 60; echo done", timeout_s=0.5)
    assert (result.exit_code, result.output) == (None, "begun\n")
    assert shell.busy and "sleep 60" in shell.screen.text()
    with pytest.raises(InvalidAction, match="busy"):
        await shell.run("echo", timeout_s=1)
    shell.type(b"\x03")
    async with asyncio.timeout(120):
        while shell.busy:
            await asyncio.sleep(0.01)
    assert (await shell.run("echo $?", timeout_s=120)).output == "130\n"


async def test_a_program_of_the_whole_screen_is_used_by_keys(shell: Shell, tmp_path: Path) -> None:
    pager = shutil.which("less")
    assert pager is not None
    (tmp_path / "long").write_text("".join(f"line {i}\n" for i in range(500)))
    shell.resize(100, 30)
    assert (await shell.run("less long", timeout_s=0.1)).exit_code is None
    async with asyncio.timeout(120):
        while shell.screen.lines()[0] != "line 0":
            await asyncio.sleep(0.01)
    assert shell.screen.rows == 30
    shell.type(b"G")
    async with asyncio.timeout(120):
        while "line 499" not in shell.screen.text():
            await asyncio.sleep(0.01)
    shell.type(b"q")
    async with asyncio.timeout(120):
        while shell.busy:
            await asyncio.sleep(0.01)
    assert (await shell.run("tput cols", timeout_s=120)).output == "100\n"


async def test_of_endless_output_beginning_and_end_are_kept(shell: Shell) -> None:
    result = await shell.run("echo first; seq 100000; echo last", timeout_s=120)
    assert result.exit_code == 0
    assert result.output.startswith("first\n1\n2\n") and result.output.endswith("100000\nlast\n")
    assert "bytes left out" in result.output and len(result.output) < OUTPUT_BYTES + 100
    assert "last" in shell.screen.text()


async def test_output_that_begins_like_a_mark_is_not_kept_for_one(shell: Shell) -> None:
    taking = shell.run("printf '\\e]133;D;0;'; seq 100000; echo last", timeout_s=120)
    run = asyncio.create_task(taking)
    while not run.done():
        assert len(shell._unread) <= MARK_BYTES
        await asyncio.sleep(0)
    assert (await run).output.endswith("100000\nlast\n")


async def test_a_shell_that_ends_says_so(shell: Shell) -> None:
    with pytest.raises(SandboxDied, match="has ended"):
        await shell.run("exit 3", timeout_s=120)
    with pytest.raises(SandboxDied):
        await shell.run("echo", timeout_s=120)


async def test_it_ends_with_its_shell_whatever_that_has_left_running(shell: Shell) -> None:
    with pytest.raises(SandboxDied, match="has ended"):
        await shell.run("sleep 600 & exit", timeout_s=120)


async def test_closing_ends_what_runs_in_it(tmp_path: Path) -> None:
    shell = await Shell.start(environment={"PATH": os.environ["PATH"]}, folder=tmp_path)
    told = await shell.run("sleep 600 & echo $!", timeout_s=120)
    child = int(told.output.split()[-1])
    os.kill(child, 0)
    await shell.close()
    await shell.close()
    async with asyncio.timeout(120):
        while _lives(child):
            await asyncio.sleep(0.01)


async def test_without_its_program_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BackendMissing, match="no-such-confinement"):
        await Shell.start(environment={}, folder=tmp_path, within=["no-such-confinement"])
    with pytest.raises(SandboxDied, match="ended"):
        await Shell.start(environment={}, folder=tmp_path, within=["/bin/echo"])


def test_plain_text_of_terminal_output() -> None:
    assert plain(b"\x1b]0;title\x07a\x1b[1;31mb\x1b[0m\r\nc\x1b(B\xff\x07") == "ab\nc\ufffd"


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
