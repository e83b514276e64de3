"""A program on a device that somebody talks to by its standard input and output."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence

from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.stream import ShellStream
from deskhand_sandbox.backends.android.shell_protocol import ERR, EXIT, OUT
from deskhand_sandbox.tools.program import LEAVE_S, WORDS_BYTES, Lines, last_line

MOST_PIECES = 64
"""Pieces of its output that wait to be read; then it has to wait."""


class DeviceProgram:
    """Used as `Program` is. Made by `start`."""

    def __init__(self, stream: ShellStream) -> None:
        self._stream = stream
        self._pieces: asyncio.Queue[bytes] = asyncio.Queue(MOST_PIECES)
        self._lines = Lines(self._piece)
        self._words = bytearray()
        self._news = asyncio.Event()
        """It has printed something, or there will be no more."""
        self._listening = asyncio.create_task(self._listen(), name="a device's program")
        self._listening.add_done_callback(lambda _: self._news.set())

    @classmethod
    async def start(
        cls, device: Device, folder: str, program: Sequence[str], environment: Mapping[str, str]
    ) -> DeviceProgram:
        """Start a program in a folder of the device.

        Raises:
            as `ShellStream.open`.
        """
        words = ["env", *(f"{name}={value}" for name, value in environment.items()), *program]
        command = f"cd {shlex.quote(folder)}; exec {shlex.join(words)}"
        return cls(await ShellStream.open(device, "raw", command))

    async def read_line(self) -> bytes:
        return await self._lines.next()

    async def write(self, data: bytes) -> None:
        self._stream.write(data)
        await self._stream.drain()

    async def last_words(self) -> str:
        await asyncio.wait([self._listening], timeout=LEAVE_S)
        return last_line(bytes(self._words))

    async def close(self) -> None:
        self._stream.end_input()
        await asyncio.wait([self._listening], timeout=LEAVE_S)
        self._listening.cancel()
        await asyncio.wait([self._listening])
        await self._stream.close()

    async def _piece(self) -> bytes:
        """What it prints next; empty once there will be no more."""
        while self._pieces.empty() and not self._listening.done():
            self._news.clear()
            await self._news.wait()
        return b"" if self._pieces.empty() else self._pieces.get_nowait()

    async def _listen(self) -> None:
        while (packet := await self._stream.packet()) is not None:
            kind, data = packet
            if kind == EXIT:
                return
            if kind == OUT and data:
                await self._pieces.put(data)
                self._news.set()
            elif kind == ERR:
                self._words += data
                del self._words[:-WORDS_BYTES]
