"""The terminal of a VM: commands and files in the guest, by the agent there."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from deskhand_sandbox.backends.vm.channel import Channel
from deskhand_sandbox.errors import CommandHung, InfrastructureError, SandboxDied
from deskhand_sandbox.terminal.commands import CommandTerminal
from deskhand_sandbox.terminal.shell import Shell
from deskhand_sandbox.terminal.verdict import check_command, check_prepared, verdict
from deskhand_sandbox.types import JsonValue

COLUMNS, ROWS = 80, 24
START_S = 30.0
"""Longer than on this machine itself, as `file_s` is: an emulated processor is slow."""
_names = itertools.count(1)


class GuestTerminal(CommandTerminal):
    """See `CommandTerminal`."""

    file_s: ClassVar[float] = 15.0

    def __init__(self, channel: Channel) -> None:
        super().__init__()
        self.channel = channel
        self._pty: GuestPty | None = None

    async def evaluate(self, command: str, *, timeout_s: float) -> JsonValue:
        """A shell command's verdict, run beside the agent's programs and apart from its terminal.

        Raises:
            VerifierError: it ended with another exit status than 0 and 1.
            CommandHung: it did not end in time.
            InvalidTask: it is too long.
        """
        check_command(command)
        code, out, err = await self.run(("bash", "-c", command), timeout_s=timeout_s)
        if code is None:
            # by the word of the guest's agent, which stopped it
            raise CommandHung(f"bash did not end in {timeout_s:g} s")
        return verdict(code, out, err)

    async def prepare(self, script: str, *, seed: int, timeout_s: float) -> None:
        """Run a shell script in the home.

        Raises:
            InvalidTask: it failed, or is too long; says what it complained of.
            InfrastructureError: it took too long, it was killed, or the guest does not answer.
        """
        check_command(script)
        program = ("env", f"SEED={seed}", "bash", "-c", script)
        code, out, err = await self.run(program, timeout_s=timeout_s)
        if code is None:
            raise InfrastructureError(f"preparing the guest took longer than {timeout_s:g} s")
        check_prepared("the guest", code, out, err)

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
            takes_s=timeout_s,
        )
        code = answer["code"]
        return (
            None if code is None else int(str(code)),
            base64.b64decode(str(answer["out"])),
            base64.b64decode(str(answer["err"])),
        )

    def forget(self) -> None:
        """The guest went to another state, or is gone: what ran in the terminal is not there any more."""
        self._shell = None
        pty, self._pty = self._pty, None
        if pty is not None:
            pty.let_go()
        self.channel.terminals.clear()

    async def _open_shell(self) -> Shell:
        return await Shell.on(self._start, columns=COLUMNS, rows=ROWS, start_s=START_S)

    async def _start(
        self, command: Sequence[str], variables: Mapping[str, str], on_data: Callable[[bytes], None]
    ) -> GuestPty:
        self._pty = GuestPty(self.channel, on_data)
        await self._pty.start(list(command), dict(variables), COLUMNS, ROWS)
        return self._pty

    async def _execute(
        self, program: Sequence[str], given: bytes, timeout_s: float
    ) -> tuple[int | None, bytes, bytes]:
        return await self.run(program, given=given, timeout_s=timeout_s)

    @property
    def _lost(self) -> bool:
        return self.channel.lost


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
