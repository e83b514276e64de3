"""The terminal of a VM: commands and files in the guest, by the agent there."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    SandboxDied,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.terminal.confined import FILE_BYTES, LONGEST_S, edited, told
from deskhand_sandbox.terminal.pty import Pty
from deskhand_sandbox.terminal.shell import CommandResult, Shell
from deskhand_sandbox.terminal.verdict import verdict
from deskhand_sandbox.types import EditFile, JsonValue, ReadFile, Run, WriteFile

FILE_S = 15.0
START_S = 30.0
"""Both are longer than on this machine itself: an emulated processor is slow."""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'
_names = itertools.count(1)


class GuestTerminal:
    """Nothing is started before the first command."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._shell: GuestShell | None = None

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        """Carry out the action; what it returns to the agent.

        Raises:
            InvalidAction: the shell was ended, or the file cannot be read or written; says why.
            InfrastructureError: the VM failed.
        """
        text = action.command if isinstance(action, Run) else action.path
        if "\0" in text or not _encodable(text):
            raise InvalidAction(f"{text!r} holds characters no command line takes")
        match action:
            case Run(command=command, timeout_s=timeout_s):
                if not 0 < timeout_s <= LONGEST_S:
                    raise InvalidAction(f"a command may take up to {LONGEST_S:g} seconds, not {timeout_s:g}")
                return told(await self._run_in_shell(command, timeout_s), timeout_s)
            case ReadFile(path=path):
                return await self._read(path)
            case WriteFile(path=path, content=content):
                return await self._write(path, content)
            case EditFile(path=path):
                return await self._write(path, edited(await self._read(path, exactly=True), action))

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """A shell command's verdict, run beside the agent's programs and apart from its terminal.

        Raises:
            VerifierError: it ended with another exit status than 0 and 1, or not at all.
        """
        code, out, err = await self.run(("bash", "-c", command), timeout_s=timeout_s)
        if code is None:
            raise VerifierError(f"the command did not end in {timeout_s:g} s")
        return verdict(code, out, err)

    async def prepare(self, script: str, *, seed: int, timeout_s: float) -> None:
        """Run a shell script in the home.

        Raises:
            InfrastructureError: it failed, or took too long.
        """
        program = ("env", f"SEED={seed}", "bash", "-c", script)
        code, _, err = await self.run(program, timeout_s=timeout_s)
        if code is None:
            raise InfrastructureError(f"preparing the guest took longer than {timeout_s:g} s")
        if code:
            said = err.decode(errors="replace").strip()[-500:]
            raise InfrastructureError(f"preparing the guest failed with exit status {code}: {said}")

    async def run(
        self, program: Sequence[str], *, given: bytes = b"", timeout_s: float
    ) -> tuple[int | None, bytes, bytes]:
        """Run a program in the home to its end: exit status, output, errors; None where it was stopped.

        Raises:
            InfrastructureError: it could not be run.
        """
        answer = await self.channel.ask(
            "run",
            program=list(program),
            given=base64.b64encode(given).decode(),
            timeout_s=timeout_s,
            as_root=False,
            environment={},
            takes_s=timeout_s,
        )
        code = answer["code"]
        return (
            None if code is None else int(str(code)),
            base64.b64decode(str(answer["out"])),
            base64.b64decode(str(answer["err"])),
        )

    def screen(self) -> str | None:
        """The terminal's screen as text; None before the first command."""
        return None if self._shell is None else self._shell.screen.text()

    def forget(self) -> None:
        """The guest went to another state, or is gone: what ran in the terminal is not there any more."""
        shell, self._shell = self._shell, None
        if shell is not None:
            shell.let_go()
        self.channel.terminals.clear()

    async def close(self) -> None:
        """End the shell."""
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()

    async def _run_in_shell(self, command: str, timeout_s: float) -> CommandResult:
        if self._shell is None:
            self._shell = await GuestShell.open(self.channel)
        try:
            result = await self._shell.run(command, timeout_s=timeout_s)
        except SandboxDied as error:
            if self._shell.guest_gone:
                raise
            await self.close()  # the agent's own doing (`exit`)
            raise InvalidAction(f"{error}; the next command starts a new one") from error
        if result.exit_code is None and not await self._interrupted(self._shell):
            await self.close()
        return result

    async def _interrupted(self, shell: GuestShell) -> bool:
        """Whether Ctrl-C stopped the command and the shell is there for the next one."""
        try:
            return await shell.interrupt()
        except SandboxDied:  # the command stood in the shell's place
            return False

    async def _read(self, path: str, *, exactly: bool = False) -> str:
        out = await self._file("read", path, ("head", "-c", str(FILE_BYTES + 1), "--", path))
        if len(out) > FILE_BYTES:
            raise InvalidAction(f"{path} is longer than {FILE_BYTES} bytes: read a part of it by a command")
        try:
            return out.decode(errors="strict" if exactly else "replace")
        except UnicodeDecodeError as error:
            raise InvalidAction(f"{path} is no text: it cannot be edited") from error

    async def _write(self, path: str, content: str) -> str:
        if not _encodable(content):
            raise InvalidAction(f"{path} cannot be written: its content is no text")
        data = content.encode()
        if len(data) > FILE_BYTES:
            raise InvalidAction(f"a file of {len(data)} bytes is too long to write: at most {FILE_BYTES}")
        await self._file("written", path, ("sh", "-c", _WRITE, "sh", path), given=data)
        return f"wrote {len(data)} bytes to {path}"

    async def _file(self, what: str, path: str, program: Sequence[str], *, given: bytes = b"") -> bytes:
        """Run a program that reads or writes a file; its output."""
        code, out, err = await self.run(program, given=given, timeout_s=FILE_S)
        if code is None:  # a pipe that nobody serves
            raise InvalidAction(f"{path} cannot be {what}: it took longer than {FILE_S:g} s")
        if code:
            lines = err.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise InvalidAction(f"{path} cannot be {what}: {lines[-1].rpartition(': ')[2]}")
        return out


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class GuestShell(Shell):
    """A bash in the guest; made by `GuestShell.open`."""

    @classmethod
    async def open(cls, channel: Channel, *, columns: int = 80, rows: int = 24) -> GuestShell:
        """Start a bash and wait for its prompt.

        Raises:
            SandboxDied: the VM or the shell ended before its prompt.
            SandboxTimeout: no prompt came.
        """
        shell = cls(columns=columns, rows=rows)
        pty = GuestPty(channel, shell._take)
        shell._pty = cast("Pty", pty)
        command: list[JsonValue] = ["bash", "--norc", "--noprofile", "+H", "-i"]
        environment: dict[str, JsonValue] = {**shell._prompts()}
        await pty.start(command, environment, columns, rows)
        try:
            async with asyncio.timeout(START_S):
                await shell._prompted()
        except TimeoutError as error:
            await shell.close()
            raise SandboxTimeout(f"the terminal showed no prompt in {START_S:g} s") from error
        except SandboxDied:
            await shell.close()
            raise
        return shell

    def let_go(self) -> None:
        """Nothing more is asked of the guest's end."""
        cast("GuestPty", self._pty).let_go()

    @property
    def guest_gone(self) -> bool:
        """Whether the whole VM has ended, not only the shell."""
        return cast("GuestPty", self._pty).channel.lost


