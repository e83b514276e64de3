from __future__ import annotations

import os
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm.machine import copy, read_frame
from deskhand_sandbox.errors import InfrastructureError


def test_a_picture_of_qemu_is_read() -> None:
    # the pixels hold what could be taken for the end of a line
    frame = read_frame(b"P6\n2 1\n255\n" + b"\n\n\n\xff\x00 ")
    assert (frame.width, frame.height, frame.pixels) == (2, 1, b"\n\n\n\xff\x00 ")


@pytest.mark.parametrize("data", [b"", b"P6\n2 1\n255\n123", b"P5\n1 1\n255\n123", b"\x89PNG\n1 1\n\n"])
def test_half_a_picture_is_refused(data: bytes) -> None:
    with pytest.raises(InfrastructureError, match="not whole"):
        read_frame(data)


def test_a_copy_is_the_same_whatever_its_size(tmp_path: Path) -> None:
    for size in (0, 1, 3 * 1024 * 1024 + 7):
        source = tmp_path / "source"
        source.write_bytes(os.urandom(size))
        copy(source, tmp_path / "target")
        assert (tmp_path / "target").read_bytes() == source.read_bytes()
