"""Programs in a guest that are talked to, with the real agent at the channel's other end."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.guest_program import GuestProgram
from deskhand_sandbox.backends.vm.guest_terminal import GuestTerminal
from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.tools.client import Connection
from deskhand_sandbox.tools.program import LINE_BYTES
from deskhand_sandbox.tools.settings import ToolServer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the agent runs programs as another user")
PLAIN = Path(__file__).parents[2] / "tools/plain.py"
Pair = tuple[Channel, socket.socket]


async def shell(channel: Channel, script: str, **environment: str) -> GuestProgram:
    return await GuestProgram.start(channel, ("sh", "-c", script), environment)


async def test_lines_go_in_and_come_out(pair: Pair, tmp_path: Path) -> None:
    channel, _ = pair
    program = await shell(channel, "while read line; do echo $line $DISPLAY $MORE; done; pwd", MORE="more")
    for word in (b"one", b"two"):
        await program.write(word + b"\n")
        assert await program.read_line() == word + b" :0 more\n"
    other = await shell(channel, "printf 'a\nb\n\nc'; id -u >&2")
    assert [await other.read_line() for _ in range(6)] == [b"a\n", b"b\n", b"\n", b"c", b"", b""]
    assert await other.last_words() == "1000"
    await program.close()
    await program.close()
    await other.close()
    assert await program.read_line() == b""
    await program.write(b"nobody reads it\n")
    assert (await program.last_words(), await other.last_words()) == ("", "1000")


async def test_much_goes_both_ways_beside_others(pair: Pair) -> None:
    channel, _ = pair
    echo = await shell(channel, "exec cat")
    line = os.urandom(1_000_000).replace(b"\n", b"") + b"\n"
    writing = asyncio.create_task(echo.write(line))
    told = await GuestTerminal(channel).run(("echo", "beside"), timeout_s=120)
    assert told == (0, b"beside\n", b"")
    assert await echo.read_line() == line
    await writing
    await echo.close()


async def test_a_reader_who_gives_up_loses_nothing(
    pair: Pair, agent: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent.programs, "QUIET_S", 0.05)  # it is listened to many times over
    program = await shell(pair[0], "read line; printf half; read line; echo whole")
    for word in (b"", b"go\n"):
        await program.write(word)
        reading = asyncio.create_task(program.read_line())
        await asyncio.wait([reading], timeout=0.3)
        assert reading.cancel()
        await asyncio.wait([reading])
    await program.write(b"go\n")
    assert await program.read_line() == b"halfwhole\n"
    await program.close()


async def test_it_ends_with_its_input_or_is_ended_with_all_it_started(
    pair: Pair, agent: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = await shell(pair[0], "cat; echo $? > ended")
    with monkeypatch.context() as patch:
        patch.setattr(agent.programs, "LEAVE_S", 120.0)
        await program.close()
    assert (tmp_path / "ended").read_text() == "0\n"
    stubborn = await shell(pair[0], "trap '' TERM; sleep 60744 & echo $$; while :; do sleep 60744; done")
    pid = int(await stubborn.read_line())
    full = asyncio.create_task(stubborn.write(b"x" * 1_000_000))  # which it never reads
    reading = asyncio.create_task(stubborn.read_line())
    await stubborn.close()
    await full
    assert await reading == b""
    async with asyncio.timeout(120):
        while runs(pid):
            await asyncio.sleep(0.01)


async def test_what_it_left_running_does_not_keep_it(pair: Pair) -> None:
    program = await shell(pair[0], "setsid sleep 60745 & echo $!; echo last; echo why >&2; exit 3")
    left = int(await program.read_line())
    assert [await program.read_line() for _ in range(2)] == [b"last\n", b""]
    assert await program.last_words() == "why"
    await program.close()
    os.kill(left, 9)


async def test_one_that_is_not_there_says_so(pair: Pair) -> None:
    program = await GuestProgram.start(pair[0], ("no-such-program",), {})
    assert await program.read_line() == b""
    assert "no-such-program" in await program.last_words()
    await program.close()


async def test_a_line_without_end_ends_the_talk(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deskhand_sandbox.tools.program.LINE_BYTES", LINE_BYTES // 64)
    program = await shell(pair[0], "exec cat /dev/zero")
    assert await program.read_line() == b""
    assert await program.read_line() == b""
    await program.close()


async def test_another_state_of_the_guest_ends_it(pair: Pair) -> None:
    channel, _ = pair
    program = await shell(channel, "echo up; exec sleep 60746")
    assert await program.read_line() == b"up\n"
    reading = asyncio.create_task(program.read_line())
    await asyncio.wait([reading], timeout=0.2)
    channel.trust(channel.token)
    assert await reading == b""
    await channel.ask("end_all")
    assert await program.read_line() == b""
    await program.close()


async def test_it_ends_with_the_vm(pair: Pair) -> None:
    channel, guest = pair
    program = await shell(channel, "echo $$; exec sleep 60747")
    pid = int(await program.read_line())
    reading = asyncio.create_task(program.read_line())
    await asyncio.wait([reading], timeout=0.2)
    guest.shutdown(socket.SHUT_RDWR)
    assert await reading == b""
    await program.write(b"nobody reads it\n")
    await program.close()
    assert runs(pid)  # who ends it is the VM's end


async def test_a_server_of_tools_is_talked_to(pair: Pair, tmp_path: Path) -> None:
    channel, _ = pair

    class Guest:
        async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> GuestProgram:
            return await GuestProgram.start(channel, program, environment)

    shutil.copyfile(PLAIN, tmp_path / "plain.py")
    server = ToolServer(name="shelf", program=("python3", "plain.py"), environment={"GREETING": "hello"})
    connection = Connection(server, Guest())
    await connection.open()
    assert list(connection.tools) == ["shelf.look"]
    assert (await connection.call("look", {})).startswith("hello plain.py ")
    assert len(await connection.call("look", {"more": "x" * 300_000})) < 100
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await connection.call("look", {"end": True})
    assert (await connection.call("look", {})).startswith("hello plain.py ")
    await connection.close()
    missing = Connection(ToolServer(name="shelf", program=("no-such-program",)), Guest())
    with pytest.raises(InvalidTask, match=r"shelf did not start: .*no-such-program"):
        await missing.open()


def runs(session: int) -> bool:
    """Whether a process of that session does; what was killed may not have been buried yet."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, its_session, *_ = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(its_session) == session and state not in "ZX":
            return True
    return False
