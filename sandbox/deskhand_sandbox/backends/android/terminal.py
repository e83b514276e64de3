"""Commands and files on a device, as an agent asks for them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import COMMAND_BYTES, COMMAND_S, Device
from deskhand_sandbox.backends.android.adb.pty import DevicePty
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.terminal.commands import ShellTerminal
from deskhand_sandbox.terminal.prompts import PlainPrompts
from deskhand_sandbox.terminal.shell import Shell
from deskhand_sandbox.terminal.verdict import ANSWERS_S, check_command, check_prepared, ended, verdict
from deskhand_sandbox.types import JsonValue

HOME = "/data/local/tmp/deskhand"
"""The agent's folder on a device; emptied with every task."""
SCRIPT = f"{HOME}/.command"
"""Commands that cannot be typed."""
COLUMNS, ROWS = 80, 24
START_S = 20.0


class DeviceTerminal(ShellTerminal):
    """The device's own shell on a pseudo-terminal of the device; files go beside it, by adb."""

    file_s: ClassVar[float] = COMMAND_S

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device
        self._pty: DevicePty | None = None

    async def reset(self) -> None:
        """Take away what was written."""
        await self._device.told("rm", "-rf", HOME)
        await self._device.told("mkdir", "-p", HOME)

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """A command's verdict: False at exit status 1, else its output, as JSON where it is JSON.

        Raises:
            VerifierError: another exit status than 0 and 1.
            CommandHung: it did not end in time.
            InvalidTask: it is too long.
        """
        script, line = self._device.script, f"cd {HOME}\n{command}"
        check_command(line, longest=COMMAND_BYTES)
        result = await ended(
            script(line, limit_s=timeout_s),
            lambda: script("true", limit_s=ANSWERS_S),
        )
        return verdict(result.code, result.out, result.err)

    async def prepare(self, script: str, *, seed: int, timeout_s: float) -> None:
        """Run a task's script.

        Raises:
            InvalidTask: it failed, or is too long; says what it complained of.
            InfrastructureError: it took too long, it was killed, or the device is gone.
        """
        line = f"cd {HOME}\nexport SEED={seed}\n{script}"
        check_command(line, longest=COMMAND_BYTES)
        result = await self._device.script(line, limit_s=timeout_s)
        check_prepared("the device", result.code, result.out, result.err)

    # ---- how

    async def _open_shell(self) -> Shell:
        prompts = PlainPrompts(self._keep)
        return await Shell.on(self._start, prompts=prompts, columns=COLUMNS, rows=ROWS, start_s=START_S)

    async def _start(
        self, command: Sequence[str], variables: Mapping[str, str], on_data: Callable[[bytes], None]
    ) -> DevicePty:
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
        line = f"cd {HOME}; exec {shlex.join(words)}"
        self._pty = await DevicePty.start(self._device, line, columns=COLUMNS, rows=ROWS, on_data=on_data)
        return self._pty

    @property
    def _lost(self) -> bool:
        return self._pty is not None and self._pty.lost

    async def _keep(self, script: bytes) -> str:
        await self._device.push(script, SCRIPT)
        return SCRIPT

    async def _read(self, path: str, limit_bytes: int, limit_s: float) -> bytes:
        try:
            return await self._device.pull(_absolute(path), longest=limit_bytes, limit_s=limit_s)
        except DeviceError as error:
            raise InvalidAction(str(error)) from error

    async def _write(self, path: str, data: bytes, limit_s: float) -> None:
        try:
            await self._device.push(data, _absolute(path), limit_s=limit_s)
        except DeviceError as error:
            raise InvalidAction(str(error)) from error


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"