class GuestPty:
    """A program on a pseudo-terminal in the guest, used as `Pty` is."""

    def __init__(self, channel: Channel, on_data: Callable[[bytes], None]) -> None:
        self.channel = channel
        self.ended = asyncio.Event()
        self._on_data = on_data
        self._name = f"t{next(_names)}"
        self._to_do: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self._doing: asyncio.Task[None] | None = None

    async def start(
        self, command: list[JsonValue], environment: dict[str, JsonValue], columns: int, rows: int
    ) -> None:
        """Start a program with the guest's usual environment and some more."""
        self.channel.terminals[self._name] = self._take
        await self.channel.ask(
            "terminal_start",
            name=self._name,
            command=command,
            environment=environment,
            columns=columns,
            rows=rows,
        )
        self._doing = asyncio.create_task(self._do())

    def write(self, data: bytes) -> None:
        """Type bytes.

        Raises:
            SandboxDied: the program has ended.
        """
        if self.ended.is_set():
            raise SandboxDied("the terminal's program has ended")
        self._to_do.put_nowait(("terminal_write", {"data": base64.b64encode(data).decode()}))

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size and tell the program."""
        self._to_do.put_nowait(("terminal_resize", {"columns": columns, "rows": rows}))

    async def close(self) -> None:
        """End the program and everything in its session; safe to call twice."""
        self.channel.terminals.pop(self._name, None)
        self.ended.set()
        if self._doing is not None:
            self._doing.cancel()
            with suppress(asyncio.CancelledError):
                await self._doing
            self._doing = None
            if not self.channel.lost:
                await self.channel.ask("terminal_close", name=self._name)

    def let_go(self) -> None:
        """The program is not there any more."""
        self.ended.set()
        if self._doing is not None:
            self._doing.cancel()
            self._doing = None

    async def _do(self) -> None:
        """What was typed reaches the guest in its order."""
        while True:
            do, arguments = await self._to_do.get()
            try:
                await self.channel.ask(do, name=self._name, **arguments)
            except InfrastructureError:
                self.ended.set()
                return

    def _take(self, data: bytes | None) -> None:
        if data is None:
            self.ended.set()
        else:
            self._on_data(data)
