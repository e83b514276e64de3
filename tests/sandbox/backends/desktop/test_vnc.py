"""VNC of a real x11vnc: the handshake, the password, a picture, keys; and that it ends with the task."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import io
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image as Picture

from deskhand_sandbox.backends.desktop import DesktopBackend, DesktopSandbox
from deskhand_sandbox.backends.desktop.vnc import VIEWERS
from deskhand_sandbox.errors import BackendMissing, InfrastructureError
from deskhand_sandbox.types import Click, Observation, Task
from deskhand_sandbox.vnc import PASSWORD_CHARACTERS, ServesVnc, VncAddress

spec = importlib.util.spec_from_file_location("rfb", Path(__file__).parents[2] / "rfb.py")
assert spec is not None and spec.loader is not None
rfb = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rfb)

pytestmark = pytest.mark.asyncio(loop_scope="module")
Desk = Callable[..., Task]
QUIET = ["xterm", "-geometry", "60x20+20+20", "-e", "cat > typed"]
NO_POINTER = (30, 30, 640, 420)
"""Left, top, right and bottom of what is compared: the pointer stands in the corner, and VNC draws it."""


def part(size_px: tuple[int, int], rgb: bytes) -> bytes:
    return Picture.frombytes("RGB", size_px, rgb).crop(NO_POINTER).tobytes()


def shown(seen: Observation) -> bytes:
    assert seen.screenshot.data is not None
    picture = Picture.open(io.BytesIO(seen.screenshot.data)).convert("RGB")
    return part(picture.size, picture.tobytes())


def of_our_session() -> set[str]:
    """Names of the programs that could hold our terminal."""
    names: set[str] = set()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getsid(int(place.name)) == os.getsid(0):
                names.add((place / "comm").read_text().strip())
    return names


async def is_let_in(address: VncAddress, password: str) -> bool:
    try:
        async with rfb.viewer(address.host, address.port, password):
            return True
    except (rfb.Refused, ConnectionError, asyncio.IncompleteReadError):
        return False


async def test_a_viewer_sees_the_screen_and_types(sandbox: DesktopSandbox, desk: Desk) -> None:
    assert isinstance(sandbox, ServesVnc)
    start = (await sandbox.reset(desk(applications=[QUIET], still_ms=200))).observation
    address = await sandbox.open_vnc()
    assert address.host == "127.0.0.1"
    assert len(address.password) == PASSWORD_CHARACTERS
    assert address.password not in repr(address)
    assert await sandbox.open_vnc() == address
    async with rfb.viewer(address.host, address.port, address.password) as viewer:
        assert viewer.size_px == (640, 420)
        async with asyncio.timeout(120):
            while part(viewer.size_px, await viewer.picture()) != shown(start):
                await asyncio.sleep(0.05)
        assert not of_our_session() & {"x11vnc", "openbox"}
        await viewer.point(100, 100)
        for keysym in (ord("v"), ord("n"), 0x010020AC, 0xFF0D):  # the euro sign is on no key
            await viewer.press(keysym)
        async with asyncio.timeout(120):
            while await sandbox.evaluate("cat typed") != "vn€":
                await asyncio.sleep(0.05)
        seen = await sandbox.act(Click(x=639, y=419))
        async with asyncio.timeout(120):
            while part(viewer.size_px, await viewer.picture())[: 3 * 500] != shown(seen)[: 3 * 500]:
                await asyncio.sleep(0.05)


async def test_the_password_is_asked_of_everybody(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(applications=[]))
    address = await sandbox.open_vnc()
    assert not await is_let_in(address, "notright")
    assert not await is_let_in(address, "")
    assert await is_let_in(address, address.password)
    left = str(await sandbox.evaluate("grep -rs . /home/agent /tmp; cat /proc/[0-9]*/cmdline; true"))
    assert address.password not in left


async def test_viewers_are_cut_off_with_the_task(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(applications=[]))
    address = await sandbox.open_vnc()
    async with rfb.viewer(address.host, address.port, address.password) as viewer:
        await sandbox.reset(desk(applications=[]))
        assert await viewer.ended()
    assert not await is_let_in(address, address.password)
    again = await sandbox.open_vnc()
    assert again.password != address.password
    async with rfb.viewer(again.host, again.port, again.password) as viewer:
        await sandbox.close()
        assert await viewer.ended()
    assert not await is_let_in(again, again.password)
    with pytest.raises(InfrastructureError, match="closed"):
        await sandbox.open_vnc()


async def test_one_viewer_too_many_is_turned_away(sandbox: DesktopSandbox, desk: Desk) -> None:
    await sandbox.reset(desk(applications=[]))
    address = await sandbox.open_vnc()
    some = [await asyncio.open_connection(address.host, address.port) for _ in range(VIEWERS)]
    for reader, _ in some:
        assert await reader.readexactly(4) == b"RFB "
    assert not await is_let_in(address, address.password)
    for _, writer in some:
        writer.close()
    async with asyncio.timeout(120):
        while not await is_let_in(address, address.password):
            await asyncio.sleep(0.05)


async def test_what_vnc_needs_is_asked_for_only_then(
    backend: DesktopBackend, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "x11vnc" else found(name))
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, DesktopSandbox)
        with pytest.raises(InfrastructureError, match="not been reset"):
            await sandbox.open_vnc()
        await sandbox.reset(desk(applications=[]))
        with pytest.raises(BackendMissing, match="apt-get install x11vnc"):
            await sandbox.open_vnc()
        await sandbox.observe()
