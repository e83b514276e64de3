"""Packets of adb's shell protocol, version 2 (AOSP's `shell_protocol.h`): a kind, a length, the data."""

from __future__ import annotations

import re
import struct

IN, OUT, ERR, EXIT, CLOSE_IN, WINDOW = 0, 1, 2, 3, 4, 5
"""Kinds: standard input, output and errors, exit status, end of input, size of the terminal."""
HEADER = struct.Struct("<BI")
LONGEST = 4 << 20
"""Nobody sends a longer packet: adb's own are a quarter of this at most."""
_WINDOW = re.compile(rb"(\d{1,4})x(\d{1,4}),(\d{1,5})x(\d{1,5})\0?")


def frame(kind: int, data: bytes) -> bytes:
    """One packet."""
    return HEADER.pack(kind, len(data)) + data


def window(columns: int, rows: int) -> bytes:
    """What a packet WINDOW says; devices read it as a C string."""
    return b"%dx%d,0x0\0" % (rows, columns)


def window_size(data: bytes) -> tuple[int, int] | None:
    """Columns and rows of a packet WINDOW; None where it says nothing of the kind."""
    found = _WINDOW.fullmatch(data)
    return None if found is None else (int(found[2]), int(found[1]))
