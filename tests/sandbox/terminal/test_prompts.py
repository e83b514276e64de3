"""The shells of phones and others, on a real pseudo-terminal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.errors import InvalidAction, SandboxDied
from deskhand_sandbox.terminal import Shell
from deskhand_sandbox.terminal.prompts import PlainPrompts
from deskhand_sandbox.terminal.pty import Pty

ANDROIDS_OWN = "mksh"


@pytest_asyncio.fixture(params=["dash", ANDROIDS_OWN])
async def shell(
    request: pytest.FixtureRequest, tmp_path: Path, variables: dict[str, str]
) -> AsyncGenerator[Shell]:

    async def keep(script: bytes) -> str:
        (tmp_path / ".script").write_bytes(script)
        return str(tmp_path / ".script")

    async def here(command: Sequence[str], more: Mapping[str, str], on_data: Callable[[bytes], None]) -> Pty:
        assert command == ("sh", "-i") and not more
        line = [request.param, "-i"]
        return Pty.start(line, environment=variables, folder=tmp_path, columns=80, rows=24, on_data=on_data)

    made = await Shell.on(here, prompts=PlainPrompts(keep))
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("echo hello", "hello\n", 0),
        ("false", "", 1),
        ("printf 'no newline'; (exit 7)", "no newline", 7),
        ("echo out; echo err >&2", "out\nerr\n", 0),
        ("printf '\\033[31mred\\033[0m\\n'", "red\n", 0),
        ("for i in 1 2\ndo\n\techo $i\ndone", "1\n2\n", 0),  # tabs and lines are not keys
        ("printf '10%%\\r50%%\\r100%%\\n'", "100%\n", 0),
        ("echo grüße 日本 🎉", "grüße 日本 🎉\n", 0),
        ("printf '\\033]133;D;0\\007'; echo still here", "still here\n", 0),
        ("echo " + "x" * 400, "x" * 400 + "\n", 0),
        ("echo " + "x" * 6000, "x" * 6000 + "\n", 0),
        ("echo 'never closed", "the command is not complete\n", 130),
        ("echo a &&", "the command is not complete\n", 130),
    ],
)
async def test_a_command_gives_output_and_status(shell: Shell, command: str, output: str, code: int) -> None:
    result = await shell.run(command, timeout_s=120)
    assert (result.output, result.exit_code) == (output, code)
    assert not shell.busy
    assert (await shell.run("echo on", timeout_s=120)).output == "on\n"


async def test_it_begins_with_a_clear_screen_and_keeps_folder_and_variables(
    shell: Shell, tmp_path: Path
) -> None:
    assert shell.screen.text() == f"{tmp_path} $"
    (tmp_path / "below").mkdir()
    await shell.run("cd below; word=kept", timeout_s=120)
    assert (await shell.run("pwd; echo $word", timeout_s=120)).output == f"{tmp_path}/below\nkept\n"
    assert shell.screen.text().endswith("below $")
    assert (await shell.run("no-such-program", timeout_s=120)).exit_code == 127


async def test_a_long_command_can_be_stopped_and_keys_are_read(shell: Shell) -> None:
    result = await shell.run("echo begun; sleep 60; echo done", timeout_s=0.5)
    assert (result.exit_code, result.output) == (None, "begun\n")
    with pytest.raises(InvalidAction, match="busy"):
        await shell.run("echo", timeout_s=1)
    assert await shell.interrupt()
    shell.type(b"read word\r")
    assert shell.busy
    shell.type(b"typed\r")
    async with asyncio.timeout(120):
        while shell.busy:
            await asyncio.sleep(0.01)
    assert (await shell.run("echo $word", timeout_s=120)).output == "typed\n"


async def test_a_shell_that_ends_says_so(shell: Shell) -> None:
    with pytest.raises(SandboxDied, match="has ended"):
        await shell.run("exit 3", timeout_s=120)
