"""Full disks, by a small file system in memory: said in words, and nothing is left half-made."""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm import create, places, states
from deskhand_sandbox.backends.vm.room import check_room, writing
from deskhand_sandbox.base import Backend
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.types import Task, TypeText

needs_qemu = pytest.mark.skipif(
    shutil.which("qemu-system-x86_64") is None or importlib.util.find_spec("libvirt") is None,
    reason="QEMU or libvirt is not installed",
)
pytestmark = pytest.mark.asyncio(loop_scope="module")
MakeTask = Callable[..., Task]
SmallDisk = Callable[[Path, str], AbstractContextManager[None]]


async def test_what_the_system_refuses_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match=r"No space left on device; make room"), writing(tmp_path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    check_room(tmp_path, 0, "nothing")
    with pytest.raises(InfrastructureError, match=r"a whale takes 1000000000000 MiB in .* are free"):
        check_room(tmp_path, 10**12, "a whale")


@needs_qemu
async def test_a_clone_on_a_full_disk_is_not_half_made(
    typewriters: Backend, typewriter: Path, small_disk: SmallDisk, guest_task: MakeTask
) -> None:
    async with await typewriters.create():
        pass  # the state is saved elsewhere, and the folder of this process is there
    place = typewriter.parent / places.mark() / "vms"
    with small_disk(place, "256k"):
        with pytest.raises(InfrastructureError, match="No space left on device; make room"):
            await typewriters.create()
        assert not list(place.iterdir()) and not places.running_in(place)
    async with await typewriters.create() as sandbox:
        await sandbox.reset(guest_task())


@needs_qemu
async def test_a_full_disk_stops_snapshots_and_forks_and_not_the_machine(
    typewriters: Backend, typewriter: Path, small_disk: SmallDisk, guest_task: MakeTask
) -> None:
    place = typewriter.parent / places.mark() / "vms"
    with small_disk(place, "32m"):
        async with await typewriters.create() as sandbox:
            await sandbox.reset(guest_task())
            filler = place / "filler"
            with pytest.raises(OSError, match="No space left"), filler.open("wb") as file:
                while True:
                    os.write(file.fileno(), bytes(64 * 1024))
            with pytest.raises(InfrastructureError):
                await sandbox.snapshot()
            with pytest.raises(InfrastructureError):
                await sandbox.fork(2)
            seen = await sandbox.act(TypeText(text="alive"))
            filler.unlink()
            assert len(list(place.iterdir())) == 1 and len(places.running_in(place)) == 1
            kept = await sandbox.snapshot()
            await sandbox.act(TypeText(text=" and well"))
            assert (await sandbox.restore(kept)).screenshot.digest == seen.screenshot.digest


@needs_qemu
async def test_a_state_that_cannot_be_saved_is_not_half_saved(
    typewriters: Backend,
    settings: dict[str, object],
    small_disk: SmallDisk,
    short_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # typewriters: the driver of this process is in place
    monkeypatch.setenv("XDG_CACHE_HOME", str(short_folder / "full"))
    place = short_folder / "full/deskhand/states"
    with small_disk(place, "512k"):
        backend = create(**settings)
        with pytest.raises(InfrastructureError, match=r"saving the VM takes 64 MiB in .*, and 0 are free"):
            await backend.create()
        monkeypatch.setattr(states, "ROOM_FACTOR", 0)
        with pytest.raises(InfrastructureError, match="No space left on device; make room"):
            await backend.create()
        assert [each.suffix for each in place.iterdir()] == [".lock"]
        assert not places.running_in(short_folder)
        await backend.close()
