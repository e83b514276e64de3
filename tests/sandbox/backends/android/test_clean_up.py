"""A process that is killed leaves no adb server, no browser and no shell of its devices behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from deskhand_sandbox.backends.android.adb.client import AdbClient
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb

SCRIPT = """
import asyncio
from deskhand_sandbox.backends.android import create
from deskhand_sandbox.types import EnvironmentSpec, Run, Task, VerifierSpec

async def main():
    sandbox = await create().create()
    task = Task(id="x/y", environment=EnvironmentSpec(kind="android"), verifier=VerifierSpec(name="fake"),
                instruction="Wait.")
    await sandbox.reset(task)
    running = asyncio.create_task(sandbox.act(Run(command="echo begun > begun; sleep 4324", timeout_s=600)))
    folder = sandbox.machine.simulator.files.root / "data/local/tmp/deskhand/begun"
    while not folder.exists():
        await asyncio.sleep(0.02)
    print("ready", flush=True)
    await running

asyncio.run(main())
"""


@pytest.mark.browser
async def test_nothing_outlives_a_killed_process(tmp_path: Path) -> None:
    variables = {**os.environ, "TMPDIR": str(tmp_path)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, stdout=asyncio.subprocess.PIPE, env=variables
    )
    assert process.stdout is not None
    async with asyncio.timeout(120):
        assert await process.stdout.readline() == b"ready\n"
    assert len(of_this(tmp_path)) > 3
    process.send_signal(signal.SIGKILL)
    await process.wait()
    async with asyncio.timeout(120):
        while left := of_this(tmp_path):
            await asyncio.sleep(0.05)
    assert not left


@pytest.mark.browser
async def test_a_simulator_by_itself_ends_when_it_is_asked_to(tmp_path: Path) -> None:
    module = "deskhand_sandbox.backends.android.simulator"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        "--width",
        "300",
        "--height",
        "600",
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdout is not None
    async with asyncio.timeout(120):
        said = (await process.stdout.readline()).decode()
    assert said.startswith("adb connect 127.0.0.1:")
    address = said.split()[-1]
    server = await AdbServer.start(find_adb())
    try:
        await server.connect(address)
        async with AdbClient(server.host, server.port) as client:
            told = await Device(client, address).told("wm", "size")
        assert told == "Physical size: 300x600"
    finally:
        await server.close()
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(120):
            assert await process.wait() == 0
    assert [place.name for place in tmp_path.glob("deskhand-*")] == []


def of_this(folder: Path) -> list[str]:
    """Command lines of processes that see the folder in their environment or their words, or sleep for it."""
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            seen = words + (place / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in seen or b"sleep\x004324" in words:
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found
