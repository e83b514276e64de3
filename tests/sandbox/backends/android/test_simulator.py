"""The simulator through the real adb program and adbutils."""

from __future__ import annotations

import asyncio
import contextlib
import re
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import adbutils
import pytest
import pytest_asyncio

from deskhand_sandbox.backends.android import AndroidBackend
from deskhand_sandbox.backends.android.adb.client import AdbClient, DeviceError
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb
from deskhand_sandbox.backends.android.simulated import Simulated
from deskhand_sandbox.backends.android.simulator.protocol import MAX_DATA, VERSION, Packet
from deskhand_sandbox.errors import SandboxTimeout

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

HOLDS_TERMINAL = """
import asyncio, sys
from pathlib import Path
from deskhand_sandbox.backends.android.simulator.shell import DeviceShell

async def nothing():
    return b""

async def show(data):
    print(data.decode())

async def main():
    for name in ("data", "sdcard"):
        Path(sys.argv[1], name).mkdir()
    shell = DeviceShell(Path(sys.argv[1]), {})
    await shell.start()
    try:
        await shell.run("(: > /dev/tty) 2> /dev/null && echo terminal || echo none", nothing, show, show)
    finally:
        await shell.close()

asyncio.run(main())
"""


@dataclass(frozen=True, kw_only=True)
class Adb:
    """The real program, at a server of our own."""

    server: AdbServer
    machine: Simulated
    device: Device

    async def run(self, *words: str, given: bytes = b"", code: int = 0) -> str:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            find_adb(), "-s", self.machine.serial, *words,
            stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=self.server.environment,
        )  # fmt: skip
        async with asyncio.timeout(120):
            out, _ = await process.communicate(given)
        said = out.decode(errors="replace")
        assert process.returncode == code, said
        return said


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def adb(backend: AndroidBackend) -> AsyncIterator[Adb]:
    server = await backend.server()
    assert backend.simulators is not None
    machine = await backend.simulators.start(server)
    client = AdbClient(server.host, server.port)
    yield Adb(server=server, machine=machine, device=Device(client, machine.serial))
    await client.close()
    await machine.close()


async def test_the_program_accepts_it(adb: Adb) -> None:
    assert f"{adb.machine.serial}\tdevice" in await adb.run("devices")
    assert "model:Deskhand_Simulator" in await adb.run("devices", "-l")
    assert await adb.run("get-state") == "device\n"
    assert "shell_v2" in await adb.run("features")
    assert await adb.run("wait-for-device") == ""


async def test_shell_with_exit_codes_errors_and_input(adb: Adb) -> None:
    assert await adb.run("shell", "echo one; exit 7", code=7) == "one\n"
    assert await adb.run("shell", "cat >/dev/null && echo out && echo err >&2") == "out\nerr\n"
    assert await adb.run("shell", "wc -c", given=b"x" * 200_000) == "200000\n"
    assert await adb.run("shell", given=b"echo from a script\nexit 3\n", code=3) == "from a script\n"
    assert await adb.run("exec-out", "printf 'a\\r\\nb'") == "a\r\nb"
    assert await adb.run("shell", "-x", "echo old; false") == "old\n"
    assert "no such program" not in await adb.run("shell", "nothing-of-this-name", code=127)
    assert (await adb.run("shell", "input tap 1", code=1)).startswith("input: invalid arguments")
    assert await adb.run("shell", "getprop", "ro.product.model") == "Deskhand Simulator\n"
    assert await adb.run("shell", "setprop debug.x 'a b'; getprop debug.x") == "a b\n"


