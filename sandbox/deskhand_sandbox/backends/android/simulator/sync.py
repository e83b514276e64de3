"""adb's sync protocol: listing, reading and writing files (AOSP's `SYNC.TXT` and `file_sync_protocol.h`)."""

from __future__ import annotations

import asyncio
import os
import stat
import struct
from collections.abc import Awaitable, Callable, Mapping

from deskhand_sandbox.backends.android.simulator.daemon import Stream
from deskhand_sandbox.backends.android.simulator.files import DeviceFiles

DATA_BYTES = 64 * 1024
LONGEST_PATH = 1024
LONGEST_FILE = 512 << 20

_V1 = struct.Struct("<III")
"""Mode, size, time."""
_V2 = struct.Struct("<IQQIIIIQqqq")
"""Error, device, inode, mode, links, user, group, size, three times."""


class _Reader:
    """Bytes of a stream, in the lengths that are asked for."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._kept = bytearray()

    async def exactly(self, size: int) -> bytes:
        while len(self._kept) < size:
            part = await self._stream.read()
            if not part:
                raise ConnectionError("the other end stopped in the middle of a request")
            self._kept += part
        data = bytes(self._kept[:size])
        del self._kept[:size]
        return data

    async def request(self) -> tuple[str, int]:
        name, size = struct.unpack("<4sI", await self.exactly(8))
        return name.decode("ascii", errors="replace"), size


class SyncService:
    """One stream of file requests."""

    def __init__(self, files: DeviceFiles, stream: Stream) -> None:
        self._files = files
        self._stream = stream
        self._reader = _Reader(stream)

    async def serve(self) -> None:
        """Answer until the other end quits."""
        known: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "STAT": self._stat,
            "STA2": self._stat_v2,
            "LST2": self._stat_link,
            "LIST": self._list,
            "LIS2": self._list_v2,
            "RECV": self._send,
            "SEND": self._receive,
        }
        while True:
            name, size = await self._reader.request()
            if name == "QUIT":
                return
            if name not in known or size > LONGEST_PATH:
                await self._fail(f"unknown request {name!r} of {size} bytes")
                return
            path = (await self._reader.exactly(size)).decode(errors="surrogateescape")
            await known[name](path)

    async def _stat(self, path: str) -> None:
        _, found = _look(self._files, path, follow=False)
        await self._stream.write(b"STAT" + _V1.pack(*_short(found)))

    async def _stat_v2(self, path: str) -> None:
        await self._stream.write(b"STA2" + _long(*_look(self._files, path, follow=True)))

    async def _stat_link(self, path: str) -> None:
        await self._stream.write(b"LST2" + _long(*_look(self._files, path, follow=False)))

    async def _list(self, path: str) -> None:
        await self._entries(path, b"DENT", lambda error, found: _V1.pack(*_short(found)), _V1.size)

    async def _list_v2(self, path: str) -> None:
        await self._entries(path, b"DNT2", _long, _V2.size)

    async def _entries(
        self, path: str, tag: bytes, pack: Callable[[int, os.stat_result | None], bytes], size: int
    ) -> None:
        told = bytearray()
        for name in _names(self._files, path):
            label = os.fsencode(name)
            told += tag + pack(*_look(self._files, f"{path.rstrip('/')}/{name}", follow=False))
            told += struct.pack("<I", len(label)) + label
        await self._stream.write(bytes(told) + b"DONE" + bytes(size) + struct.pack("<I", 0))

    async def _send(self, path: str) -> None:
        """RECV: the other end receives."""
        try:
            data = await asyncio.to_thread(self._files.read, path)
        except OSError as error:
            await self._fail(f"open failed: {error.strerror}")
            return
        for at in range(0, len(data), DATA_BYTES):
            part = data[at : at + DATA_BYTES]
            await self._stream.write(b"DATA" + struct.pack("<I", len(part)) + part)
        await self._stream.write(b"DONE" + struct.pack("<I", 0))

    async def _receive(self, target: str) -> None:
        """SEND: the other end sends."""
        path, _, mode = target.rpartition(",")
        data = bytearray()
        while True:
            name, size = await self._reader.request()
            if name == "DONE":
                break
            if name != "DATA" or size > DATA_BYTES or len(data) > LONGEST_FILE:
                await self._fail(f"{name!r} of {size} bytes is no data of a file this device takes")
                return
            data += await self._reader.exactly(size)
        permissions = int(mode) if mode.isdecimal() else 0o644
        try:
            await asyncio.to_thread(self._files.write, path, bytes(data), permissions)
        except OSError as error:
            await self._fail(f"couldn't create file: {error.strerror}")
            return
        await self._stream.write(b"OKAY" + struct.pack("<I", 0))

    async def _fail(self, why: str) -> None:
        said = why.encode()
        await self._stream.write(b"FAIL" + struct.pack("<I", len(said)) + said)


def _look(files: DeviceFiles, path: str, *, follow: bool) -> tuple[int, os.stat_result | None]:
    """Error number, and what is known of a file."""
    try:
        place = files.place(path)
        if follow and not place.resolve().is_relative_to(files.root.resolve()):
            return 13, None
        return 0, place.stat(follow_symlinks=follow)
    except OSError as error:
        return error.errno or 5, None


def _names(files: DeviceFiles, path: str) -> list[str]:
    try:
        place = files.place(path)
        if place.is_symlink():
            return []
        return (
            sorted([".", "..", *(inner.name for inner in place.iterdir())])
            if place != files.root
            else ["data", "sdcard"]
        )
    except OSError:
        return []


def _short(found: os.stat_result | None) -> tuple[int, int, int]:
    if found is None:
        return 0, 0, 0
    return found.st_mode, min(found.st_size, 0xFFFFFFFF), int(found.st_mtime)


def _long(error: int, found: os.stat_result | None) -> bytes:
    if found is None:
        return _V2.pack(error, *(0,) * 10)
    size = found.st_size if stat.S_ISREG(found.st_mode) else 4096
    times = (int(found.st_atime), int(found.st_mtime), int(found.st_ctime))
    # user and group are the shell's: this machine's are nobody's business
    return _V2.pack(0, 1, found.st_ino, found.st_mode, found.st_nlink, 2000, 2000, size, *times)
