"""Commands and files in a real confinement."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.terminal.commands import FILE_BYTES
from deskhand_sandbox.terminal.confined import ConfinedTerminal
from deskhand_sandbox.types import EditFile, ReadFile, Run, WriteFile


@pytest_asyncio.fixture
async def terminal() -> AsyncGenerator[ConfinedTerminal]:
    made = ConfinedTerminal()
    yield made
    await made.reset()


async def said(terminal: ConfinedTerminal, command: str) -> str:
    return await terminal.perform(Run(command=command, timeout_s=120))


async def test_commands_and_files_share_one_home(terminal: ConfinedTerminal) -> None:
    assert terminal.screen() is None
    assert await terminal.perform(WriteFile(path="notes/a.txt", content="grüße\n")) == (
        "wrote 8 bytes to notes/a.txt"
    )
    assert await said(terminal, "cat notes/a.txt; whoami; pwd") == "grüße\nagent\n/home/agent"
    assert await said(terminal, "echo b > /tmp/b; false") == "[exit status 1]"
    assert await terminal.perform(ReadFile(path="/tmp/b")) == "b\n"
    assert "whoami" in (terminal.screen() or "")


async def test_a_passage_is_replaced_where_it_stands_once(terminal: ConfinedTerminal) -> None:
    await terminal.perform(WriteFile(path="a.txt", content="one\ntwo\ntwo\n"))
    edit = EditFile(path="a.txt", old="one\ntwo", new="1\n2")
    assert await terminal.perform(edit) == "wrote 8 bytes to a.txt"
    assert await said(terminal, "cat a.txt") == "1\n2\ntwo"
    for old, why in (("one", "0 times"), ("\n", "3 times"), ("", "no passage")):
        with pytest.raises(InvalidAction, match=why):
            await terminal.perform(EditFile(path="a.txt", old=old, new=""))
    assert await said(terminal, "cat a.txt; printf '\\377' > b") == "1\n2\ntwo"
    with pytest.raises(InvalidAction, match="no text"):
        await terminal.perform(EditFile(path="b", old="a", new=""))


async def test_any_name_is_a_file_s(terminal: ConfinedTerminal) -> None:
    for path in ("-", "--", "-c", "a b"):
        await terminal.perform(WriteFile(path=path, content=f"in {path}"))
        assert await terminal.perform(ReadFile(path=path)) == f"in {path}"


async def test_nothing_of_the_machine_is_seen(
    terminal: ConfinedTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_MACHINE", "x")
    assert "SECRET" not in await said(terminal, "env")
    assert (
        await said(terminal, "ls /home; ls /root /srv 2>&1 | grep -c 'No such'; hostname") == "agent\n2\ndesk"
    )
    seen = await said(terminal, "ls -d /proc/[0-9]* | wc -l")
    assert int(seen) < 10
    assert await said(terminal, "touch /usr/x 2>/dev/null || echo read-only") == "read-only"
    assert await said(terminal, "cat /proc/net/dev | tail -n +3 | cut -d: -f1 | xargs") == "lo"


async def test_reset_leaves_no_file_and_no_process(terminal: ConfinedTerminal) -> None:
    await said(terminal, "echo left > kept; (setsid sleep 4321 &) ; echo started")
    async with asyncio.timeout(120):
        while not living("sleep 4321"):
            await asyncio.sleep(0.02)
    await terminal.reset()
    async with asyncio.timeout(120):
        while living("sleep 4321"):
            await asyncio.sleep(0.02)
    assert await said(terminal, "ls") == ""


async def test_a_shell_that_exits_is_replaced_and_files_stay(terminal: ConfinedTerminal) -> None:
    await said(terminal, "echo here > kept")
    with pytest.raises(InvalidAction, match="starts a new one"):
        await said(terminal, "exit")
    assert await said(terminal, "cat kept") == "here"


@pytest.mark.parametrize("command", ["sleep 4322", "trap '' INT; sleep 4322", "exec sleep 4322"])
async def test_a_command_at_its_deadline_is_stopped(terminal: ConfinedTerminal, command: str) -> None:
    for deadline_s in (0.3, 3.0, 30.0):  # the busier the machine, the later it begins
        stopped = await terminal.perform(Run(command=f"echo begun; {command}", timeout_s=deadline_s))
        if stopped.startswith("begun"):
            break
    assert stopped == f"begun\n[stopped: still running after {deadline_s:g} s]"
    async with asyncio.timeout(120):
        while living("sleep 4322"):
            await asyncio.sleep(0.02)
    assert await said(terminal, "echo after") == "after"


async def test_a_pipe_nobody_serves_is_given_up(terminal: ConfinedTerminal) -> None:
    await said(terminal, "mkfifo pipe")
    with pytest.raises(InvalidAction, match="pipe cannot be read: it took longer"):
        await terminal.perform(ReadFile(path="pipe"))


async def test_locked_folders_are_taken_away_too(terminal: ConfinedTerminal, tmp_path: Path) -> None:
    tempfile.tempdir = str(tmp_path)
    try:
        await said(terminal, "mkdir -p a/b && echo x > a/b/c && ln -s /usr a/usr && chmod 000 a/b a")
    finally:
        tempfile.tempdir = None
    assert [*tmp_path.iterdir()]
    await terminal.reset()
    assert not [*tmp_path.iterdir()]
    assert Path("/usr/bin").stat().st_mode & 0o777 != 0o700


@pytest.mark.parametrize(
    ("action", "why"),
    [
        (ReadFile(path="none.txt"), "none.txt cannot be read: No such file or directory"),
        (ReadFile(path="/home"), "/home cannot be read: Is a directory"),
        (WriteFile(path="/usr/x", content=""), "/usr/x cannot be written: Read-only file system"),
        (WriteFile(path="big", content="x" * (FILE_BYTES + 1)), "would be longer than"),
        (ReadFile(path="/dev/zero"), "is longer than"),
        (Run(command=" "), "no command"),
        (Run(command="true", timeout_s=10**400), "up to 3600 seconds, not 1000"),
        (ReadFile(path="a" * 140_000), "longer than 4096 bytes"),
        (WriteFile(path="ä" * 2049, content="x"), "longer than 4096 bytes"),
        (ReadFile(path="a" * 4096), "File name too long"),
    ],
)
async def test_what_cannot_be_done_is_the_agents_error(
    terminal: ConfinedTerminal, action: Run | ReadFile | WriteFile, why: str
) -> None:
    with pytest.raises(InvalidAction, match=why):
        await terminal.perform(action)


async def test_a_file_is_not_followed_out_of_the_confinement(
    terminal: ConfinedTerminal, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("x")
    await said(terminal, f"ln -s {tmp_path}/secret link")
    with pytest.raises(InvalidAction, match="No such file"):
        await terminal.perform(ReadFile(path="link"))


def living(command: str) -> bool:
    """Whether any process of this machine has that command line."""
    wanted = command.replace(" ", "\0").encode() + b"\0"
    return any(commandline(place) == wanted for place in Path("/proc").glob("[0-9]*/cmdline"))


def commandline(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
