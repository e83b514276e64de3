from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.vm import create, places
from deskhand_sandbox.base import Backend
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


@pytest.fixture(scope="session")
def settings(typewriter: Path) -> dict[str, object]:
    """Of a backend whose VMs are typewriters."""
    return {
        "image": str(typewriter),
        "memory_mb": 32,
        "accelerator": "emulation",
        "boot_still_s": 1.0,
        "folder": str(typewriter.parent),
    }


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def typewriters(typewriter: Path, settings: dict[str, object]) -> AsyncIterator[Backend]:
    """A backend whose VMs are typewriters; nothing is left of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(typewriter.parent / "cache"))
        backend = create(**settings)
        yield backend
        await backend.close()
    assert not list((typewriter.parent / places.mark() / "vms").iterdir())
    assert not places.running_in(typewriter.parent)


@contextmanager
def _small_disk(place: Path, size: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield
    finally:
        _unmount(place, deadline_s=30)


def _unmount(place: Path, *, deadline_s: float) -> None:
    """The kernel lets go of a killed machine's files (io_uring's) a moment after its process is gone."""
    deadline = time.monotonic() + deadline_s
    while subprocess.run(["umount", place], check=False).returncode:
        assert time.monotonic() < deadline, f"{place} is still in use"
        time.sleep(0.05)


@pytest.fixture
def small_disk() -> Callable[[Path, str], AbstractContextManager[None]]:
    """Puts a disk of that size ("256k") at a place, for the length of a block."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a small disk")
    return _small_disk


@pytest.fixture
def guest_task() -> Callable[..., Task]:
    """A task for a VM; settings as given."""

    def make(**settings: JsonValue) -> Task:
        spec = EnvironmentSpec(kind="vm", settings=settings)
        return Task(
            id="vm/test", environment=spec, verifier=VerifierSpec(name="expression"), instruction="Work."
        )

    return make
