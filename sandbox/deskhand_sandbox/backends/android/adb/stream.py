"""A program on a device that is talked to while it runs."""

from __future__ import annotations

import asyncio
import contextlib

from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.shell_protocol import (
    CLOSE_IN,
    ERR,
    EXIT,
    HEADER,
    IN,
    LONGEST,
    OUT,
    frame,
)
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout

PART_BYTES = 16 * 1024
"""Of input in one packet: devices of any age take as much."""
START_S = 20.0
END_S = 5.0


def ending(session: int) -> str:
    """The command that ends what of a session does not heed a hang-up."""
    # toybox, which devices have, wants a pattern too
    return f"pkill -KILL -s {session} ."


class ShellStream:
    """Packets of the shell protocol, both ways. Made by `ShellStream.open`."""

    def __init__(self, device: Device, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._device = device
        self._reader, self._writer = reader, writer
        self._session = 0
        """Process id of the program, which leads the session of all it starts."""
        self._first = b""
        """Output that came with the number of the session."""
        self._lost = False
        self._closed = False

    @classmethod
    async def open(cls, device: Device, kind: str, command: str) -> ShellStream:
        """Start a command line.

        Args:
            kind: how the device runs it: "raw" with pipes, or "pty", before which "TERM=…," may stand.

        Raises:
            DeviceError: the device does not start it; says why.
            SandboxDied: the device or the adb server is gone.
            SandboxTimeout: it did not start in time.
        """
        # its shell leads a session of its own, and its number is what all that runs there is found by
        connection = await device.open(f"shell,v2,{kind}:echo $$; {command}")
        try:
            stream = cls(device, *await asyncio.open_connection(sock=connection))
        except BaseException:
            connection.close()
            raise
        try:
            async with asyncio.timeout(START_S):
                await stream._begin()
        except TimeoutError as error:
            await stream._hang_up()
            raise SandboxTimeout(f"the device started no shell within {START_S:g} s") from error
        except BaseException:
            await stream._hang_up()
            raise
        return stream

    @property
    def lost(self) -> bool:
        """The connection has ended, and nobody said that the program has."""
        return self._lost

    async def packet(self) -> tuple[int, bytes] | None:
        """The next packet, its kind and its data; None once the connection has ended."""
        if self._first:
            data, self._first = self._first, b""
            return OUT, data
        try:
            kind, size = HEADER.unpack(await self._reader.readexactly(HEADER.size))
            if size <= LONGEST:
                return kind, await self._reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError):
            pass
        self._lost = True
        return None

    def send(self, kind: int, data: bytes) -> None:
        """Send a packet; one to a connection that has ended goes nowhere."""
        if not self._writer.is_closing():
            self._writer.write(frame(kind, data))

    def write(self, data: bytes) -> None:
        """Give the program input."""
        for at in range(0, len(data), PART_BYTES):
            self.send(IN, data[at : at + PART_BYTES])

    async def drain(self) -> None:
        """Wait until the adb server has taken what was sent."""
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def end_input(self) -> None:
        """Let the program find the end of its input; a pseudo-terminal has none."""
        self.send(CLOSE_IN, b"")

    async def close(self) -> None:
        """Hang up, and end everything in the program's session; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        await self._hang_up()
        if not self._lost:
            with contextlib.suppress(InfrastructureError):
                await self._device.script(ending(self._session), limit_s=END_S)

    async def _hang_up(self) -> None:
        self._writer.transport.abort()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _begin(self) -> None:
        """Learn the number of the session."""
        said, ended = b"", False
        while not (ended or b"\n" in said):
            packet = await self.packet()
            if packet is None:
                raise SandboxDied("the connection to the device ended while it started a shell")
            kind, data = packet
            said += data if kind in (OUT, ERR) else b""
            ended = kind == EXIT
        number, _, self._first = said.partition(b"\n")
        if ended or not number.strip().isdigit():
            raise DeviceError(f"the device starts no shell: {said.decode(errors='replace').strip()}")
        self._session = int(number)
