"""Commands and files on a device, as an agent asks for them."""

from __future__ import annotations

import secrets
import shlex
import time
from typing import ClassVar

from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import COMMAND_BYTES, COMMAND_S, Device
from deskhand_sandbox.errors import InvalidAction, SandboxTimeout
from deskhand_sandbox.terminal.commands import Terminal
from deskhand_sandbox.terminal.shell import OUTPUT_BYTES, CommandResult
from deskhand_sandbox.terminal.verdict import verdict
from deskhand_sandbox.types import EditFile, JsonValue, ReadFile, Run, WriteFile

HOME = "/data/local/tmp/deskhand"
"""The agent's folder on a device; emptied with every task."""
GRACE_S = 8.0
"""How much longer than its time limit a command may take to tell so."""
STOPPED = 124
"""Exit status of `timeout` for a command it has stopped."""


class DeviceTerminal(Terminal):
    """One shell for each command; the folder stays from one to the next."""

    file_s: ClassVar[float] = COMMAND_S

    def __init__(self, device: Device) -> None:
        self._device = device
        self._folder = HOME

    async def reset(self) -> None:
        """Take away what was written."""
        await self._device.told("rm", "-rf", HOME)
        await self._device.told("mkdir", "-p", HOME)
        self._folder = HOME

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        try:
            return await super().perform(action)
        except DeviceError as error:
            raise InvalidAction(str(error)) from error

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """A command's verdict: False at exit status 1, else its output, as JSON where it is JSON.

        Raises:
            VerifierError: another exit status than 0 and 1.
        """
        result = await self._device.script(f"cd {HOME}\n{command}", limit_s=timeout_s)
        return verdict(result.code, result.out, result.err)

    async def prepare(self, script: str, *, seed: int, timeout_s: float) -> None:
        """Run a task's script.

        Raises:
            DeviceError: it failed; says what it complained of.
        """
        result = await self._device.script(f"cd {HOME}\nexport SEED={seed}\n{script}", limit_s=timeout_s)
        if result.code:
            said = (result.err or result.out).decode(errors="replace").strip()[-500:]
            raise DeviceError(f"preparing the device failed with exit status {result.code}: {said}")

    async def _run(self, command: str, timeout_s: float) -> CommandResult:
        mark = f"-{secrets.token_hex(8)}-"
        script = (
            f'exec 2>&1\ntrap \'c=$?; printf "%s%s %s" {mark} "$c" "$PWD"\' EXIT\n'
            f"cd {shlex.quote(self._folder)} || cd {HOME}\n{command}"
        )
        if len(script) > COMMAND_BYTES // 4:
            place = f"{HOME}/.command"
            await self._device.push(script.encode(), place)
            script = f". {place}"
        line = f"exec timeout -k 2 {timeout_s:g} sh -c {shlex.quote(script)}"
        began = time.monotonic()
        try:
            result = await self._device.script(line, limit_s=timeout_s + GRACE_S)
        except SandboxTimeout:
            return CommandResult(output="", exit_code=None, seconds=time.monotonic() - began)
        output, found, told = (result.out + result.err).decode(errors="replace").rpartition(mark)
        code = result.code
        if found:
            self._folder = told.partition(" ")[2] or HOME
        else:
            output = told
        stopped = code == STOPPED and not found
        return CommandResult(
            output=_shortened(output.replace("\r\n", "\n")),
            exit_code=None if stopped else code,
            seconds=time.monotonic() - began,
        )

    async def _read(self, path: str, limit_bytes: int, limit_s: float) -> bytes:
        return await self._device.pull(_absolute(path), longest=limit_bytes, limit_s=limit_s)

    async def _write(self, path: str, data: bytes, limit_s: float) -> None:
        await self._device.push(data, _absolute(path), limit_s=limit_s)


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"


def _shortened(output: str) -> str:
    if len(output) <= OUTPUT_BYTES:
        return output
    half = OUTPUT_BYTES // 2
    return f"{output[:half]}\n[… {len(output) - 2 * half} characters left out …]\n{output[-half:]}"