async def test_a_shell_is_kept_from_this_machine(adb: Adb, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("treasure")
    assert "No such file" in await adb.run("shell", f"cat {tmp_path}/secret", code=1)
    for path in ("/etc/passwd", f"{tmp_path}/secret", "/sdcard/../../../../etc/passwd", "/proc/self/environ"):
        assert "treasure" not in (said := await adb.run("pull", path, str(tmp_path / "got"), code=1))
        assert "Permission denied" in said or "does not exist" in said or "failed to stat" in said
    await adb.run("shell", f"ln -s {tmp_path} /sdcard/way; ln -s {tmp_path}/secret /sdcard/link")
    for path in ("/sdcard/way/secret", "/sdcard/link"):
        await adb.run("pull", path, str(tmp_path / "got"), code=1)
        assert not (tmp_path / "got").exists()
    with pytest.raises(DeviceError):
        await adb.device.push(b"x", "/sdcard/way/new")
    with pytest.raises(DeviceError):
        await adb.device.push(b"x", "/sdcard/link")
    assert (tmp_path / "secret").read_text() == "treasure" and not (tmp_path / "new").exists()
    await adb.run("shell", "rm /sdcard/way /sdcard/link")


async def test_a_shell_holds_no_terminal_of_this_machine(
    tmp_path: Path, at_a_terminal: Callable[..., str]
) -> None:
    assert "none" in await asyncio.to_thread(at_a_terminal, HOLDS_TERMINAL, str(tmp_path))


async def test_files_go_there_and_back(adb: Adb, tmp_path: Path) -> None:
    data = bytes(range(256)) * 12_000
    (tmp_path / "folder/inner").mkdir(parents=True)
    (tmp_path / "folder/big").write_bytes(data)
    (tmp_path / "folder/inner/ä b.txt").write_text("text")
    (tmp_path / "folder/empty").touch()
    assert "3 files pushed" in await adb.run("push", str(tmp_path / "folder"), "/sdcard/Download/")
    assert await adb.run("shell", "wc -c < /sdcard/Download/folder/big") == f"{len(data)}\n"
    assert "3 files pulled" in await adb.run(
        "pull", "/storage/emulated/0/Download/folder", str(tmp_path / "back")
    )
    assert (tmp_path / "back/big").read_bytes() == data
    assert (tmp_path / "back/inner/ä b.txt").read_text() == "text"
    assert "inner" in await adb.run("ls", "/sdcard/Download/folder")
    assert "Permission denied" in await adb.run("push", str(tmp_path / "folder/big"), "/system/big", code=1)
    await adb.run("push", "--sync", str(tmp_path / "folder"), "/sdcard/Download/")


async def test_adbutils_accepts_it(adb: Adb, tmp_path: Path) -> None:
    def use() -> None:
        device = adbutils.AdbClient(adb.server.host, adb.server.port).device(adb.machine.serial)
        assert device.shell("echo hi") == "hi"
        assert device.shell2("exit 9", v2=True).returncode == 9
        assert device.shell2("(exit 9)").returncode == 9
        assert tuple(device.window_size()) == (412, 915)
        assert device.prop.model == "Deskhand Simulator"
        assert device.app_current().package == "org.deskhand.launcher"
        device.app_start("org.deskhand.clock", ".Main")
        assert device.app_current().package == "org.deskhand.clock"
        device.keyevent("HOME")
        device.click(60, 200)
        assert "org.deskhand.contacts" in device.list_packages()
        assert device.screenshot().size == (412, 915)
        assert "<hierarchy" in device.dump_hierarchy()
        assert device.rotation() == 0
        device.sync.push(b"pushed", "/sdcard/pushed")
        assert device.sync.read_bytes("/sdcard/pushed") == b"pushed"
        assert device.sync.stat("/sdcard/pushed").size == 6
        assert "pushed" in [each.path for each in device.sync.list("/sdcard")]
        assert not device.sync.exists("/sdcard/none")

    await asyncio.to_thread(use)


async def test_pictures_are_raw_or_png(adb: Adb) -> None:
    raw = await adb.device.raw("screencap")
    assert struct.unpack("<4I", raw[:16]) == (412, 915, 1, 1) and len(raw) == 16 + 4 * 412 * 915
    assert (await adb.device.raw("screencap -p")).startswith(b"\x89PNG")
    assert await adb.run("shell", "screencap /sdcard/shot.png && head -c 4 /sdcard/shot.png") == "\ufffdPNG"


async def test_forward_and_reverse_make_a_way_through_the_device(adb: Adb) -> None:
    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data.upper())
        writer.close()

    server = await asyncio.start_server(shout, "127.0.0.1", 0)
    here = server.sockets[0].getsockname()[1]
    assert await adb.run("reverse", "tcp:7000", f"tcp:{here}") == ""
    assert f"tcp:7000 tcp:{here}" in await adb.run("reverse", "--list")
    port = int(await adb.run("forward", "tcp:0", "tcp:7000"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"through the device\n" * 10_000)
    async with asyncio.timeout(120):
        assert await reader.readexactly(190_000) == b"THROUGH THE DEVICE\n" * 10_000
    writer.close()
    # nothing else of this machine can be reached through it
    other = int(await adb.run("forward", "tcp:0", f"tcp:{here}"))
    reader, writer = await asyncio.open_connection("127.0.0.1", other)
    async with asyncio.timeout(120):
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()
    assert await adb.run("reverse", "--remove", "tcp:7000") == ""
    assert "not found" in await adb.run("reverse", "--remove", "tcp:7000", code=1)
    assert int(await adb.run("reverse", "tcp:0", f"tcp:{here}")) >= 40000
    await adb.run("forward", "--remove-all")
    server.close()
    await server.wait_closed()


async def test_the_log_is_told_and_followed(adb: Adb) -> None:
    await adb.run("logcat", "-c")
    await adb.run("shell", "log", "-t", "mine", "first words")
    assert "I mine: first words" in await adb.run("logcat", "-d")
    process = await asyncio.create_subprocess_exec(
        find_adb(), "-s", adb.machine.serial, "logcat",
        stdout=asyncio.subprocess.PIPE, env=adb.server.environment,
    )  # fmt: skip
    assert process.stdout is not None
    async with asyncio.timeout(120):
        assert b"first words" in await process.stdout.readline()
        await adb.run("shell", "log", "later words")
        assert b"later words" in await process.stdout.readline()
    process.kill()
    await process.wait()
    assert await adb.run("get-state") == "device\n"


async def test_an_apk_is_refused(adb: Adb, tmp_path: Path) -> None:
    (tmp_path / "app.apk").write_bytes(b"PK\3\4" + bytes(300_000))
    said = await adb.run("install", str(tmp_path / "app.apk"), code=1)
    assert "INSTALL_FAILED_NO_MATCHING_ABIS" in said
    (tmp_path / "no.apk").write_bytes(b"no zip")
    assert "INSTALL_PARSE_FAILED_NOT_APK" in await adb.run("install", str(tmp_path / "no.apk"), code=1)


async def test_content_providers(adb: Adb) -> None:
    async def told(command: str) -> str:
        result = await adb.device.script(f"content {command}")
        return (result.out + result.err).decode()

    uri = "--uri content://org.deskhand.notes/notes"
    await told(f"insert {uri} --bind title:s:'a, b=c' --bind pinned:i:1")
    assert (
        await told(f'query {uri} --where "pinned=1" --projection title:pinned')
        == "Row: 0 title=a, b=c, pinned=1\n"
    )
    await told(f"update {uri} --bind body:s:new --where \"title='a, b=c'\"")
    assert "body=new" in await told("query --uri content://org.deskhand.notes/notes/4")
    await told(f'delete {uri} --where "pinned=1"')
    assert await told(f'query {uri} --where "pinned=1"') == "No result found.\n"
    for wrong, said in (
        ("query --uri content://nobody", "no content provider knows content://nobody"),
        (f"query {uri} --where 'no such'", "syntax error|no such column"),
        (f"query {uri} --projection nothing", "no such column: nothing"),
        (f"insert {uri} --bind title:x:1", "Unsupported type"),
        (f"insert {uri} --bind pinned:i:many", "not a number"),
        ("query", "usage: content"),
        (f'query {uri} --where "1; DROP TABLE notes"', "You can only execute one statement|syntax"),
        (f"query {uri} --where \"load_extension('x')\"", "not authorized|no such function"),
    ):
        assert re.search(said, await told(wrong)), wrong
    endless = "(WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c) > 0"
    answer = await told(f'query {uri} --where "{endless}"')
    assert "interrupted" in answer or "not authorized" in answer


async def test_a_command_past_its_deadline_is_ended(adb: Adb) -> None:
    with pytest.raises(SandboxTimeout, match=r"within 0\.5 s"):
        await adb.device.script("sleep 1234", limit_s=0.5)
    async with asyncio.timeout(120):
        while any("sleep 1234" in line for line in processes()):
            await asyncio.sleep(0.05)


def processes() -> list[str]:
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found.append(place.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


async def test_a_stranger_is_not_let_in(adb: Adb) -> None:
    """Another adb server of this machine has another key."""
    stranger = await AdbServer.start(find_adb())
    try:
        async with AdbClient(stranger.host, stranger.port) as client:
            await client.connect(adb.machine.serial, 120.0)
            assert await client.state(adb.machine.serial) != "device"
        assert await adb.run("get-state") == "device\n"
    finally:
        await stranger.close()
    reader, writer = await asyncio.open_connection("127.0.0.1", adb.machine.simulator.port)
    writer.write(Packet(command="CNXN", arg0=VERSION, arg1=MAX_DATA, data=b"host::").encode())
    writer.write(Packet(command="OPEN", arg0=1, arg1=0, data=b"shell:id\0").encode())
    async with asyncio.timeout(120):
        answer = await reader.read()
    assert answer.startswith(b"AUTH") and b"OKAY" not in answer
    writer.close()


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CNXN",
        struct.pack("<4s5I", b"WRTE", 1, 1, 1 << 30, 0, 0),
        bytes(24),
    ],
)
async def test_what_is_no_adb_is_hung_up_on(adb: Adb, data: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", adb.machine.simulator.port)
    writer.write(data)
    writer.write_eof()
    async with asyncio.timeout(120):
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
    writer.close()
    assert await adb.run("get-state") == "device\n"
