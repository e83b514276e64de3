"""The screens of a real desktop and a real VM by VNC through the real API: who looks on, and how it ends."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from deskhand_platform import host_address
from deskhand_platform.accounts.access import Role
from deskhand_platform.api.app import create_app
from deskhand_platform.api.routes import vnc as route
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, answering, listen
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import BackendMissing, HostUnreachable
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, TypeText, VerifierSpec

spec = importlib.util.spec_from_file_location("rfb", Path(__file__).parents[2] / "sandbox/rfb.py")
assert spec is not None and spec.loader is not None
rfb = importlib.util.module_from_spec(spec)
spec.loader.exec_module(rfb)

Person = Callable[..., Awaitable[str]]
SIZE_PX = (400, 300)
QUIET: list[JsonValue] = ["xterm", "-geometry", "40x10+20+20", "-e", "cat > typed"]
DESK = Task(
    id="vnc/desk",
    environment=EnvironmentSpec(
        kind="desktop", settings={"size_px": list(SIZE_PX), "applications": [QUIET], "still_ms": 200}
    ),
    verifier=VerifierSpec(name="expression"),
    instruction="Look.",
)


@dataclass
class Lent:
    """A leased desktop, and where the API shows its screen."""

    sandbox: Sandbox
    source: SandboxClient
    id: str
    url: str
    services: Services


@pytest.fixture
async def api(services: Services) -> AsyncIterator[str]:
    listener = listen("127.0.0.1", 0)
    async with answering(create_app(services), listener):
        yield address_of(listener).replace("http", "ws")
    await services.live.close()


@asynccontextmanager
async def lending(
    kind: str, services: Services, api: str, state: Path, **settings: JsonValue
) -> AsyncGenerator[Lent]:
    pool = PoolSettings(max_sandboxes=1, create_s=300, settings=settings)
    async with (
        start_host(HostSettings(kinds={kind: pool}, state_folder=state)) as host,
        SandboxClient(host.url, host.token) as source,
    ):
        host_address.publish(services.settings.home, host.url, host.token)
        async with source.lease(kind, owner="somebody", wait_s=300) as sandbox:
            [lease] = (await source.status()).leases
            url = f"{api}/v1/sandboxes/{lease.id}/vnc"
            yield Lent(sandbox=sandbox, source=source, id=lease.id, url=url, services=services)


@pytest.fixture
async def lent(services: Services, api: str, tmp_path: Path) -> AsyncIterator[Lent]:
    if shutil.which("x11vnc") is None:
        pytest.skip("x11vnc is not installed")
    try:
        create_backend("desktop")
    except BackendMissing as missing:
        pytest.skip(str(missing))
    async with lending("desktop", services, api, tmp_path) as made:
        yield made


class Frames:
    """The writing end of a WebSocket, as a stream has it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()

    def write(self, data: bytes) -> None:
        self._queue.put_nowait(data)

    async def drain(self) -> None:
        await self._queue.join()

    async def run(self) -> None:
        while True:
            data = await self._queue.get()
            for at in range(0, len(data), 5):  # a stream is cut anywhere
                await self._socket.send(data[at : at + 5])
            self._queue.task_done()


@asynccontextmanager
async def looking(url: str, token: str) -> AsyncGenerator[tuple[Any, ClientConnection, bytearray]]:
    """A VNC viewer at a WebSocket, that socket, and everything that came by it."""
    headers = {"Authorization": f"Bearer {token}"}
    protocols = [Subprotocol("binary")]
    async with connect(url, additional_headers=headers, subprotocols=protocols, proxy=None) as socket:
        assert socket.subprotocol == "binary"
        reader, frames, heard = asyncio.StreamReader(), Frames(socket), bytearray()

        async def read() -> None:
            try:
                while True:
                    data = await socket.recv(decode=False)
                    heard.extend(data)
                    reader.feed_data(data)
            except ConnectionClosed:
                reader.feed_eof()

        tasks = [asyncio.create_task(read()), asyncio.create_task(frames.run())]
        try:
            viewer = rfb.Viewer(reader, frames)
            await viewer.begin(None)
            yield viewer, socket, heard
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def refused(url: str, **headers: str) -> str:
    """Status and type of the refusal."""
    with pytest.raises(InvalidStatus) as caught:
        async with connect(url, additional_headers=headers, proxy=None):
            pass
    response = caught.value.response
    return f"{response.status_code} {json.loads(response.body or b'')['error']['type']}"


