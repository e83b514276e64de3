"""Pseudo-terminals of the simulated device, for `adb shell` as a person uses it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from deskhand_sandbox.backends.android.shell_protocol import EXIT, IN, OUT, WINDOW, frame, window_size
from deskhand_sandbox.backends.android.simulator.daemon import Stream
from deskhand_sandbox.backends.android.simulator.packets import Packets
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.terminal.pty import Pty

BACKLOG_BYTES = 256 * 1024
"""Of what a program writes before the client takes it; then it has to wait."""


class Terminal:
    """A program on a pseudo-terminal, for one client."""

    def __init__(
        self,
        program: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        stream: Stream,
        *,
        framed: bool,
    ) -> None:
        """
        Args:
            folder: of this machine, in which the program is started.
            framed: the client speaks version 2 of the shell protocol.
        """
        self._stream = stream
        self._framed = framed
        self._waiting = bytearray()
        self._news = asyncio.Event()
        """Something was written, or the terminal was closed."""
        # of no size before the client tells one, as on a device
        self._pty = Pty.start(
            program, environment=environment, folder=folder, columns=0, rows=0, on_data=self._take
        )

    async def serve(self) -> None:
        """Carry what is typed and what is written, until the program has closed the terminal.

        Everything in its session ends then, or when this is cancelled: the client has hung up.
        """
        beside = [asyncio.create_task(each) for each in (self._type(), self._notice_end())]
        try:
            await self._show()
            if self._framed:
                status = await self._pty.exit_status()
                await self._stream.write(frame(EXIT, bytes([(status or 0) & 0xFF])))
        finally:
            for task in beside:
                task.cancel()
            closing = asyncio.create_task(self._pty.close())
            while not closing.done():  # however often this is cancelled
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([closing, *beside])

    def _take(self, data: bytes) -> None:
        self._waiting += data
        self._news.set()
        if len(self._waiting) > BACKLOG_BYTES:
            self._pty.pause_reading()

    async def _show(self) -> None:
        while self._waiting or not self._pty.ended.is_set():
            await self._news.wait()
            self._news.clear()
            data, self._waiting = bytes(self._waiting), bytearray()
            self._pty.resume_reading()
            if data:
                await self._stream.write(frame(OUT, data) if self._framed else data)

    async def _notice_end(self) -> None:
        await self._pty.ended.wait()
        self._news.set()

    async def _type(self) -> None:
        with contextlib.suppress(SandboxDied):
            if not self._framed:
                while data := await self._stream.read():
                    self._pty.write(data)
                return
            packets = Packets(self._stream.read)
            while (packet := await packets.next()) is not None:
                kind, data = packet
                if kind == IN:
                    self._pty.write(data)
                elif kind == WINDOW and (size := window_size(data)) is not None:
                    self._pty.resize(*size)
