"""The channel with the real agent at its other end, in a thread here instead of in a guest."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
from pathlib import Path
from types import ModuleType

import pytest

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.guest_terminal import GuestTerminal
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    SandboxDied,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.types import EditFile, ReadFile, Run, WriteFile

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the agent runs programs as another user")


async def test_only_the_lease_s_token_is_answered(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    await channel.ready(120)
    await channel.claim(machine_id=None)
    first = channel.token
    assert first is not None
    await channel.claim(machine_id=None)
    assert channel.token != first
    channel.trust(first)
    with pytest.raises(InfrastructureError, match="not that of the lease"):
        await channel.ask("run", program=["true"])


async def test_requests_that_cannot_be_done_say_why(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    with pytest.raises(InfrastructureError, match="no attribute 'fly'"):
        await channel.ask("fly")


async def test_the_rest_of_a_line_cut_off_is_passed_over(pair: tuple[Channel, socket.socket]) -> None:
    channel, guest = pair
    guest.sendall(b'{"id": 1, "told": {"half')  # what a loaded state leaves behind
    await channel.ready(120)


async def test_an_agent_that_does_not_answer_is_given_up() -> None:
    host, guest = socket.socketpair()
    channel = Channel(*await asyncio.open_unix_connection(sock=host))
    with pytest.raises(SandboxTimeout, match=r"did not answer in 0\.3 s"):
        await channel.ready(0.3)
    asked = asyncio.create_task(channel.ask("run"))
    await asyncio.sleep(0)
    guest.close()
    with pytest.raises(SandboxDied, match="the VM has ended"):
        await asked
    assert channel.lost
    await channel.close()
    await channel.close()


@needs_root
async def test_commands_and_files(pair: tuple[Channel, socket.socket], tmp_path: Path) -> None:
    channel, _ = pair
    terminal = GuestTerminal(channel)
    assert terminal.screen() is None
    assert (
        await terminal.perform(WriteFile(path="a/kept.txt", content="grüße\n"))
        == "wrote 8 bytes to a/kept.txt"
    )
    await terminal.perform(EditFile(path="a/kept.txt", old="grüße", new="hallo"))
    assert await terminal.perform(ReadFile(path="a/kept.txt")) == "hallo\n"
    assert (tmp_path / "a/kept.txt").stat().st_uid == 1000
    with pytest.raises(InvalidAction, match="No such file"):
        await terminal.perform(ReadFile(path="nothing"))
    code, out, err = await terminal.run(
        ("sh", "-c", "cat; echo no >&2; exit 7"), given=b"\0in", timeout_s=120
    )
    assert (code, out, err) == (7, b"\0in", b"no\n")
    for deadline_s in (0.3, 3.0, 30.0):  # the busier the machine, the later it begins
        code, out, _ = await terminal.run(("sh", "-c", "echo before; sleep 600"), timeout_s=deadline_s)
        if out:
            break
    assert (code, out) == (None, b"before\n")
    assert await terminal.evaluate("echo '[1]'", timeout_s=120) == [1]
    assert await terminal.evaluate("test -e nothing", timeout_s=120) is False
    with pytest.raises(VerifierError, match="exit status 3: bad"):
        await terminal.evaluate("echo bad >&2; exit 3", timeout_s=120)


@needs_root
async def test_a_shell_keeps_its_folder_and_survives_a_deadline(pair: tuple[Channel, socket.socket]) -> None:
    terminal = GuestTerminal(pair[0])
    assert await terminal.perform(Run(command="cd /; echo $((6 * 7)); id -u")) == "42\n1000"
    assert await terminal.perform(Run(command="pwd")) == "/"
    assert "still running" in await terminal.perform(Run(command="sleep 60", timeout_s=0.2))
    assert await terminal.perform(Run(command="echo after")) == "after"
    assert "echo after" in (terminal.screen() or "")
    with pytest.raises(InvalidAction, match="starts a new one"):
        await terminal.perform(Run(command="exit"))
    assert await terminal.perform(Run(command="echo again")) == "again"
    await terminal.close()


@needs_root
async def test_what_a_command_prints_is_bounded(
    pair: tuple[Channel, socket.socket], agent: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent.programs, "OUTPUT_BYTES", 1000)
    told = await pair[0].ask(
        "run",
        program=["sh", "-c", "head -c 100000 /dev/zero"],
        given="",
        timeout_s=120,
    )
    assert len(base64.b64decode(str(told["out"]))) == 1000
