"""VNC of a real QEMU: the handshake, the password, a picture, a key; and that it ends with the task.

The same through a lease of a host, for a guest of one sector and for the golden one.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from PIL import Image as Picture

from deskhand_sandbox.backends.vm.image import find
from deskhand_sandbox.backends.vm.sandbox import VmSandbox
from deskhand_sandbox.backends.vm.vnc_door import VncDoor
from deskhand_sandbox.base import Backend
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.types import JsonValue, Observation, Task, TypeText
from deskhand_sandbox.vnc import PASSWORD_CHARACTERS, ServesVnc, VncAddress

spec = importlib.util.spec_from_file_location("rfb", Path(__file__).parents[2] / "rfb.py")
assert spec is not None and spec.loader is not None
rfb = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rfb)

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(
        shutil.which("qemu-system-x86_64") is None or importlib.util.find_spec("libvirt") is None,
        reason="QEMU or libvirt is not installed",
    ),
]
golden = (
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(find() is None, reason="the golden image is not built"),
)
MakeTask = Callable[..., Task]
KEYS = {"v": 0x76, "n": 0x6E, "c": 0x63}


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(typewriters: Backend) -> AsyncIterator[VmSandbox]:
    async with await typewriters.create() as sandbox:
        assert isinstance(sandbox, VmSandbox)
        yield sandbox


def pixels(seen: Observation) -> bytes:
    assert seen.screenshot.data is not None
    return Picture.open(io.BytesIO(seen.screenshot.data)).convert("RGB").tobytes()


async def shows(viewer: Any, seen: Observation) -> None:
    """Until a viewer sees what was observed: QEMU looks at the screen now and then."""
    async with asyncio.timeout(120):
        while await viewer.picture() != pixels(seen):
            pass


async def refused(address: VncAddress, password: str) -> bool:
    try:
        async with rfb.viewer(address.host, address.port, password):
            return False
    except (rfb.Refused, ConnectionError, asyncio.IncompleteReadError):
        return True


async def test_a_viewer_sees_the_screen_and_types(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task())
    typed = await sandbox.act(TypeText(text="vnc"))
    start = (await sandbox.reset(guest_task())).observation
    assert isinstance(sandbox, ServesVnc)
    address = await sandbox.open_vnc()
    assert address.host == "127.0.0.1" and len(address.password) == PASSWORD_CHARACTERS
    assert address.password not in repr(address)
    assert await sandbox.open_vnc() == address
    async with rfb.viewer(address.host, address.port, address.password) as viewer:
        assert viewer.size_px == start.size_px
        await shows(viewer, start)
        for key in KEYS.values():
            await viewer.press(key)
        async with asyncio.timeout(120):
            while (await sandbox.observe()).screenshot.digest != typed.screenshot.digest:
                pass
        await shows(viewer, typed)


async def test_only_the_password_opens_it(sandbox: VmSandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task())
    address = await sandbox.open_vnc()
    for wrong in ("", "password", address.password[:-1], address.password.swapcase()[::-1]):
        assert await refused(address, wrong)
    assert not await refused(address, address.password)


async def test_it_outlives_a_restored_state_and_ends_with_the_task(
    sandbox: VmSandbox, guest_task: MakeTask
) -> None:
    await sandbox.reset(guest_task())
    kept = await sandbox.snapshot()
    before = await sandbox.act(TypeText(text="before"))
    first = await sandbox.open_vnc()
    async with rfb.viewer(first.host, first.port, first.password) as viewer:
        await shows(viewer, before)
        restored = await sandbox.restore(kept)
        await shows(viewer, restored)
        await sandbox.reset(guest_task())
        assert await viewer.ended()
    assert await refused(first, first.password)
    second = await sandbox.open_vnc()
    assert second.password != first.password
    assert await refused(second, first.password) and not await refused(second, second.password)


async def test_a_dead_vm_ends_it(typewriters: Backend, guest_task: MakeTask) -> None:
    sandbox = await typewriters.create()
    assert isinstance(sandbox, VmSandbox)
    await sandbox.reset(guest_task())
    address = await sandbox.open_vnc()
    async with rfb.viewer(address.host, address.port, address.password) as viewer:
        await sandbox.machine.close()
        assert await viewer.ended()
    assert await refused(address, address.password)
    await sandbox.close()
    assert await refused(address, address.password)


@pytest.mark.parametrize("guest", ["typewriter", pytest.param("golden", marks=golden)])
async def test_a_leased_vm_is_watched(
    guest: str, settings: dict[str, JsonValue], typewriter: Path, tmp_path: Path, guest_task: MakeTask
) -> None:
    pool = PoolSettings(max_sandboxes=1, create_s=600, settings=settings if guest == "typewriter" else {})
    quiet: list[JsonValue] = ["xterm", "-geometry", "60x20+20+20", "-e", "cat > typed"]
    task = guest_task() if guest == "typewriter" else guest_task(applications=[quiet], still_ms=300)
    with pytest.MonkeyPatch.context() as patch:
        if guest == "typewriter":
            patch.setenv("XDG_CACHE_HOME", str(typewriter.parent / "cache"))
        async with (
            start_host(HostSettings(kinds={"vm": pool}, state_folder=tmp_path)) as host,
            SandboxClient(host.url, host.token) as client,
        ):
            async with client.lease("vm", owner="me", wait_s=600) as sandbox:
                assert isinstance(sandbox, ServesVnc)
                start = (await sandbox.reset(task)).observation
                address = await sandbox.open_vnc()
                async with rfb.viewer(address.host, address.port, address.password) as viewer:
                    assert viewer.size_px == start.size_px
                    await shows(viewer, start)
                    for key in (*KEYS.values(), 0xFF0D):
                        await viewer.press(key)
                    async with asyncio.timeout(120):
                        while (await sandbox.observe()).screenshot.digest == start.screenshot.digest:
                            pass
                        while guest == "golden" and await sandbox.evaluate("cat typed") != "vnc":
                            await asyncio.sleep(0.05)
                    await shows(viewer, await sandbox.observe())
            async with client.lease("vm", owner="next", wait_s=600) as sandbox:
                await sandbox.reset(task)
            assert await refused(address, address.password)


async def test_a_viewer_that_stays_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def until_all_have_left(server: Any) -> None:
        """As Python 3.12 does."""
        while server._active_count:
            await asyncio.sleep(0.01)

    async def screen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"RFB 003.008\n")
        await reader.read()
        writer.close()

    class Machine:
        vnc = tmp_path / "vnc.sock"

        async def admit(self, password: str) -> None:
            """Let in who knows it."""

    machine: Any = Machine()
    served = await asyncio.start_unix_server(screen, machine.vnc)
    monkeypatch.setattr(asyncio.Server, "wait_closed", until_all_have_left)
    door = await VncDoor.open(machine)
    reader, writer = await asyncio.open_connection(door.address.host, door.address.port)
    assert await reader.readline() == b"RFB 003.008\n"
    async with asyncio.timeout(120):
        await door.close()
    assert await reader.read() == b""
    writer.close()
    served.close()
