"""The Android SDK's emulator as what stands behind a sandbox: created, booted, kept, brought back, ended.

It is found by ANDROID_HOME or ANDROID_SDK_ROOT. A booted device is kept once, and every task begins from it;
one of the user's own, of which nothing may be kept, boots anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deskhand_sandbox.backends.android.adb.client import AdbClient
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.server import AdbServer, ending_with_us, find_adb
from deskhand_sandbox.backends.android.machines import Machine
from deskhand_sandbox.backends.android.settings import EmulatorSettings
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    SandboxDied,
    SandboxTimeout,
    UnknownName,
)

START_STATE = "deskhand-start"
TOOL_S = 120.0
SNAPSHOT_S = 300.0
ASK_S = 10.0
POLL_S = 0.5
END_S = 10.0
TRIES = 100

Boot = Callable[[], Awaitable[asyncio.subprocess.Process]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sdk:
    """The tools of an Android SDK."""

    folder: Path
    emulator: Path
    avdmanager: Path

    @classmethod
    def find(cls) -> Sdk:
        """The SDK that ANDROID_HOME or ANDROID_SDK_ROOT names.

        Raises:
            BackendMissing: there is none, or a part of it is missing; says what installs it.
        """
        named = os.environ.get("ANDROID_HOME") or os.environ.get("ANDROID_SDK_ROOT")
        if not named:
            raise BackendMissing(
                "no Android SDK: install its command-line tools (developer.android.com/studio#command-tools) "
                "and name its folder with ANDROID_HOME; a simulator needs none"
            )
        folder = Path(named)
        emulator = folder / "emulator/emulator"
        managers = sorted(folder.glob("cmdline-tools/*/bin/avdmanager"))
        if not managers:
            raise BackendMissing(f"{folder} has no avdmanager: sdkmanager --install 'cmdline-tools;latest'")
        if not emulator.is_file():
            raise BackendMissing(f"{folder} has no emulator: sdkmanager --install emulator platform-tools")
        return cls(folder=folder, emulator=emulator, avdmanager=managers[-1])

    def check_image(self, image: str) -> None:
        """Refuse a system image that is not installed.

        Raises:
            BackendMissing: says what installs it.
        """
        if not self.folder.joinpath(*image.split(";")).is_dir():
            raise BackendMissing(f"there is no {image}: sdkmanager --install '{image}'")

    def create_line(self, name: str, folder: Path, settings: EmulatorSettings) -> list[str]:
        """The command that makes a virtual device."""
        return [
            str(self.avdmanager), "create", "avd", "--force", "--name", name, "--package", settings.image,
            "--device", settings.profile, "--path", str(folder / f"{name}.avd"),
        ]  # fmt: skip

    def boot_line(self, name: str, console: int, settings: EmulatorSettings) -> list[str]:
        """The command that boots one without a window, its console and adb at `console` and the next port."""
        line = [
            str(self.emulator), "-avd", name, "-ports", f"{console},{console + 1}", "-no-window", "-no-audio",
            "-no-boot-anim", "-gpu", "swiftshader_indirect", "-memory", str(settings.memory_mb),
            "-no-snapshot-load", "-no-snapshot-save",
        ]  # fmt: skip
        # a device of the user's own is left as it is, and may run several times
        return [*line, "-read-only"] if settings.avd else line


class Emulated(Machine):
    """Made by `Emulated.start`."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        boot: Boot,
        console: int,
        server: AdbServer,
        folder: Path,
        settings: EmulatorSettings,
    ) -> None:
        self.snapshots = settings.avd is None  # the emulator saves none with -read-only
        self._process = process
        self._boot = boot
        self._boot_s = settings.boot_deadline_s
        self._server = server
        self._folder = folder
        self._client = AdbClient(server.host, server.port)
        self._fresh = self._booting = False
        self._kept: set[str] = set()
        self.serial = f"emulator-{console}"

    @classmethod
    async def start(cls, sdk: Sdk, settings: EmulatorSettings, server: AdbServer) -> Emulated:
        """Create a virtual device, boot it, and keep the booted state; boot the one that is named.

        Raises:
            BackendMissing: the system image is not installed, or a tool cannot be run.
            SandboxDied: the emulator ended; says what it complained of.
            SandboxTimeout: it did not boot in time.
        """
        folder = Path(tempfile.mkdtemp(prefix="deskhand-emulator-"))
        environment = {
            **server.environment,
            "ANDROID_HOME": str(sdk.folder),
            "ANDROID_SDK_ROOT": str(sdk.folder),
            **{key: os.environ[key] for key in ("JAVA_HOME", "ANDROID_AVD_HOME") if key in os.environ},
        }
        machine: Emulated | None = None
        try:
            name = settings.avd or f"deskhand-{uuid.uuid4().hex[:12]}"
            if settings.avd is None:
                sdk.check_image(settings.image)
                environment["ANDROID_AVD_HOME"] = str(folder)
                await _run(sdk.create_line(name, folder, settings), environment, given=b"no\n")
            elif "ANDROID_AVD_HOME" not in environment:
                environment["ANDROID_AVD_HOME"] = str(Path.home() / ".android/avd")
            console = _two_ports()
            boot = partial(_launch, sdk.boot_line(name, console, settings), environment, folder)
            machine = cls(await boot(), boot, console, server, folder, settings)
            await machine.booted(settings.boot_deadline_s)
            if machine.snapshots:
                await machine.keep(START_STATE)
            machine._fresh = True
        except BaseException:
            if machine is not None:
                await machine.close()
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            raise
        return machine

    async def begin(self) -> None:
        if not self._fresh:
            if self.snapshots:
                await self._console("avd", "snapshot", "load", START_STATE)
            else:
                await self._boot_anew()
        self._fresh = False
        while self._kept:
            await self._console("avd", "snapshot", "delete", self._kept.pop())

    async def save(self) -> str:
        if not self.snapshots:
            return await super().save()
        name = f"deskhand-{uuid.uuid4().hex}"
        await self.keep(name)
        self._kept.add(name)
        return name

    async def load(self, name: str) -> None:
        if name not in self._kept:
            raise UnknownName("snapshot", name, self._kept)
        await self._console("avd", "snapshot", "load", name)

    async def forget(self, name: str) -> None:
        if name in self._kept:
            await self._console("avd", "snapshot", "delete", name)
            self._kept.remove(name)

    async def keep(self, name: str) -> None:
        """Keep the state under a name."""
        await self._console("avd", "snapshot", "save", name)

    @property
    def pid(self) -> int:
        """Process id of the emulator."""
        return self._process.pid

    def alive(self) -> bool:
        return self._booting or self._process.returncode is None

    async def ended(self) -> None:
        """Wait until the emulator is gone."""
        await self._process.wait()

    async def booted(self, deadline_s: float) -> None:
        """Wait until the device has booted.

        Raises:
            SandboxDied: the emulator ended.
            SandboxTimeout: it did not boot in time.
        """
        device = Device(self._client, self.serial)
        question = "getprop sys.boot_completed; getprop init.svc.bootanim"
        try:
            async with asyncio.timeout(deadline_s):
                while True:
                    if self._process.returncode is not None:
                        raise SandboxDied(f"the emulator ended while it booted{self._last_words()}")
                    if await self._client.state(self.serial) == "device":
                        with contextlib.suppress(InfrastructureError):
                            # adbd comes up before the system, and comes up anew while it boots
                            told = (await device.script(question, limit_s=ASK_S)).text.split()
                            if told[:1] == ["1"] and told[1:] in ([], ["stopped"]):
                                return
                    await asyncio.sleep(POLL_S)
        except TimeoutError as error:
            said = self._last_words()
            raise SandboxTimeout(f"the emulator did not boot within {deadline_s:g} s{said}") from error

    async def close(self) -> None:
        await self._end()
        await self._client.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _boot_anew(self) -> None:
        self._booting = True
        try:
            await self._end()
            self._process = await self._boot()
            await self.booted(self._boot_s)
        finally:
            self._booting = False

    async def _end(self) -> None:
        process = self._process
        if process.returncode is None:
            with contextlib.suppress(InfrastructureError):
                await self._console("kill", limit_s=END_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(END_S):
                    await process.wait()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _console(self, *words: str, limit_s: float = SNAPSHOT_S) -> None:
        """A command for the emulator's console, by adb, which knows its token."""
        line = [find_adb(), "-s", self.serial, "emu", *words]
        said = await _run(line, self._server.environment, limit_s=limit_s)
        if "KO" in said:
            raise InfrastructureError(f"the emulator refused `{' '.join(words)}`: {said.strip()}")

    def _last_words(self) -> str:
        log = self._folder / "emulator.log"
        lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
        return f": {lines[-1]}" if lines else ""


async def _launch(line: list[str], environment: dict[str, str], folder: Path) -> asyncio.subprocess.Process:
    none = asyncio.subprocess.DEVNULL
    with (folder / "emulator.log").open("wb") as log:
        try:
            return await asyncio.create_subprocess_exec(
                *ending_with_us(usb=True), *line, stdin=none, stdout=log, stderr=log, env=environment
            )
        except OSError as error:
            raise BackendMissing(f"{line[0]} cannot be run: {error.strerror}") from error


async def _run(
    line: list[str], environment: dict[str, str], *, given: bytes = b"", limit_s: float = TOOL_S
) -> str:
    """Run a tool to its end; what it wrote.

    Raises:
        BackendMissing: it cannot be run.
        InfrastructureError: it failed; says what it complained of.
        SandboxTimeout: it did not end in time.
    """
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *line, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.STDOUT, env=environment
        )
    except OSError as error:
        raise BackendMissing(f"{line[0]} cannot be run: {error.strerror}") from error
    try:
        async with asyncio.timeout(limit_s):
            out, _ = await process.communicate(given)
    except TimeoutError as error:
        raise SandboxTimeout(f"{line[0]} did not end within {limit_s:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    said = out.decode(errors="replace")
    if process.returncode:
        raise InfrastructureError(
            f"{Path(line[0]).name} failed ({process.returncode}): {said.strip()[-500:]}"
        )
    return said


def _two_ports() -> int:
    """An even port that is free, and so is the next one: the emulator takes no others."""
    for _ in range(TRIES):
        with socket.create_server(("127.0.0.1", 0)) as one:
            port = int(one.getsockname()[1])
            with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port ^ 1)):
                return min(port, port ^ 1)
    raise InfrastructureError("no two neighbouring ports are free on this machine")
