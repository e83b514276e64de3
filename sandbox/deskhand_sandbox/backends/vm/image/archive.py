"""The archive Linux takes for its first file system: cpio in the "newc" form (kernel documentation,
"initramfs buffer format"), the same bytes for the same files."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

FILE, FOLDER = 0o100755, 0o040755
_TRAILER = "TRAILER!!!"


def initrd(files: Mapping[str, bytes | None]) -> bytes:
    """A compressed archive.

    Args:
        files: path without a leading slash -> content; None makes a folder. Folders come first.
    """
    entries = [
        _entry(at, name, FOLDER if data is None else FILE, data or b"")
        for at, (name, data) in enumerate(files.items(), start=1)
    ]
    entries.append(_entry(0, _TRAILER, 0, b""))
    return gzip.compress(b"".join(entries), compresslevel=6, mtime=0)


def _entry(number: int, name: str, mode: int, data: bytes) -> bytes:
    path = name.encode() + b"\0"
    # inode, mode, owner, group, links, time, size, device and its device (two numbers each), name, checksum
    fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
    head = b"070701" + b"".join(b"%08X" % each for each in fields)
    return _padded(head + path) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
