from __future__ import annotations

import asyncio
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.vm import create, places
from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.image.recipe import GUEST
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
def left(typewriter: Path) -> Callable[[], list[object]]:
    """What there is of this process's VMs: folders and processes.

    libvirt's driver stays where the process first had one, for its own tests and for all others.
    """

    def found() -> list[object]:
        own = [place / places.mark() for place in (typewriter.parent, places.base_folder(None))]
        return [each for place in own for each in (*place.glob("vms/*"), *places.running_in(place))]

    return found


@pytest.fixture(scope="session")
def settings(typewriter: Path) -> dict[str, object]:
    """Of a backend whose VMs are typewriters."""
    return {
        "image": str(typewriter),
        "memory_mb": 32,
        "accelerator": "emulation",
        "boot_still_s": 2.0,
        "folder": str(typewriter.parent),
    }


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def typewriters(
    typewriter: Path, settings: dict[str, object], left: Callable[[], list[object]]
) -> AsyncIterator[Backend]:
    """A backend whose VMs are typewriters; nothing is left of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(typewriter.parent / "cache"))
        backend = create(**settings)
        yield backend
        await backend.close()
    assert not left()


@contextmanager
def _small_disk(place: Path, size: str) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield
    finally:
        _unmount(place, deadline_s=120)


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


class Clock:
    """The guest's time: nothing here may set this machine's, and waiting for a host that let go ends it."""

    CLOCK_REALTIME = time.CLOCK_REALTIME

    @staticmethod
    def clock_settime(_clock: int, seconds: float) -> None:
        assert abs(seconds - time.time()) < 60

    @staticmethod
    def sleep(_seconds: float) -> None:
        raise EOFError


class NoScreen:
    """A guest without a screen: nothing here types."""


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(GUEST))
    spec = importlib.util.spec_from_file_location("guest_agent", GUEST / "agent.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for neighbour in ("programs", "screen"):
        sys.modules.pop(neighbour, None)
    tmp_path.chmod(0o777)
    for parent in tmp_path.parents:  # another user works there
        if parent.stat().st_mode & 0o005 == 0o005:
            break
        parent.chmod(0o755)
    monkeypatch.setattr(module.programs, "HOME", str(tmp_path))
    monkeypatch.setattr(module, "time", Clock)
    monkeypatch.setattr(module.fcntl, "ioctl", quiet_entropy(module.fcntl.ioctl))
    return module


def quiet_entropy(ioctl: Any) -> Any:
    """`ioctl`, but for what would reach this machine's own randomness."""
    return lambda file, number, *rest: 0 if number in (0x40085203, 0x5207) else ioctl(file, number, *rest)


@pytest.fixture
async def pair(agent: ModuleType) -> AsyncIterator[tuple[Channel, socket.socket]]:
    host, guest = socket.socketpair()

    class Port(agent.Port):  # type: ignore[name-defined, misc]
        """A guest's port does not fail when the host has let go."""

        def send(self, message: dict[str, Any]) -> None:
            with suppress(OSError):
                super().send(message)

    served = agent.Agent(Port(guest.fileno()), NoScreen())

    def serve() -> None:
        with suppress(EOFError):
            served.serve()

    serving = threading.Thread(target=serve)
    serving.start()
    channel = Channel(*await asyncio.open_unix_connection(sock=host))
    yield channel, guest
    await channel.close()
    await asyncio.to_thread(serving.join, 120)
    assert not serving.is_alive()
    served.end_all()
    guest.close()
