"""Commands and files on a device, as an agent asks for them."""

from __future__ import annotations

import json
import secrets
import shlex
import time

from deskhand_sandbox.backends.android.adb.client import DeviceError
from deskhand_sandbox.backends.android.adb.device import COMMAND_BYTES, Device
from deskhand_sandbox.errors import InvalidAction, SandboxTimeout, VerifierError
from deskhand_sandbox.terminal.confined import FILE_BYTES, LONGEST_S, edited, told
from deskhand_sandbox.terminal.shell import OUTPUT_BYTES, CommandResult
from deskhand_sandbox.types import EditFile, JsonValue, ReadFile, Run, WriteFile

HOME = "/data/local/tmp/deskhand"
"""The agent's folder on a device; emptied with every task."""
GRACE_S = 8.0
"""How much longer than its time limit a command may take to tell so."""
STOPPED = 124
"""Exit status of `timeout` for a command it has stopped."""


class DeviceTerminal:
    """One shell for each command; the folder stays from one to the next."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._folder = HOME

    async def reset(self) -> None:
        """Take away what was written."""
        await self._device.told("rm", "-rf", HOME)
        await self._device.told("mkdir", "-p", HOME)
        self._folder = HOME

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        """Carry out the action; what it returns to the agent.

        Raises:
            InvalidAction: it cannot be as given, or the file cannot be read or written; says why.
            InfrastructureError: the device failed.
        """
        text = action.command if isinstance(action, Run) else action.path
        if "\0" in text or not text.strip() or not _encodable(text):
            raise InvalidAction(f"{text!r} is empty, or holds characters no command line takes")
        try:
            match action:
                case Run(command=command, timeout_s=timeout_s):
                    if not 0 < timeout_s <= LONGEST_S:
                        raise InvalidAction(
                            f"a command may take up to {LONGEST_S:g} seconds, not {timeout_s:g}"
                        )
                    return told(await self._run(command, timeout_s), timeout_s)
                case ReadFile(path=path):
                    return await self._read(path)
                case WriteFile(path=path, content=content):
                    return await self._write(path, content)
                case EditFile(path=path):
                    return await self._write(path, edited(await self._read(path, exactly=True), action))
        except DeviceError as error:
            raise InvalidAction(str(error)) from error

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """A command's verdict: False at exit status 1, else its output, as JSON where it is JSON.

        Raises:
            VerifierError: another exit status than 0 and 1.
        """
        result = await self._device.script(f"cd {HOME}\n{command}", limit_s=timeout_s)
        if result.code == 1:
            return False
        if result.code:
            said = (result.err or result.out).decode(errors="replace").strip()[-500:]
            raise VerifierError(f"the command ended with exit status {result.code}: {said}")
        try:
            return json.loads(result.text) if result.text else True
        except ValueError:
            return result.text

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

    async def _read(self, path: str, *, exactly: bool = False) -> str:
        data = await self._device.pull(_absolute(path), longest=FILE_BYTES)
        if len(data) > FILE_BYTES:
            raise InvalidAction(f"{path} is longer than {FILE_BYTES} bytes: read a part of it by a command")
        try:
            return data.decode(errors="strict" if exactly else "replace")
        except UnicodeDecodeError as error:
            raise InvalidAction(f"{path} is no UTF-8 text") from error

    async def _write(self, path: str, content: str) -> str:
        if not _encodable(content):
            raise InvalidAction("the content is no proper Unicode text")
        data = content.encode()
        if len(data) > FILE_BYTES:
            raise InvalidAction(f"{path} would be longer than {FILE_BYTES} bytes")
        await self._device.push(data, _absolute(path))
        return f"wrote {len(data)} bytes to {path}"


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"


def _shortened(output: str) -> str:
    if len(output) <= OUTPUT_BYTES:
        return output
    half = OUTPUT_BYTES // 2
    return f"{output[:half]}\n[… {len(output) - 2 * half} characters left out …]\n{output[-half:]}"


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
