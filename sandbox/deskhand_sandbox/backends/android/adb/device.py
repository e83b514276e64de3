"""One device through an adb server: shell commands, files, the screen."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from adbutils import AdbConnection, AdbDevice

from deskhand_sandbox.backends.android.adb.client import AdbClient, DeviceError, Requests
from deskhand_sandbox.backends.android.shell_protocol import ERR, EXIT, HEADER, OUT
from deskhand_sandbox.errors import SandboxDied

COMMAND_S = 20.0
OUTPUT_BYTES = 16 << 20
"""Longest output of one command; what comes after is left out."""
COMMAND_BYTES = 60_000
"""Longest command line: adb writes its length as four hexadecimal digits."""
PART_BYTES = 64 * 1024
PROTOCOL = "shell_v2"
"""What a device says it knows where it tells commands' errors and exit statuses, and opens terminals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShellResult:
    """What came of a command on the device."""

    out: bytes
    err: bytes
    code: int

    @property
    def text(self) -> str:
        """Its output as text, without the line end at its end."""
        return self.out.decode(errors="replace").rstrip("\r\n")


class Device:
    """A device by its serial (or host:port) at one server. Every call has a deadline."""

    def __init__(self, client: AdbClient, serial: str) -> None:
        self.serial = serial
        self._client = client

    async def shell(self, *words: str, limit_s: float = COMMAND_S) -> ShellResult:
        """Run a command made of words, each of them quoted.

        Raises:
            as `script`.
        """
        return await self.script(shlex.join(words), limit_s=limit_s)

    async def script(self, command: str, *, limit_s: float = COMMAND_S) -> ShellResult:
        """Run a command line in the device's shell.

        Raises:
            SandboxTimeout: it did not end in time.
            SandboxDied: the device or the server is gone.
            DeviceError: the command line is too long.
        """
        _check_length(command)

        def work(requests: Requests) -> ShellResult:
            connection = AdbDevice(requests, self.serial).open_transport()
            connection.send_command(f"shell,v2,raw:{command}")
            connection.check_okay()
            return _read_shell(connection)

        return await self._client.ask(work, limit_s)

    async def told(self, *words: str, limit_s: float = COMMAND_S) -> str:
        """The output of a command that has to succeed.

        Raises:
            DeviceError: it failed; says what it complained of.
            InfrastructureError: as `script`.
        """
        result = await self.shell(*words, limit_s=limit_s)
        if result.code:
            said = (result.err or result.out).decode(errors="replace").strip()[-500:]
            raise DeviceError(f"`{shlex.join(words)[:200]}` failed on the device ({result.code}): {said}")
        return result.text

    async def raw(self, command: str, *, limit_s: float = COMMAND_S) -> bytes:
        """The bytes a command writes, as they are."""

        def work(requests: Requests) -> bytes:
            connection = AdbDevice(requests, self.serial).open_transport()
            connection.send_command(f"exec:{command}")
            connection.check_okay()
            parts: list[bytes] = []
            while part := connection.conn.recv(PART_BYTES):
                parts.append(part)
            return b"".join(parts)

        return await self._client.ask(work, limit_s)

    async def open(self, service: str, *, limit_s: float = COMMAND_S) -> socket.socket:
        """A connection to a service of the device, for whoever takes it to talk over and to close.

        Raises:
            SandboxTimeout: it did not answer in time.
            SandboxDied: the device or the server is gone.
            DeviceError: the name is too long.
        """
        _check_length(service)
        opened: list[socket.socket] = []

        def work(requests: Requests) -> None:
            connection = AdbDevice(requests, self.serial).open_transport()
            connection.send_command(service)
            connection.check_okay()
            opened.append(requests.hand_over(connection))

        try:
            await self._client.ask(work, limit_s)
        except BaseException:
            for each in opened:
                each.close()
            raise
        return opened[0]

    async def push(self, data: bytes, path: str, *, limit_s: float = COMMAND_S) -> None:
        """Write a file.

        Raises:
            DeviceError: it cannot be written; says why.
        """

        def work(requests: Requests) -> None:
            with AdbDevice(requests, self.serial).open_transport() as connection:
                _send_file(connection, data, path)

        await self._client.ask(work, limit_s)

    async def pull(self, path: str, *, longest: int, limit_s: float = COMMAND_S) -> bytes:
        """A file's bytes; one byte more than `longest` of a longer file.

        Raises:
            DeviceError: it cannot be read; says why.
        """

        def work(requests: Requests) -> bytes:
            data = bytearray()
            for part in _parts(AdbDevice(requests, self.serial), path):
                data += part
                if len(data) > longest:
                    break
            return bytes(data[: longest + 1])

        return await self._client.ask(work, limit_s)

    async def check_protocol(self) -> None:
        """Refuse a device whose shell tells no exit status.

        Raises:
            DeviceError: it is too old.
            InfrastructureError: as `script`.
        """
        known = await self._client.ask(lambda requests: AdbDevice(requests, self.serial).get_features())
        if PROTOCOL not in known.split(","):
            raise DeviceError(
                f"the device {self.serial} does not know version 2 of adb's shell protocol ({PROTOCOL}):"
                " use one with Android 7 or newer"
            )

    async def state(self) -> str:
        """What the server says of it: "device", "offline", "absent", …"""
        return await self._client.state(self.serial)


def _check_length(command: str) -> None:
    if (length := len(command.encode())) > COMMAND_BYTES:
        raise DeviceError(f"a command line has up to {COMMAND_BYTES} bytes, not {length}")


def _parts(device: Any, path: str) -> Iterator[bytes]:
    yield from device.sync.iter_content(path)


def _read_shell(connection: AdbConnection) -> ShellResult:
    """The packets of adb's shell protocol, until the one with the exit status."""
    out, err = bytearray(), bytearray()
    while True:
        kind, size = HEADER.unpack(connection.read_exact(HEADER.size))
        data = connection.read_exact(size) if size else b""
        if kind == EXIT:
            return ShellResult(out=bytes(out), err=bytes(err), code=data[0] if data else 255)
        kept = out if kind == OUT else err if kind == ERR else bytearray()
        kept += data[: max(0, OUTPUT_BYTES - len(kept))]


def _send_file(connection: AdbConnection, data: bytes, path: str) -> None:
    """SEND of adb's sync protocol."""
    connection.send_command("sync:")
    connection.check_okay()
    sent = connection.conn.sendall
    target = f"{path},{0o100644}".encode()
    sent(b"SEND" + len(target).to_bytes(4, "little") + target)
    for at in range(0, len(data), PART_BYTES):
        part = data[at : at + PART_BYTES]
        sent(b"DATA" + len(part).to_bytes(4, "little") + part)
    sent(b"DONE" + (0).to_bytes(4, "little"))
    answer = connection.read_exact(8)
    said = connection.read(int.from_bytes(answer[4:], "little")).decode(errors="replace")
    if answer[:4] != b"OKAY":
        if answer[:4] != b"FAIL":
            raise SandboxDied(f"the device answered {answer!r} to a file")
        raise DeviceError(f"{path} cannot be written: {said}")
