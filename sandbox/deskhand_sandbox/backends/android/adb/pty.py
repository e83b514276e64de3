"""A program on a pseudo-terminal of a device."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.stream import ShellStream
from deskhand_sandbox.backends.android.shell_protocol import ERR, EXIT, OUT, WINDOW, window
from deskhand_sandbox.errors import SandboxDied

TERM = "xterm-256color"


class DevicePty:
    """Made by `DevicePty.start`, and used as `Pty` is."""

    def __init__(self, stream: ShellStream, on_data: Callable[[bytes], None]) -> None:
        self.ended = asyncio.Event()
        """Set once the program has ended, or nothing is heard of it any more."""
        self._stream = stream
        self._on_data = on_data
        self._reading = asyncio.create_task(self._read(), name="a device's terminal")

    @classmethod
    async def start(
        cls, device: Device, command: str, *, columns: int, rows: int, on_data: Callable[[bytes], None]
    ) -> DevicePty:
        """Start a command line in the device's shell.

        Args:
            columns, rows: of the terminal.
            on_data: takes what the program writes, as it comes.

        Raises:
            as `ShellStream.open`.
        """
        pty = cls(await ShellStream.open(device, f"TERM={TERM},pty", command), on_data)
        pty.resize(columns, rows)
        return pty

    @property
    def lost(self) -> bool:
        """The connection has ended, and nobody said that the program has."""
        return self._stream.lost

    def write(self, data: bytes) -> None:
        """Type bytes.

        Raises:
            SandboxDied: the program has ended.
        """
        if self.ended.is_set():
            raise SandboxDied("the terminal's program has ended")
        self._stream.write(data)

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size and tell the program."""
        self._stream.send(WINDOW, window(columns, rows))

    async def close(self) -> None:
        """Hang up, and end everything in the program's session; safe to call twice."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        await self._stream.close()

    async def _read(self) -> None:
        try:
            while (packet := await self._stream.packet()) is not None:
                kind, data = packet
                if kind == EXIT:
                    return
                if kind in (OUT, ERR):
                    self._on_data(data)
        finally:
            self.ended.set()