async def test_a_desktop_is_looked_at_and_takes_no_input(lent: Lent, token: str) -> None:
    assert await refused(lent.url, Authorization=f"Bearer {token}") == "409 wrong_state"  # not set up yet
    await lent.sandbox.reset(DESK)
    async with looking(lent.url, token) as (viewer, _, heard):
        assert viewer.size_px == SIZE_PX
        before = await viewer.picture()
        assert len(set(before)) > 2
        await viewer.point(100, 100, 1)
        await viewer.point(100, 100)
        for key in b"not this":
            await viewer.press(key)
        assert await viewer.picture() == before  # the pointer, which is in it, stands where it stood
        await lent.sandbox.act(TypeText(text="this\n"))
        assert await lent.sandbox.evaluate("cat typed") == "this"
        async with asyncio.timeout(120):
            while await viewer.picture() == before:
                pass
        address = await lent.source.vnc(lent.id)
        assert address is not None and address.password.encode() not in heard


async def test_it_is_for_those_who_may_look_on(lent: Lent, token: str, person: Person) -> None:
    await lent.sandbox.reset(DESK)
    sam, ada = await person("sam", Role.SUBMITTER), await person("ada", Role.ANNOTATOR)
    assert await refused(lent.url) == "401 unauthorized"
    assert await refused(lent.url, Authorization="Bearer wrong") == "401 unauthorized"
    assert await refused(lent.url, Authorization=f"Bearer {sam}") == "403 forbidden"
    accounts = lent.services.accounts
    cookie = f"{accounts.cookie}={await accounts.sessions.begin('ada')}"
    for foreign in ("http://evil.example", "null"):
        assert await refused(lent.url, Cookie=cookie, Origin=foreign) == "403 forbidden"
    elsewhere = lent.url.replace(lent.id, "0" * 16)
    assert await refused(elsewhere, Authorization=f"Bearer {token}") == "404 not_found"
    async with looking(lent.url, ada) as (viewer, _, _):
        assert viewer.size_px == SIZE_PX
    own = lent.url.split("/v1")[0].replace("ws", "http")
    async with connect(lent.url, additional_headers={"Cookie": cookie}, origin=own, proxy=None) as socket:  # type: ignore[arg-type]
        assert await socket.recv() == rfb.VERSION


async def test_it_ends_with_what_is_seen(lent: Lent, token: str) -> None:
    await lent.sandbox.reset(DESK)
    async with looking(lent.url, token) as (viewer, socket, _):
        await lent.sandbox.reset(DESK)
        assert await viewer.ended() and socket.close_code == 1000
    async with looking(lent.url, token) as (viewer, socket, _):  # the same address shows the next task
        assert len(set(await viewer.picture())) > 2
        await lent.sandbox.close()
        assert await viewer.ended() and socket.close_code == 1000
    assert await refused(lent.url, Authorization=f"Bearer {token}") == "404 not_found"


