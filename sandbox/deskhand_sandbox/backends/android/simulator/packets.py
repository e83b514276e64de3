"""Packets of the shell protocol out of bytes that come in any pieces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from deskhand_sandbox.backends.android.shell_protocol import CLOSE_IN, HEADER, IN, LONGEST


class Packets:
    """What a client of a shell sends."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        """
        Args:
            read: the next bytes; empty at their end.
        """
        self._read = read
        self._kept = bytearray()
        self._ended = False

    async def next(self) -> tuple[int, bytes] | None:
        """Kind and data of the next packet; None after the last one, and instead of what is none."""
        while not self._ended:
            if len(self._kept) >= HEADER.size:
                kind, size = HEADER.unpack_from(self._kept)
                if size > LONGEST:
                    break
                if len(self._kept) >= HEADER.size + size:
                    data = bytes(self._kept[HEADER.size : HEADER.size + size])
                    del self._kept[: HEADER.size + size]
                    return kind, data
            part = await self._read()
            self._ended = not part
            self._kept += part
        self._ended = True
        return None

    async def input(self) -> bytes:
        """The next bytes of standard input; empty at its end."""
        while (packet := await self.next()) is not None:
            kind, data = packet
            if kind == CLOSE_IN:
                self._ended = True
            elif kind == IN and data:
                return data
        return b""
