"""VMs of a disk of one's own, without an agent inside: a real QEMU, a real libvirt, a guest of one sector."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.vm import create, places
from deskhand_sandbox.base import Backend, Capability, Sandbox
from deskhand_sandbox.conformance import check_backend
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    SandboxTimeout,
    UnknownName,
    UnsupportedCapability,
)
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.types import Click, Drag, Press, Run, Scroll, Task, TypeText

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        shutil.which("qemu-system-x86_64") is None or importlib.util.find_spec("libvirt") is None,
        reason="QEMU or libvirt is not installed",
    ),
]
MakeTask = Callable[..., Task]


@pytest.fixture
def backend(typewriters: Backend) -> Backend:
    return typewriters


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(backend: Backend) -> AsyncIterator[Sandbox]:
    async with await backend.create() as sandbox:
        yield sandbox


@pytest.mark.slow
async def test_a_disk_of_ones_own_conforms(backend: Backend, guest_task: MakeTask) -> None:
    await check_backend(backend, guest_task(still_ms=100))


@pytest.mark.slow
async def test_every_key_of_the_keyboard_reaches_the_guest(sandbox: Sandbox, guest_task: MakeTask) -> None:
    start = (await sandbox.reset(guest_task())).observation
    once = await sandbox.act(TypeText(text="The quick {brown} fox ~ 0123456789"))
    await sandbox.reset(guest_task())
    for word in ("The quick {brown}", " fox ~ ", "0123456"):
        await sandbox.act(TypeText(text=word))
    for key in "789":
        again = await sandbox.act(Press(keys=(key,)))
    assert once.screenshot.digest != start.screenshot.digest
    assert again.screenshot.digest == once.screenshot.digest
    with pytest.raises(InvalidAction, match="'é' is on no key"):
        await sandbox.act(TypeText(text="café"))
    with pytest.raises(InvalidAction, match="'日' is on no key"):
        await sandbox.act(Press(keys=("日",)))
    assert (await sandbox.observe()).screenshot.digest == once.screenshot.digest


async def test_the_pointer_moves_without_a_word_from_the_guest(
    sandbox: Sandbox, guest_task: MakeTask
) -> None:
    await sandbox.reset(guest_task())
    await sandbox.act(Click(x=10, y=10, count=2))
    await sandbox.act(Drag(path=((10, 10), (100, 100))))
    await sandbox.act(Scroll(x=50, y=50, dy_px=-200))
    with pytest.raises(InvalidAction, match="up and down only"):
        await sandbox.act(Scroll(x=50, y=50, dx_px=100))


async def test_states_are_kept_and_come_back_exactly(sandbox: Sandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task())
    one = await sandbox.act(TypeText(text="one"))
    kept = await sandbox.snapshot()
    two = await sandbox.act(TypeText(text=" two"))
    later = await sandbox.snapshot()
    assert (await sandbox.restore(kept)).screenshot.digest == one.screenshot.digest
    assert (await sandbox.act(TypeText(text=" two"))).screenshot.digest == two.screenshot.digest
    await sandbox.forget(kept)
    with pytest.raises(UnknownName, match="unknown snapshot"):
        await sandbox.restore(kept)
    assert (await sandbox.restore(later)).screenshot.digest == two.screenshot.digest
    (fork,) = await sandbox.fork(1)
    async with fork:
        assert (await fork.observe()).screenshot.digest == two.screenshot.digest
        assert (await fork.act(TypeText(text="!"))).screenshot.digest != two.screenshot.digest
        await fork.reset(guest_task())
    with pytest.raises(UnknownName, match="unknown snapshot"):
        await sandbox.restore("never kept")
    await sandbox.reset(guest_task())
    with pytest.raises(UnknownName, match="unknown snapshot"):
        await sandbox.restore(kept)


async def test_what_takes_an_agent_is_refused(sandbox: Sandbox, guest_task: MakeTask) -> None:
    assert sandbox.capabilities == {Capability.SNAPSHOT, Capability.FORK}
    with pytest.raises(InvalidTask, match="take an agent in the guest"):
        await sandbox.reset(guest_task(prepare="true"))
    await sandbox.reset(guest_task())
    with pytest.raises(UnsupportedCapability, match="Run"):
        await sandbox.act(Run(command="true"))


async def test_a_killed_vm_is_noticed_and_leaves_nothing(backend: Backend, guest_task: MakeTask) -> None:
    sandbox = await backend.create()
    await sandbox.reset(guest_task())
    folder = sandbox.machine.folder  # type: ignore[attr-defined]
    (process,) = places.running_in(folder)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(SandboxDied):
        for _ in range(100):
            await sandbox.observe()
    with pytest.raises(SandboxDied, match="not to be used again"):
        await sandbox.observe()
    assert not sandbox.alive()
    await sandbox.close()
    assert not folder.exists()


async def test_qemu_is_on_a_network_of_its_own_unless_told_otherwise(
    backend: Backend, settings: dict[str, object]
) -> None:
    # backend: its cache is in place
    own = Path("/proc/self/ns/net").readlink()
    for loopback, told in ((False, {}), (True, {"host_loopback": True})):
        backend = create(**settings, **told)
        async with await backend.create() as sandbox:
            (process,) = places.running_in(sandbox.machine.folder)  # type: ignore[attr-defined]
            assert (Path(f"/proc/{process.pid}/ns/net").readlink() == own) is loopback
        await backend.close()


async def test_a_cancelled_creation_leaves_nothing(backend: Backend, typewriter: Path) -> None:
    place = typewriter.parent / places.mark() / "vms"
    before = set(place.iterdir())
    for delay_s in (0.0, 0.05, 0.2, 0.4):
        creating = asyncio.create_task(backend.create())
        await asyncio.sleep(delay_s)
        creating.cancel()
        with suppress(asyncio.CancelledError):
            await (await creating).close()
    async with asyncio.timeout(120):
        while set(place.iterdir()) != before or len(places.running_in(place)) != len(before):
            await asyncio.sleep(0.05)


async def test_a_guest_that_never_comes_up_is_said_with_its_last_words(
    backend: Backend, settings: dict[str, object], make_disk: Callable[[str, str], Path]
) -> None:
    # backend: its cache and its driver are in place
    # writes to its serial port, and to its screen for ever
    disk = make_disk("restless", "baf803 b068ee b069ee b00aee b80300 cd10 b40e fec0 cd10 ebf8")
    for deadline_s in (2.0, 20.0, 200.0):  # the busier the machine, the later it says something
        broken = create(**{**settings, "image": str(disk), "boot_deadline_s": deadline_s})
        with pytest.raises(SandboxTimeout, match=f"was not up in {deadline_s:g} s; its console") as caught:
            await broken.create()
        await broken.close()
        if "is empty" not in str(caught.value):
            break
    assert "; its console ends with:\nhi" in str(caught.value)


async def test_what_is_no_disk_is_said(
    backend: Backend, settings: dict[str, object], short_folder: Path
) -> None:
    text = short_folder / "text.qcow2"
    text.write_text("no disk")
    broken = create(**{**settings, "image": str(text)})
    with pytest.raises(InfrastructureError, match=r"text\.qcow2 cannot be a VM's disk"):
        await broken.create()


LEAVE = """
import asyncio, os, signal, sys
from deskhand_sandbox.backends.vm import create
async def main():
    sandbox = await create(image=sys.argv[1], memory_mb=32, accelerator="emulation", boot_still_s=1.0,
                           folder=sys.argv[2]).create()
    print(sandbox.machine.folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
"""


async def test_what_a_killed_process_left_goes_when_the_next_manager_starts(
    backend: Backend, typewriter: Path, tmp_path: Path
) -> None:
    place = typewriter.parent
    ran = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", LEAVE, typewriter, place], capture_output=True, text=True
    )
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    folder = Path(ran.stdout.strip())
    assert len(places.running_in(folder)) == 1
    pools = {"guests": PoolSettings(kind="vm", settings={"folder": str(place)})}
    async with SandboxManager(pools, state_folder=tmp_path) as manager:
        assert manager.status().orphans_ended == 1
        assert not folder.exists() and not places.running_in(folder)
