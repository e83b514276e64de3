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
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from blake3 import blake3

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.backends.vm.connection import Connection
from deskhand_sandbox.backends.vm.domain import Hardware, domain_xml
from deskhand_sandbox.backends.vm.image.locks import locked
from deskhand_sandbox.backends.vm.image.recipe import GoldenImage, cache_folder
from deskhand_sandbox.backends.vm.machine import Frame, Machine, copy
from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout

READY = "ready"
"""Name of the state in the disk."""
KEY_CHARACTERS = 16
LOOK_S = 0.25
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
        free = shutil.disk_usage(folder).free // 2**20
        if free < hardware.memory_mb * ROOM_FACTOR:
            raise InfrastructureError(f"saving the VM takes room in {folder}, and only {free} MiB are free")
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
        domain_xml(hardware, "name", Path("/")).partition("</uuid>")[2],
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
    disk = draft / "disk.qcow2"
    await _overlay(image.disk, disk)
    machine = await Machine.start(connection, hardware, disk)
    try:
        began = time.monotonic()
        await machine.resume()
        try:
            async with asyncio.timeout(deadline_s):
                if image.agent:
                    channel = await Channel.connect(machine.channel)
                    try:
                        await channel.ready(deadline_s)
                        boot_s = time.monotonic() - began
                        frame = await _stand_still(machine, SETTLED_S)
                        await machine.pause()
                        await machine.save(READY)
                    finally:
                        await channel.close()
                else:
                    frame = await _stand_still(machine, still_s)
                    boot_s = time.monotonic() - began - still_s
                    await machine.pause()
                    await machine.save(READY)
        except (TimeoutError, SandboxTimeout) as error:
            said = f"the VM was not up in {deadline_s:g} s; {_last_words(machine)}"
            raise SandboxTimeout(said) from error
        except SandboxDied as error:
            said = f"the VM ended while it booted ({error}); {_last_words(machine)}"
            raise InfrastructureError(said) from error
        await asyncio.to_thread(copy, machine.disk, disk)
    finally:
        await machine.close()
    told = {"size_px": [frame.width, frame.height], "boot_s": boot_s, "made_at_s": time.time()}
    (draft / "state.json").write_text(json.dumps(told))


async def _stand_still(machine: Machine, still_s: float) -> Frame:
    """The screen once it has not changed for so long."""
    seen: Frame | None = None
    changed = time.monotonic()
    while True:
        with suppress(InfrastructureError):  # a screen that changes its size is not whole for a moment
            frame = await machine.frame()
            if frame != seen:
                seen, changed = frame, time.monotonic()
        if machine.ended is not None:
            raise SandboxDied(machine.ended)
        if seen is not None and time.monotonic() - changed >= still_s:
            return seen
        await asyncio.sleep(LOOK_S)


def _last_words(machine: Machine) -> str:
    said = machine.console()
    return f"its console ends with:\n{said}" if said else "its console is empty"


async def _overlay(base: Path, disk: Path) -> None:
    """A disk on top of another, which is never written to.

    Raises:
        InfrastructureError: the other is no qcow2.
    """
    command = ["qemu-img", "create", "-q", "-f", "qcow2", "-b", str(base), "-F", "qcow2", str(disk)]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    if process.returncode:
        raise InfrastructureError(f"{base} cannot be a VM's disk: {said.decode(errors='replace').strip()}")


class _Held:
    """A lock across processes, waited for in a thread."""

    def __init__(self, path: Path, wait_s: float) -> None:
        self._lock = locked(path, wait_s)

    async def __aenter__(self) -> None:
        await asyncio.to_thread(self._lock.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._lock.__exit__, None, None, None)
