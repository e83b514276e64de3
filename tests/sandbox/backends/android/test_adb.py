"""The private adb server, and requests to it."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from deskhand_sandbox.backends.android import create
from deskhand_sandbox.backends.android.adb.client import AdbClient, DeviceError
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.pty import DevicePty
from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb
from deskhand_sandbox.backends.android.shell_protocol import ERR, EXIT, OUT, frame
from deskhand_sandbox.backends.android.simulator import daemon
from deskhand_sandbox.backends.android.simulator.adb_key import AdbKey
from deskhand_sandbox.errors import BackendMissing, InfrastructureError, SandboxDied, SandboxTimeout


async def test_a_server_of_ones_own(monkeypatch: pytest.MonkeyPatch, free_port: int) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", "1")
    one, two = await asyncio.gather(AdbServer.start(find_adb()), AdbServer.start(find_adb()))
    try:
        assert one.port != two.port and one.home != two.home
        assert one.public_key != two.public_key
        key = AdbKey.read(one.public_key or "")
        assert key.size == 256 and key.exponent == 65537 and key.modulus.bit_length() == 2048
        async with AdbClient(one.host, one.port) as client:
            assert await client.version() >= 41
            assert await client.state("nobody") == "absent"
            with pytest.raises(SandboxDied, match="'nobody' not found"):
                await Device(client, "nobody").script("true")
        with pytest.raises((SandboxDied, SandboxTimeout)):
            await one.connect(f"127.0.0.1:{free_port}", 2.0)
    finally:
        await one.close()
        await one.close()
        await two.close()
    assert one.home is not None and not one.home.exists()


async def test_a_server_that_does_not_start(tmp_path: Path) -> None:
    with pytest.raises(SandboxDied, match=r"ended while it started \(status 1\)"):
        await AdbServer.start("/bin/false")
    (tmp_path / "adb").write_text("no program")
    with pytest.raises((BackendMissing, SandboxDied)):
        await AdbServer.start(str(tmp_path / "adb"))
    starting = asyncio.create_task(AdbServer.start("/bin/cat"))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


async def test_no_server_is_started_where_none_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_port: int
) -> None:
    marker = tmp_path / "started"
    fake = tmp_path / "adb"
    fake.write_text(f"#!/bin/sh\ntouch {marker}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("ADBUTILS_ADB_PATH", str(fake))
    async with AdbClient("127.0.0.1", free_port) as client:
        with pytest.raises(SandboxDied, match="connection to adb ended"):
            await client.version()
    assert not marker.exists()


async def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with AdbClient("127.0.0.1", silent.getsockname()[1]) as client:
            with pytest.raises(SandboxTimeout, match=r"in time|within"):
                await client.ask(lambda requests: requests.server_version(), 0.3)
            waiting = asyncio.create_task(client.version())
            await asyncio.sleep(0.1)
            waiting.cancel()
            async with asyncio.timeout(120):
                with pytest.raises(asyncio.CancelledError):
                    await waiting


async def test_a_command_line_has_an_end() -> None:
    async with AdbClient("127.0.0.1", 1) as client:
        with pytest.raises(DeviceError, match="up to 60000 bytes, not 60001"):
            await Device(client, "x").script("x" * 60_001)


def test_what_is_no_address_or_key_is_said() -> None:
    assert AdbServer.running("127.0.0.1:5037").port == 5037
    for wrong in ("5037", "host:", ":5037", "host:port"):
        with pytest.raises(InfrastructureError, match="host:port"):
            AdbServer.running(wrong)
    for text in ("", "no key", "AAAA"):
        with pytest.raises(ValueError, match="no public key"):
            AdbKey.read(text)


def test_a_signature_is_checked() -> None:
    """RSA by hand: small numbers, the same padding."""
    modulus = (2**127 - 1) * (2**521 - 1)
    size = (modulus.bit_length() + 7) // 8
    key = AdbKey(modulus=modulus, exponent=65537, size=size)
    private = pow(65537, -1, (2**127 - 2) * (2**521 - 2))
    token = bytes(range(20))
    digest = bytes.fromhex("3021300906052b0e03021a05000414") + token
    padded = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    signature = pow(int.from_bytes(padded, "big"), private, modulus).to_bytes(size, "big")
    assert key.signed(token, signature)
    assert not key.signed(bytes(20), signature)
    assert not key.signed(token, bytes(size))
    assert not key.signed(token, signature[:-1])


async def test_a_device_too_old_for_exit_statuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "FEATURES", ("cmd", "stat_v2"))
    old = daemon.Daemon("device::ro.product.name=old", None, lambda connection, name: None)
    address = f"127.0.0.1:{await old.start()}"
    backend = create(machine="attached", serials=[address])
    try:
        for _ in range(2):  # it is given back
            with pytest.raises(DeviceError, match=r"shell_v2.* Android 7 or newer"):
                await backend.create()
    finally:
        await backend.close()
        await old.close()


async def test_a_device_that_opens_no_terminal_says_why() -> None:
    def find(connection: daemon.Connection, name: str) -> daemon.Service | None:
        async def refuse(stream: daemon.Stream) -> None:
            assert name.startswith("shell,v2,TERM=xterm-256color,pty:echo $$; ")
            if name.endswith("why"):
                await stream.write(frame(ERR, b"error: no ptys\n") + frame(EXIT, b"\x7e"))
            elif name.endswith("what"):
                await stream.write(frame(OUT, b"sh: nonsense\r\n"))

        return None if name.endswith("none") else refuse

    device = daemon.Daemon("device::ro.product.name=poor", None, find)
    address = f"127.0.0.1:{await device.start()}"
    server = await AdbServer.start(find_adb())
    try:
        await server.connect(address)
        async with AdbClient(server.host, server.port) as client:
            for command, kind, said in (
                ("why", DeviceError, "starts no shell: error: no ptys"),
                ("what", DeviceError, "starts no shell: sh: nonsense"),
                ("gone", SandboxDied, "ended while it started"),
                ("none", SandboxDied, "closed"),
            ):
                with pytest.raises(kind, match=said):
                    await DevicePty.start(
                        Device(client, address), command, columns=80, rows=24, on_data=lambda data: None
                    )
    finally:
        await server.close()
        await device.close()
