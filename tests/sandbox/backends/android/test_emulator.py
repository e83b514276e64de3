"""The emulator's command lines, and its life by a stand-in that the real adb takes for an emulator."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from deskhand_sandbox.backends.android import create
from deskhand_sandbox.backends.android.adb.server import AdbServer, find_adb
from deskhand_sandbox.backends.android.emulator import START_STATE, Emulated, Sdk
from deskhand_sandbox.backends.android.settings import EmulatorSettings
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    SandboxDied,
    SandboxTimeout,
    UnknownName,
    UnsupportedCapability,
)

STANDIN = Path(__file__).with_name("standin_emulator.py")
IMAGE = "system-images;android-34;google_apis;x86_64"


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sdk:
    """An SDK whose emulator is the stand-in, and whose avdmanager notes what it is asked."""
    folder = tmp_path / "sdk"
    log = tmp_path / "log"
    (folder / "cmdline-tools/latest/bin").mkdir(parents=True)
    (folder / "emulator").mkdir()
    folder.joinpath(*IMAGE.split(";")).mkdir(parents=True)
    manager = folder / "cmdline-tools/latest/bin/avdmanager"
    manager.write_text(f'#!/bin/sh\nread answer\necho "avdmanager: $* ($answer)" >> {log}\n')
    emulator = folder / "emulator/emulator"
    emulator.write_text(
        f'#!/bin/sh\nexport STANDIN_LOG={log} STANDIN_MODE="$(cat {tmp_path}/mode 2>/dev/null)"\n'
        f'exec {sys.executable} {STANDIN} "$@"\n'
    )
    for program in (manager, emulator):
        program.chmod(0o755)
    monkeypatch.setenv("ANDROID_HOME", str(folder))
    return Sdk.find()


def noted(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_command_lines(sdk: Sdk) -> None:
    settings = EmulatorSettings(memory_mb=3000)
    assert sdk.create_line("d", Path("/avds"), settings)[1:] == [
        "create", "avd", "--force", "--name", "d", "--package", IMAGE, "--device", "pixel_6",
        "--path", "/avds/d.avd",
    ]  # fmt: skip
    assert sdk.boot_line("d", 5600, settings)[1:] == [
        "-avd", "d", "-ports", "5600,5601", "-no-window", "-no-audio", "-no-boot-anim",
        "-gpu", "swiftshader_indirect", "-memory", "3000", "-no-snapshot-load", "-no-snapshot-save",
    ]  # fmt: skip
    assert sdk.boot_line("mine", 5600, EmulatorSettings(avd="mine"))[-1] == "-read-only"


async def test_from_creation_to_the_end(sdk: Sdk, tmp_path: Path) -> None:
    server = await AdbServer.start(find_adb())
    try:
        machine = await Emulated.start(sdk, EmulatorSettings(boot_deadline_s=60), server)
        try:
            assert machine.alive() and machine.serial.startswith("emulator-")
            await machine.begin()
            await machine.begin()
            kept, dropped = await machine.save(), await machine.save()
            await machine.load(kept)
            for _ in range(2):
                await machine.forget(dropped)
            for other in (dropped, "other"):
                with pytest.raises(UnknownName):
                    await machine.load(other)
            with pytest.raises(InfrastructureError, match="refused `avd snapshot save missing`: KO"):
                await machine.keep("missing")
            await machine.begin()
            with pytest.raises(UnknownName):
                await machine.load(kept)
        finally:
            await machine.close()
            await machine.close()
        assert not machine.alive()
    finally:
        await server.close()
    created, booted, *console = [line for line in noted(tmp_path) if "quit" not in line]
    assert created.startswith("avdmanager: create avd --force --name deskhand-") and created.endswith("(no)")
    assert "-no-window -no-audio" in booted
    assert console == [
        f"console: avd snapshot save {START_STATE}",
        f"console: avd snapshot load {START_STATE}",
        f"console: avd snapshot save {kept}",
        f"console: avd snapshot save {dropped}",
        f"console: avd snapshot load {kept}",
        f"console: avd snapshot delete {dropped}",
        "console: avd snapshot save missing",
        f"console: avd snapshot load {START_STATE}",
        f"console: avd snapshot delete {kept}",
        "console: kill",
    ]


async def test_a_device_of_the_users_own_boots_anew_and_keeps_nothing(sdk: Sdk, tmp_path: Path) -> None:
    server = await AdbServer.start(find_adb())
    try:
        machine = await Emulated.start(sdk, EmulatorSettings(avd="mine", boot_deadline_s=60), server)
        try:
            await machine.begin()
            first = machine.pid
            await machine.begin()
            assert machine.alive() and machine.pid != first
            assert not machine.snapshots
            with pytest.raises(UnsupportedCapability, match="keeps no snapshots"):
                await machine.save()
        finally:
            await machine.close()
    finally:
        await server.close()
    told = [line.partition(" -ports")[0] for line in noted(tmp_path)]
    assert told == ["emulator: -avd mine", "console: kill"] * 2


@pytest.mark.parametrize(
    ("mode", "deadline_s", "error", "said"),
    [
        ("refuse", 60, SandboxDied, "ended while it booted: PANIC: Cannot find AVD system path"),
        ("never", 3, SandboxTimeout, "did not boot within 3 s"),
    ],
)
async def test_an_emulator_that_does_not_boot(
    sdk: Sdk, tmp_path: Path, mode: str, deadline_s: float, error: type[Exception], said: str
) -> None:
    (tmp_path / "mode").write_text(mode)
    server = await AdbServer.start(find_adb())
    try:
        with pytest.raises(error, match=said):
            await Emulated.start(sdk, EmulatorSettings(boot_deadline_s=deadline_s), server)
    finally:
        await server.close()
    assert not any(str(STANDIN) in line for line in command_lines())


async def test_an_emulator_that_dies_is_noticed(sdk: Sdk) -> None:
    server = await AdbServer.start(find_adb())
    try:
        machine = await Emulated.start(sdk, EmulatorSettings(boot_deadline_s=60), server)
        os.kill(machine.pid, signal.SIGKILL)
        await machine.ended()
        assert not machine.alive() and await machine.died()
        await machine.close()
    finally:
        await server.close()


def command_lines() -> list[str]:
    found: list[str] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(place.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_what_an_sdk_lacks_is_said(sdk: Sdk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BackendMissing, match="sdkmanager --install 'system-images;x'"):
        sdk.check_image("system-images;x")
    sdk.emulator.unlink()
    with pytest.raises(BackendMissing, match="sdkmanager --install emulator platform-tools"):
        create(machine="emulator")
    sdk.avdmanager.unlink()
    with pytest.raises(BackendMissing, match="sdkmanager --install 'cmdline-tools;latest'"):
        create(machine="emulator")
    monkeypatch.delenv("ANDROID_HOME")
    monkeypatch.delenv("ANDROID_SDK_ROOT", raising=False)
    with pytest.raises(BackendMissing, match="name its folder with ANDROID_HOME"):
        create(machine="emulator")