async def test_it_ends_with_the_right_to_look_on_and_with_the_platform(
    lent: Lent, token: str, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(route, "ASK_AGAIN_S", 0.05)
    await lent.sandbox.reset(DESK)
    ada = await person("ada")
    async with looking(lent.url, ada) as (viewer, socket, _):
        await lent.services.accounts.users.change("ada", disabled=True)
        assert await viewer.ended() and socket.close_code == 1008
    async with looking(lent.url, token) as (viewer, socket, _):
        lent.services.stopping.set()
        assert await viewer.ended() and socket.close_code == 1001


async def test_it_outlasts_a_host_that_does_not_answer_for_a_moment(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[HostUnreachable | None] = [HostUnreachable("no sandbox host answers"), None]

    async def lease(_id: str) -> None:
        if (said := answers.pop(0)) is not None:
            raise said

    async def still_in() -> bool:
        return True

    monkeypatch.setattr(route, "ASK_AGAIN_S", 0.0)
    monkeypatch.setattr(services.live, "lease", lease)
    assert await route._over(services, still_in, "1") == route.ENDED
    assert answers == []


async def test_a_viewer_that_breaks_the_protocol_is_let_go(lent: Lent, token: str) -> None:
    await lent.sandbox.reset(DESK)
    async with looking(lent.url, token) as (viewer, socket, _):
        await socket.send(b"\xfa\0\1\2")  # xvp: switch the computer off
        assert await viewer.ended() and socket.close_code == 1008
        assert "message 250" in (socket.close_reason or "")
    async with connect(
        lent.url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None
    ) as socket:
        await socket.send("RFB 003.008\n")
        with pytest.raises(ConnectionClosed):
            while await socket.recv():
                pass
        assert socket.close_code == 1008
    assert lent.sandbox.alive()


@pytest.fixture
def typewriter(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, JsonValue]]:
    """Settings of VMs whose whole guest is a boot sector that shows what is typed; it is up at once."""
    if shutil.which("qemu-system-x86_64") is None or importlib.util.find_spec("libvirt") is None:
        pytest.skip("QEMU or libvirt is not installed")
    code = bytes.fromhex("b80300cd10 b401b90726cd10 30e4cd16 b40ecd10 ebf6")
    with tempfile.TemporaryDirectory(prefix="dh-") as folder:  # a short path: sockets lie in it
        raw, disk = Path(folder) / "disk.raw", Path(folder) / "disk.qcow2"
        raw.write_bytes((code.ljust(510, b"\0") + b"\x55\xaa").ljust(1024 * 1024, b"\0"))
        subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, disk], check=True)
        monkeypatch.setenv("XDG_CACHE_HOME", f"{folder}/cache")
        yield {
            "image": str(disk),
            "memory_mb": 32,
            "accelerator": "emulation",
            "boot_still_s": 1.0,
            "folder": folder,
        }


@pytest.mark.slow
async def test_a_vm_is_looked_at_and_takes_no_input(
    typewriter: dict[str, JsonValue], services: Services, api: str, tmp_path: Path, token: str
) -> None:
    task = Task(
        id="vnc/vm",
        environment=EnvironmentSpec(kind="vm"),
        verifier=VerifierSpec(name="expression"),
        instruction="Look.",
    )
    async with lending("vm", services, api, tmp_path, **typewriter) as lent:
        start = (await lent.sandbox.reset(task)).observation
        async with looking(lent.url, token) as (viewer, _, _):
            assert viewer.size_px == start.size_px
            before = await viewer.picture()
            for key in b"no":
                await viewer.press(key)
            assert await viewer.picture() == before
            assert (await lent.sandbox.observe()).screenshot.digest == start.screenshot.digest
            await lent.sandbox.act(TypeText(text="yes"))
            async with asyncio.timeout(120):
                while await viewer.picture() == before:
                    pass
            await lent.sandbox.reset(task)
            assert await viewer.ended()


async def test_a_kind_without_vnc_says_so(
    services: Services, api: str, tmp_path: Path, token: str, client: Any
) -> None:
    async with lending("fake", services, api, tmp_path) as lent:
        assert (await client.get(f"/v1/sandboxes/{lent.id}")).json()["vnc"] is False
        assert await refused(lent.url, Authorization=f"Bearer {token}") == "409 wrong_state"
