"""An Android device as a sandbox: adb's commands, the screen, and the task on it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from deskhand_sandbox.backends.android.actions import Hand
from deskhand_sandbox.backends.android.adb.client import AdbClient
from deskhand_sandbox.backends.android.adb.device import Device
from deskhand_sandbox.backends.android.adb.program import DeviceProgram
from deskhand_sandbox.backends.android.adb.server import AdbServer
from deskhand_sandbox.backends.android.apps import open_app
from deskhand_sandbox.backends.android.gestures import takes_s
from deskhand_sandbox.backends.android.machines import Machine
from deskhand_sandbox.backends.android.pictures import captured
from deskhand_sandbox.backends.android.settings import AndroidSettings, DeviceSettings, device_settings
from deskhand_sandbox.backends.android.terminal import HOME
from deskhand_sandbox.backends.android.tree import read_nodes, text_tree
from deskhand_sandbox.backends.calls import Calls
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    UnsupportedCapability,
)
from deskhand_sandbox.terminal.verdict import ANSWERS_S, COMMAND_S
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task

DEMO = "am broadcast -a com.android.systemui.demo -e command"
DEMO_LINES = (
    "settings put global sysui_demo_allowed 1",
    f"{DEMO} enter",
    f"{DEMO} clock -e hhmm 1200",
    f"{DEMO} battery -e level 100 -e plugged false",
    f"{DEMO} network -e wifi show -e level 4",
    f"{DEMO} notifications -e visible false",
)
ROTATIONS = {"portrait": 0, "landscape": 1}
TREE_TRIES = 3
_SIZE = re.compile(r"(\d+)x(\d+)")


class AndroidSandbox(Sandbox):
    """See `Sandbox`. After SandboxDied or SandboxTimeout it is not to be used again."""

    kind = "android"

    def __init__(self, settings: AndroidSettings, server: AdbServer, machine: Machine) -> None:
        self.id = uuid.uuid4().hex
        self.machine = machine
        self._settings = settings
        self._server = server
        self._client = AdbClient(server.host, server.port)
        self.device = Device(self._client, machine.serial)
        self._hand = Hand(self.device, settings.apps)
        self._screen = DeviceSettings()
        self._natural_px = (0, 0)
        self._began = False
        self._programs: list[DeviceProgram] = []
        self._calls = Calls(self._diagnose)
        offered = {Capability.SNAPSHOT: machine.snapshots, Capability.FORK: machine.copies}
        self.capabilities = frozenset({Capability.RUN, Capability.EVALUATE, Capability.TEXT_TREE}) | {
            capability for capability, works in offered.items() if works
        }

    # ---- the contract

    async def reset(self, task: Task) -> Start:
        screen = device_settings(task)
        if not task.instruction:
            raise InvalidTask(f"task {task.id} has no instruction")
        packages = [(path, Path(path)) for path in screen.install]
        for path, place in packages:
            if not await asyncio.to_thread(place.is_file):
                raise InvalidTask(f"task {task.id}: there is no file {path} to install")
        async with self._calls.call("reset", self._settings.reset_deadline_s + screen.ready_deadline_s):
            self._began = False
            await self._end_programs()
            await self.machine.begin()
            self._hand.forget()
            await self._hand.terminal.reset()
            await self._set_up(screen, task.seed)
            self._screen = screen
            self._began = True
            await self._measure()
            return Start(instruction=task.instruction, observation=await self._look())

    async def observe(self, *, text_tree: bool = False) -> Observation:
        async with self._calls.call("observe", self._settings.call_deadline_s):
            return await self._look(tree=text_tree)

    async def act(self, action: DeviceAction) -> Observation:
        limit_s = self._settings.call_deadline_s + asked_s(action) + takes_s(action)
        async with self._calls.call(type(action).__name__, limit_s):
            self._check_begun()
            output = await self._hand.perform(action)
            return replace(await self._look(), output=output)

    async def evaluate(self, expression: str) -> JsonValue:
        """A shell command's verdict, run on the device apart from the agent's terminal.

        Returns:
            False at exit status 1, as `test` and `grep` mean it; else the output, as JSON where it is JSON,
            as text otherwise, and true where there is none.
        """
        limit_s = min(self._settings.call_deadline_s, COMMAND_S)
        async with self._calls.call("evaluate", limit_s + 2 * ANSWERS_S):
            self._check_begun()
            return await self._hand.terminal.evaluate(expression, timeout_s=limit_s)

    async def snapshot(self) -> str:
        async with self._calls.call("snapshot", self._settings.reset_deadline_s):
            self._check_begun()
            return await self.machine.save()

    async def restore(self, snapshot_id: str) -> Observation:
        async with self._calls.call("restore", self._settings.reset_deadline_s):
            self._check_begun()
            await self._end_programs()
            await self.machine.load(snapshot_id)
            self._hand.forget()
            await self._measure()
            return await self._look()

    async def forget(self, snapshot_id: str) -> None:
        async with self._calls.call("forget", self._settings.reset_deadline_s):
            await self.machine.forget(snapshot_id)

    async def fork(self, n: int) -> list[Sandbox]:
        if Capability.FORK not in self.capabilities:
            raise UnsupportedCapability(f"this Android device has no {Capability.FORK}")
        async with (
            self._calls.call("fork", self._settings.reset_deadline_s),
            contextlib.AsyncExitStack() as stack,
        ):
            self._check_begun()
            copies: list[Sandbox] = []
            for _ in range(n):
                copy = AndroidSandbox(self._settings, self._server, await self.machine.copy())
                stack.push_async_callback(copy.close)
                copy._screen, copy._natural_px, copy._began = self._screen, self._natural_px, True
                await copy._look()
                copies.append(copy)
            stack.pop_all()
            return copies

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> DeviceProgram:
        """See `RunsPrograms`."""
        async with self._calls.call("start_program", self._settings.call_deadline_s):
            self._check_begun()
            started = await DeviceProgram.start(self.device, HOME, program, environment)
            self._programs.append(started)
            return started

    def alive(self) -> bool:
        return self._calls.usable and self._server.alive() and self.machine.alive()

    async def close(self) -> None:
        await self._calls.close()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._client.close)
            stack.push_async_callback(self.machine.close)
            await self._end_programs()

    async def _end_programs(self) -> None:
        """What runs in the terminal, and what somebody talks to."""
        programs, self._programs = self._programs, []
        await asyncio.gather(self._hand.terminal.close(), *(each.close() for each in programs))

    # ---- start states

    async def _set_up(self, screen: DeviceSettings, seed: int) -> None:
        device = self.device
        lines = [
            "input keyevent 224",  # awake
            "wm dismiss-keyguard",
            "settings put system accelerometer_rotation 0",
            f"settings put system user_rotation {ROTATIONS[screen.orientation]}",
        ]
        await self._succeed("; ".join([*lines, *(DEMO_LINES if screen.steady_status_bar else ())]))
        for path in screen.install:
            await self._install(path, screen.ready_deadline_s)
        for package in screen.clear:
            if "Success" not in (await device.shell("pm", "clear", package)).text:
                raise InfrastructureError(f"the data of {package} cannot be cleared: is it installed?")
        if screen.prepare is not None:
            await self._hand.terminal.prepare(screen.prepare, seed=seed, timeout_s=screen.ready_deadline_s)
        await self._succeed("input keyevent 3")
        if screen.app is not None:
            try:
                await open_app(device, screen.app, self._settings.apps)
            except InvalidAction as error:
                raise InvalidTask(f"the start state cannot be made: {error}") from error

    async def _install(self, path: str, limit_s: float) -> None:
        place = f"{HOME}/install.apk"
        data = await asyncio.to_thread(Path(path).read_bytes)
        await self.device.push(data, place, limit_s=limit_s)
        result = await self.device.shell("pm", "install", "-r", "-g", place, limit_s=limit_s)
        if "Success" not in result.text:
            said = (result.out + result.err).decode(errors="replace").strip()
            raise InfrastructureError(f"the device does not install {path}: {said}")
        await self.device.told("rm", "-f", place)

    async def _succeed(self, line: str) -> None:
        result = await self.device.script(line)
        if result.code:
            said = (result.err or result.out).decode(errors="replace").strip()
            raise InfrastructureError(f"setting the device up failed at {shlex.quote(line[:200])}: {said}")

    async def _measure(self) -> None:
        """Learn the sizes of the picture and of what `input` counts in."""
        told = await self.device.told("wm", "size")
        sizes = [(int(across), int(down)) for across, down in _SIZE.findall(told)]
        if not sizes:
            raise InfrastructureError(f"the device does not tell the size of its screen: {told!r}")
        self._natural_px = sizes[-1]  # an override comes after the physical size

    # ---- looking

    async def _look(self, *, tree: bool = False) -> Observation:
        self._check_begun()
        began = time.perf_counter()
        deadline = began + self._screen.settle_deadline_ms / 1000
        data = await self._capture()
        since, settled = time.perf_counter(), False
        settled_at = since
        while not settled and time.perf_counter() < deadline:
            at = time.perf_counter()
            again = await self._capture()
            if again != data:
                data, since = again, at
            elif at - since >= self._screen.still_ms / 1000:
                settled = True
            else:
                await asyncio.sleep(self._screen.still_ms / 1000 - (at - since))
            settled_at = time.perf_counter()
        captured_at_s = time.time()
        image = await asyncio.to_thread(captured, data, self._screen)
        self._seen((image.width_px, image.height_px))
        return Observation(
            screenshot=image,
            captured_at_s=captured_at_s,
            settled_ms=(settled_at - began) * 1000,
            settled=settled,
            text_tree=await self._text_tree() if tree else None,
            terminal=self._hand.terminal.screen(),
        )

    async def _capture(self) -> bytes:
        data = await self.device.raw("screencap -p")
        if not data.startswith(b"\x89PNG"):
            if (state := await self.device.state()) != "device":
                raise SandboxDied(f"the device is {state}")
            said = data[:200].decode(errors="replace").strip()
            raise InfrastructureError(f"the device gives no picture of its screen: {said!r}")
        return data

    def _seen(self, size_px: tuple[int, int]) -> None:
        self._hand.screen_px = size_px
        across, down = self._natural_px
        turned = (size_px[0] > size_px[1]) != (across > down)
        self._hand.input_px = (down, across) if turned else (across, down)

    async def _text_tree(self) -> str:
        tries = TREE_TRIES
        while True:
            try:
                return text_tree(read_nodes(await self.device.raw("uiautomator dump /dev/tty")))
            except InfrastructureError:
                # uiautomator gives up on a screen that moves: the next try may find it at rest
                tries -= 1
                if not tries or not self.alive():
                    raise

    # ---- failures

    def _check_begun(self) -> None:
        if not self._began:
            raise InfrastructureError("the Android device has not been reset to a task yet")

    async def _diagnose(self, error: InfrastructureError) -> SandboxDied | None:
        if self._server.alive() and not await self.machine.died():
            return None
        return SandboxDied(f"the Android device is gone: {error}")
