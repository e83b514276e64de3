"""Packets between an adb server and a device, as AOSP's `protocol.txt` describes them.

A packet is six 32-bit little-endian words (command, two arguments, length, checksum, the command's
complement) and then its data. From version 0x01000001 on, checksums are not looked at and are sent as 0.
"""

from __future__ import annotations

import asyncio
import struct
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

Command: TypeAlias = Literal["CNXN", "AUTH", "OPEN", "OKAY", "WRTE", "CLSE"]

VERSION = 0x01000001
MAX_DATA = 1 << 20
"""Longest data of one packet."""

_HEADER = struct.Struct("<4s5I")
_COMMANDS = frozenset(get_args(Command))


class ProtocolError(Exception):
    """Bytes that are no packet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """One message; what the arguments mean depends on the command."""

    command: Command
    arg0: int
    arg1: int
    data: bytes = b""

    def encode(self) -> bytes:
        """The packet as it is sent."""
        word = self.command.encode()
        complement = int.from_bytes(word, "little") ^ 0xFFFFFFFF
        return _HEADER.pack(word, self.arg0, self.arg1, len(self.data), 0, complement) + self.data


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """The next packet.

    Raises:
        ProtocolError: no such command, a broken header, or too much data.
        IncompleteReadError: the other end is gone.
    """
    word, arg0, arg1, length, _, complement = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    name = word.decode("ascii", errors="replace")
    if name not in _COMMANDS or complement != int.from_bytes(word, "little") ^ 0xFFFFFFFF:
        raise ProtocolError(f"{word!r} is no command")
    if length > MAX_DATA:
        raise ProtocolError(f"a packet of {length} bytes is longer than {MAX_DATA}")
    data = await reader.readexactly(length)
    return Packet(command=cast("Command", name), arg0=arg0, arg1=arg1, data=data)
