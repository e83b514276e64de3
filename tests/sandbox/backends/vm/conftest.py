from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec

TYPEWRITER = (
    "b80300 cd10"  # an empty screen
    "b401 b90726 cd10"  # hide the cursor, which blinks
    "30e4 cd16"  # wait for a key
    "b40e cd10"  # and show it
    "ebf6"
)
"""A whole guest: it shows what is typed. It has no agent, and is up at once."""


def boot_sector(code: bytes) -> bytes:
    """A disk a BIOS boots from: code it loads to 0x7C00 and jumps to."""
    return (code.ljust(510, b"\0") + b"\x55\xaa").ljust(1024 * 1024, b"\0")


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for sockets."""
    with tempfile.TemporaryDirectory(prefix="dh-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def make_disk(short_folder: Path) -> Callable[[str, str], Path]:
    """Makes a disk of a guest of one sector: name, code as hexadecimal digits."""

    def make(name: str, code: str) -> Path:
        raw, disk = short_folder / f"{name}.raw", short_folder / f"{name}.qcow2"
        raw.write_bytes(boot_sector(bytes.fromhex(code)))
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk], check=True)
        return disk

    return make


@pytest.fixture(scope="session")
def typewriter(make_disk: Callable[[str, str], Path]) -> Path:
    """A disk of one's own, with the typewriter on it."""
    return make_disk("typewriter", TYPEWRITER)


@pytest.fixture
def guest_task() -> Callable[..., Task]:
    """A task for a VM; settings as given."""

    def make(**settings: JsonValue) -> Task:
        spec = EnvironmentSpec(kind="vm", settings=settings)
        return Task(
            id="vm/test", environment=spec, verifier=VerifierSpec(name="expression"), instruction="Work."
        )

    return make
