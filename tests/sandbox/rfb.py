"""A VNC client as small as can be: RFB 3.8 (RFC 6143) with VNC authentication and raw pictures."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

VERSION = b"RFB 003.008\n"
NO_SECURITY, VNC_AUTHENTICATION = 1, 2
BELL, CUT_TEXT = 2, 3
DEADLINE_S = 120.0
RED_GREEN_BLUE = struct.pack(">BBBBHHHBBB3x", 32, 24, 0, 1, 255, 255, 255, 0, 8, 16)
"""Four bytes a pixel: red, green, blue, and one that says nothing."""


class Refused(Exception):
    """The server did not take the password; says what it said."""


class Viewer:
    """Made by `viewer`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.size_px = (0, 0)
        self.name = ""

    async def begin(self, password: str | None) -> None:
        """None: the server is to ask for no password."""
        security = NO_SECURITY if password is None else VNC_AUTHENTICATION
        async with asyncio.timeout(DEADLINE_S):
            assert await self._reader.readexactly(12) == VERSION
            self._writer.write(VERSION)
            offered = await self._reader.readexactly((await self._reader.readexactly(1))[0])
            assert list(offered) == [security]
            self._writer.write(bytes([security]))
            if password is not None:
                self._writer.write(response(password, await self._reader.readexactly(16)))
            if await self._number():
                raise Refused((await self._reader.readexactly(await self._number())).decode())
            self._writer.write(b"\1")  # others may look on
            width, height = struct.unpack(">HH16x", await self._reader.readexactly(20))
            self.size_px = width, height
            self.name = (await self._reader.readexactly(await self._number())).decode()
            self._writer.write(struct.pack(">B3x", 0) + RED_GREEN_BLUE)
            self._writer.write(struct.pack(">BxHi", 2, 1, 0))

    async def picture(self) -> bytes:
        """The whole screen: red, green and blue, row by row."""
        width, height = self.size_px
        pixels = bytearray(width * height * 4)
        missing = width * height
        self._writer.write(struct.pack(">BBHHHH", 3, 0, 0, 0, width, height))
        async with asyncio.timeout(DEADLINE_S):
            while missing > 0:
                [kind] = await self._reader.readexactly(1)
                if kind == BELL:
                    continue
                if kind == CUT_TEXT:
                    await self._reader.readexactly(3)
                    await self._reader.readexactly(await self._number())
                    continue
                assert kind == 0
                (count,) = struct.unpack(">xH", await self._reader.readexactly(3))
                for _ in range(count):
                    missing -= await self._rectangle(pixels)
        del pixels[3::4]
        return bytes(pixels)

    async def press(self, keysym: int) -> None:
        for down in (1, 0):
            self._writer.write(struct.pack(">BBxxI", 4, down, keysym))
        await self._writer.drain()

    async def point(self, x: int, y: int, buttons: int = 0) -> None:
        self._writer.write(struct.pack(">BBHH", 5, buttons, x, y))
        await self._writer.drain()

    async def ended(self) -> bool:
        """Whether the server ends the connection."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                while await self._reader.read(65536):
                    pass
        except ConnectionError:
            pass
        return True

    async def _rectangle(self, pixels: bytearray) -> int:
        x, y, width, height, encoding = struct.unpack(">HHHHi", await self._reader.readexactly(12))
        assert encoding == 0
        for row in range(y, y + height):
            at = (row * self.size_px[0] + x) * 4
            pixels[at : at + width * 4] = await self._reader.readexactly(width * 4)
        return width * height

    async def _number(self) -> int:
        return int.from_bytes(await self._reader.readexactly(4), "big")


@asynccontextmanager
async def viewer(host: str, port: int, password: str) -> AsyncIterator[Viewer]:
    """A connection that has said the password and was let in."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        made = Viewer(reader, writer)
        await made.begin(password)
        yield made
    finally:
        writer.close()


def response(password: str, challenge: bytes) -> bytes:
    """DES of the challenge; VNC takes the bits of each byte of the key the other way round."""
    key = bytes(int(f"{byte:08b}"[::-1], 2) for byte in password.encode().ljust(8, b"\0")[:8])
    cipher = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()
    return cipher.update(challenge) + cipher.finalize()
