"""Programs in a guest that somebody talks to by their standard input and output, by the agent there."""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress

from deskhand_sandbox.backends.vm.channel import Channel, Told
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tools.program import Lines, last_line

WAIT_S = 3600.0
"""How long a program may take to read or to print: whoever talks to it knows how long that is worth."""


class GuestProgram:
    """A program in a guest, used as `Program` is. Made by `start`.

    It has ended, too, once the guest has gone to another state.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._name = f"p{secrets.token_hex(4)}"
        self._lines = Lines(self._read)
        self._piece: asyncio.Task[bytes] | None = None
        """What it prints next, while it is awaited."""
        self._words: Told | None = None
        """What it complained of, once it is closed."""

    @classmethod
    async def start(
        cls, channel: Channel, program: Sequence[str], environment: Mapping[str, str]
    ) -> GuestProgram:
        """See `RunsPrograms.start_program`."""
        made = cls(channel)
        try:
            await channel.ask(
                "program_start", name=made._name, command=list(program), environment=dict(environment)
            )
        except BaseException:
            await made.close()
            raise
        return made

    async def read_line(self) -> bytes:
        return await self._lines.next()

    async def write(self, data: bytes) -> None:
        with suppress(InfrastructureError):
            await self._ask("program_write", data=base64.b64encode(data).decode())

    async def last_words(self) -> str:
        try:
            told = self._words or await self._ask("program_words")
        except InfrastructureError:
            return ""
        return last_line(base64.b64decode(str(told["words"])))

    async def close(self) -> None:
        if self._piece is not None:
            self._piece.cancel()
        with suppress(InfrastructureError):  # it was closed before, or has gone with the guest
            self._words = await self._channel.ask("program_close", name=self._name)

    async def _read(self) -> bytes:
        """What it prints next; empty once it will print no more."""
        piece = self._piece = self._piece or asyncio.create_task(self._next())
        await asyncio.wait([piece])  # it is awaited on where the reader gives up: what it brings is not lost
        if piece.cancelled():
            return b""
        self._piece = None
        return piece.result()

    async def _next(self) -> bytes:
        """What it prints next; empty once there will be no more."""
        try:
            while (data := (await self._ask("program_read"))["data"]) == "":
                pass  # nothing for the time being
        except InfrastructureError:
            return b""
        return b"" if data is None else base64.b64decode(str(data))

    async def _ask(self, do: str, **arguments: str) -> Told:
        return await self._channel.ask(do, name=self._name, takes_s=WAIT_S, **arguments)
