"""VNC for people who look on: RFB 3.8 (RFC 6143) between a viewer and a sandbox, without the viewer's input.

To the sandbox's VNC server we are a viewer and say its password; to the viewer we are a server and ask for
none (security type "None"): who may look on is asked before. A viewer is never told the password, because
with it the port takes pointer and keys from anybody on this machine, and what a person does in a sandbox has
to be a recorded turn of its episode (`takeovers.py`). For the same reason a viewer's messages are read, and
only those that ask for pictures go on.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, modes

from deskhand_platform.errors import ScreenUnavailable
from deskhand_sandbox.vnc import VncAddress

VERSION = b"RFB 003.008\n"
HANDSHAKE_S = 10.0
"""Deadline of each of the two handshakes."""
NO_SECURITY, VNC_AUTHENTICATION = 1, 2
PASSED = {0: 20, 3: 10}
"""Bytes of messages that go on: SetPixelFormat and FramebufferUpdateRequest. SetEncodings does, too."""
DROPPED = {4: 8, 5: 6}
"""Bytes of messages that end here: KeyEvent and PointerEvent. ClientCutText, the clipboard, does, too."""
SET_ENCODINGS, CLIENT_CUT_TEXT = 2, 6
ENCODINGS = frozenset({0, 1, 2, 5, 6, 7, 16, 21, -223, -224, *range(-32, -22), *range(-256, -246)})
"""What a viewer may ask for: raw, CopyRect, RRE, Hextile, Zlib, Tight, ZRLE, JPEG, DesktopSize, LastRect, and
levels of quality and compression.

All others of a viewer's list are left out. What an extension would let it send is thereby never agreed upon,
and the pointer is drawn into the picture, where the person sees what the agent does with it.
"""
PART_BYTES = 64 * 1024


class Reads(Protocol):
    """Where a viewer's bytes come from."""

    async def readexactly(self, n: int, /) -> bytes: ...


class Sends(Protocol):
    """Where bytes for a viewer go; returns once there is room for more."""

    async def __call__(self, data: bytes, /) -> None: ...


class NotRfb(Exception):
    """A viewer sent what RFB 3.8 has not, or what was not agreed upon."""


@asynccontextmanager
async def joined(
    address: VncAddress,
) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to a sandbox's screen that has been let in; the next it reads is ServerInit.

    Raises:
        ScreenUnavailable: nobody answers there, or it does not let us in.
    """
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            reader, writer = await asyncio.open_connection(address.host, address.port)
    except (OSError, TimeoutError) as error:
        raise ScreenUnavailable(f"the sandbox's VNC server is gone: {error}") from error
    try:
        try:
            async with asyncio.timeout(HANDSHAKE_S):
                await _enter(reader, writer, address.password)
        except (OSError, TimeoutError, EOFError) as error:
            raise ScreenUnavailable(
                "the sandbox's VNC server lets nobody in now: too many look on, or it just ended"
            ) from error
        yield reader, writer
    finally:
        writer.transport.abort()


async def greet(viewer: Reads, send: Sends) -> None:
    """Let a viewer in as its server; the next it expects is ServerInit.

    Raises:
        NotRfb: it is no viewer, or knows another version only.
        TimeoutError: it does not answer.
    """
    async with asyncio.timeout(HANDSHAKE_S):
        await send(VERSION)
        if await viewer.readexactly(len(VERSION)) != VERSION:
            raise NotRfb("only RFB 3.8 is spoken here")
        await send(bytes([1, NO_SECURITY]))
        if await viewer.readexactly(1) != bytes([NO_SECURITY]):
            raise NotRfb("only the security type None is offered here")
        await send(struct.pack(">I", 0))
        await viewer.readexactly(1)  # ClientInit: whether it shares the screen was not asked of it


async def requests(viewer: Reads) -> AsyncGenerator[bytes]:
    """The messages of a viewer that go on to the sandbox, one at a time, until its bytes end with an error.

    Raises:
        NotRfb: it sent a message that is none of RFC 6143's.
    """
    while True:
        [kind] = await viewer.readexactly(1)
        if kind in PASSED:
            yield bytes([kind]) + await viewer.readexactly(PASSED[kind] - 1)
        elif kind == SET_ENCODINGS:
            yield await _encodings(viewer)
        elif kind in DROPPED:
            await viewer.readexactly(DROPPED[kind] - 1)
        elif kind == CLIENT_CUT_TEXT:
            (size,) = struct.unpack(">3xI", await viewer.readexactly(7))
            await _skip(viewer, size)
        else:
            raise NotRfb(f"message {kind} was not agreed upon")


async def _enter(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, password: str) -> None:
    """
    Raises:
        EOFError, OSError: it hangs up.
        ScreenUnavailable: it speaks otherwise, or does not take the password.
    """
    if await reader.readexactly(len(VERSION)) != VERSION:
        raise ScreenUnavailable("the sandbox's VNC server does not speak RFB 3.8")
    writer.write(VERSION)
    [count] = await reader.readexactly(1)
    if VNC_AUTHENTICATION not in await reader.readexactly(count):
        raise ScreenUnavailable("the sandbox's VNC server does not offer VNC authentication")
    writer.write(bytes([VNC_AUTHENTICATION]))
    writer.write(_response(password, await reader.readexactly(16)))
    if any(await reader.readexactly(4)):
        raise ScreenUnavailable("the sandbox's VNC server does not take its password")
    writer.write(b"\1")  # ClientInit: others look on as well


def _response(password: str, challenge: bytes) -> bytes:
    """RFC 6143, 7.2.2: DES of the challenge, where the key has the bits of each of its bytes reversed."""
    key = bytes(int(f"{byte:08b}"[::-1], 2) for byte in password.encode().ljust(8, b"\0")[:8])
    cipher = Cipher(TripleDES(key * 3), modes.ECB()).encryptor()
    return cipher.update(challenge) + cipher.finalize()


async def _encodings(viewer: Reads) -> bytes:
    """A SetEncodings without what is not in `ENCODINGS`; its order, the viewer's preference, stays."""
    (count,) = struct.unpack(">xH", await viewer.readexactly(3))
    asked: tuple[int, ...] = struct.unpack(f">{count}i", await viewer.readexactly(4 * count))
    left = [each for each in asked if each in ENCODINGS]
    return struct.pack(f">BxH{len(left)}i", SET_ENCODINGS, len(left), *left)


async def _skip(viewer: Reads, size: int) -> None:
    while size > 0:
        size -= len(await viewer.readexactly(min(size, PART_BYTES)))
