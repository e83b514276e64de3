"""The state every VM starts from: an image is booted once, and saved in a disk that clones copy."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from blake3 import blake3

from deskhand_sandbox.backends.vm.booting import booted, stand_still
from deskhand_sandbox.backends.vm.connection import Connection
from deskhand_sandbox.backends.vm.domain import Hardware, domain_xml
from deskhand_sandbox.backends.vm.image.locks import locked
from deskhand_sandbox.backends.vm.image.recipe import GoldenImage, cache_folder
from deskhand_sandbox.backends.vm.machine import copy
from deskhand_sandbox.backends.vm.room import check_room, writing

READY = "ready"
"""Name of the state in the disk."""
KEY_CHARACTERS = 16
SETTLED_S = 1.0
"""How long the screen of a golden guest must stand still before it is saved."""
KEPT_S = 30 * 24 * 3600.0
"""A state nobody has used for so long is removed when another is made."""
ROOM_FACTOR = 2
"""A state takes up to the guest's memory on the disk; so much of it must be free."""


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """A machine that has booted."""

    disk: Path
    """qcow2 on top of the image's, with the state `READY` in it; to be copied."""
    size_px: tuple[int, int]
    """Of the screen."""
    boot_s: float
    """From power on to ready, when it was made."""


Tell = Callable[[str], None]


async def ready_state(
    connection: Connection,
    image: GoldenImage,
    hardware: Hardware,
    *,
    deadline_s: float,
    still_s: float,
    tell: Tell | None = None,
) -> State:
    """The state of an image on a machine; booted and saved where there is none yet.

    Args:
        deadline_s: longest the boot may take.
        still_s: how long the screen of a guest without our agent stands still once it has booted.
        tell: told what is being done, where it takes a while.

    Raises:
        SandboxTimeout: it did not come up; says the last lines of its console.
        InfrastructureError: it ended, or could not be saved.
    """
    folder = cache_folder() / "states"
    with writing(folder):
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    key = await asyncio.to_thread(state_key, image, hardware)
    if (found := _find(folder / key)) is not None:
        return found
    async with _Held(folder / f"{key}.lock", deadline_s * 2):
        if (found := _find(folder / key)) is not None:
            return found
        if tell is not None:
            tell("booting the image once, to save it")
        for left in folder.glob(f".{key}-*"):  # of a process that was killed: the lock is ours
            await asyncio.to_thread(shutil.rmtree, left, ignore_errors=True)
        check_room(folder, hardware.memory_mb * ROOM_FACTOR, "saving the VM")
        with writing(folder):
            draft = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=folder))
        try:
            await _make(connection, image, hardware, draft, deadline_s=deadline_s, still_s=still_s)
            await asyncio.to_thread(draft.rename, folder / key)
            await asyncio.to_thread(_forget_old, folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
    found = _find(folder / key)
    assert found is not None
    return found


def state_key(image: GoldenImage, hardware: Hardware) -> str:
    """Names a state by all it depends on: image, machine, QEMU and, with KVM, the processor."""
    values = asdict(hardware)
    parts = [
        image.key,
        str(image.disk),
        json.dumps({name: str(value) for name, value in values.items()}, sort_keys=True),
        domain_xml(hardware, "name", Path("/"), vnc_password="").partition("</uuid>")[2],
        _qemu_version(),
    ]
    if hardware.accelerator == "kvm":
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        parts += sorted({line for line in lines if line.startswith(("model name", "flags"))})
    return blake3("\0".join(parts).encode()).hexdigest()[:KEY_CHARACTERS]


def _qemu_version() -> str:
    command = ["qemu-system-x86_64", "--version"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def _forget_old(folder: Path) -> None:
    """States that nobody has started from for long: of other images, settings or versions."""
    for told in folder.glob("*/state.json"):
        if time.time() - told.stat().st_mtime > KEPT_S:
            shutil.rmtree(told.parent, ignore_errors=True)


def _find(folder: Path) -> State | None:
    try:
        told = json.loads((folder / "state.json").read_text())
        os.utime(folder / "state.json")
    except OSError:
        return None
    width, height = told["size_px"]
    return State(disk=folder / "disk.qcow2", size_px=(width, height), boot_s=told["boot_s"])


async def _make(
    connection: Connection,
    image: GoldenImage,
    hardware: Hardware,
    draft: Path,
    *,
    deadline_s: float,
    still_s: float,
) -> None:
    async with booted(connection, image, hardware, draft, deadline_s=deadline_s, still_s=still_s) as up:
        frame = await stand_still(up.machine, SETTLED_S)
        await up.machine.pause()
        await up.machine.save(READY)
        with writing(draft):
            await asyncio.to_thread(copy, up.machine.disk, draft / "disk.qcow2")
    told = {"size_px": [frame.width, frame.height], "boot_s": up.boot_s, "made_at_s": time.time()}
    with writing(draft):
        (draft / "state.json").write_text(json.dumps(told))


class _Held:
    """A lock across processes, waited for in a thread."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self._lock = locked(path, wait_s)

    async def __aenter__(self) -> None:
        await asyncio.to_thread(self._lock.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._lock.__exit__, None, None, None)
