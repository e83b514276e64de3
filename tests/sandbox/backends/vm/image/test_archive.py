from __future__ import annotations

import gzip

from deskhand_sandbox.backends.vm.image.archive import initrd


def entries(archive: bytes) -> dict[str, tuple[int, bytes]]:
    """Name -> mode and content, read as the kernel's documentation describes the form."""
    data, at, found = gzip.decompress(archive), 0, dict[str, tuple[int, bytes]]()
    while True:
        assert data[at : at + 6] == b"070701"
        fields = [int(data[at + 6 + 8 * n : at + 14 + 8 * n], 16) for n in range(13)]
        mode, size, named = fields[1], fields[6], fields[11]
        name = data[at + 110 : at + 110 + named - 1].decode()
        start = (at + 110 + named + 3) & ~3
        if name == "TRAILER!!!":
            return found
        found[name] = (mode, data[start : start + size])
        at = (start + size + 3) & ~3


def test_files_and_folders_are_found_again() -> None:
    files = {"bin": None, "bin/busybox": b"\x7fELF...", "init": b"#!", "empty": b""}
    found = entries(initrd(files))
    assert list(found) == list(files)
    assert found["bin"] == (0o040755, b"")
    assert found["bin/busybox"] == (0o100755, b"\x7fELF...")
    assert found["empty"] == (0o100755, b"")


def test_the_same_files_make_the_same_archive() -> None:
    files = {"init": b"#!/bin/busybox sh\n"}
    assert initrd(files) == initrd(dict(files))
