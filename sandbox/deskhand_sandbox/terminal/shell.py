"""An interactive shell on a pseudo-terminal, which tells where a command's output begins and ends."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from deskhand_sandbox.errors import InvalidAction, SandboxDied, SandboxTimeout
from deskhand_sandbox.terminal.prompts import BashPrompts, Prompts
from deskhand_sandbox.terminal.pty import Pty
from deskhand_sandbox.terminal.screen import TerminalScreen

OUTPUT_BYTES = 64 * 1024
"""Of a command's output its beginning and its end are kept, half of this each."""
MARK_BYTES = 64
"""Longer than any mark."""
START_S = 10.0
INTERRUPT_S = 2.0
INTERRUPT_AGAIN_S = 0.3
PROMPT_S = 0.5
"""From a command's end to the end of the prompt, which may come without its mark: a command can change it."""

_ESCAPES = re.compile(
    rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles, links, marks
    rb"|\x1b[PX^_][^\x1b]*\x1b\\"  # strings nobody shows
    rb"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    rb"|\x1b[ -/]*[0-~]"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandResult:
    """What came of a command."""

    output: str
    """What it printed, errors too, as plain text; the middle is left out where it is very long."""
    exit_code: int | None
    """None: it was still running at its deadline, and goes on in the terminal."""
    seconds: float


class Program(Protocol):
    """A program on a pseudo-terminal, wherever it runs; `Pty` is one on this machine."""

    ended: asyncio.Event
    """Set once it has closed the terminal."""

    def write(self, data: bytes) -> None:
        """Type bytes.

        Raises:
            SandboxDied: it has ended.
        """
        ...

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size and tell it."""
        ...

    async def close(self) -> None:
        """End it and everything in its session; safe to call twice."""
        ...


OpenPty = Callable[[Sequence[str], Mapping[str, str], Callable[[bytes], None]], Awaitable[Program]]
"""Starts a program: its command line, variables, and who takes what it writes."""


class Shell:
    """Made by `Shell.start` or `Shell.on`. One command at a time; keys can be typed at any time."""

    def __init__(self, prompts: Prompts, *, columns: int, rows: int) -> None:
        self._prompts = prompts
        self._mark = secrets.token_hex(8)
        self._marks = re.compile(rb"\x1b\]133;(C|D;(\d+)|B|P);" + self._mark.encode() + rb"\x07")
        self._unread = b""
        self._output = _Output()
        self._running = True  # until the first prompt
        self._echoing = False
        """What was typed is still to be shown; output comes after it."""
        self._prompt: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Exit status of the command under way, once the prompt is back and whole: what is typed sooner is
        shown twice."""
        self._code = 0
        self._at_prompt = False
        """The prompt's mark has come since the last command ended."""
        self._late: asyncio.TimerHandle | None = None
        """Ends the wait for a prompt without its mark."""
        self._pty: Program | None = None
        self.screen = TerminalScreen(columns=columns, rows=rows, reply=self._answer)

    @classmethod
    async def start(
        cls,
        *,
        environment: Mapping[str, str],
        folder: Path,
        within: Sequence[str] = (),
        columns: int = 80,
        rows: int = 24,
    ) -> Shell:
        """Start a bash and wait for its prompt.

        Args:
            environment: all it sees.
            folder: it starts in.
            within: program and arguments that run it somewhere else, e.g. inside a confinement.
            columns, rows: of its terminal.

        Raises:
            BackendMissing: a program is not installed.
            SandboxDied: it ended before its prompt; says what it printed.
            SandboxTimeout: no prompt came.
        """

        async def here(
            command: Sequence[str], variables: Mapping[str, str], on_data: Callable[[bytes], None]
        ) -> Program:
            return Pty.start(
                [*within, *command],
                environment={**environment, **variables},
                folder=folder,
                columns=columns,
                rows=rows,
                on_data=on_data,
            )

        return await cls.on(here, columns=columns, rows=rows)

    @classmethod
    async def on(
        cls,
        open_pty: OpenPty,
        *,
        prompts: Prompts | None = None,
        columns: int = 80,
        rows: int = 24,
        start_s: float = START_S,
    ) -> Shell:
        """Start a shell on a pseudo-terminal, wherever that is, and wait for its prompt.

        Args:
            open_pty: starts a command there, with these variables beside its usual ones.
            prompts: its make; None: a bash.
            columns, rows: of the terminal it makes.
            start_s: longest the first prompt may take.

        Raises:
            SandboxDied: it ended before its prompt; says what it printed.
            SandboxTimeout: no prompt came.
        """
        prompts = prompts or BashPrompts()
        shell = cls(prompts, columns=columns, rows=rows)
        shell._pty = await open_pty(prompts.program, prompts.variables(shell._mark), shell._take)
        try:
            if opening := prompts.opening(shell._mark):
                shell.type(opening)
            async with asyncio.timeout(start_s):
                await shell._prompted()
        except TimeoutError as error:
            await shell.close()
            raise SandboxTimeout(f"the terminal showed no prompt in {start_s:g} s") from error
        except BaseException:
            await shell.close()
            raise
        return shell

    @property
    def busy(self) -> bool:
        """A command runs, or is half typed."""
        return self._running

    async def run(self, command: str, *, timeout_s: float) -> CommandResult:
        """Run a command line and wait for its end; folder and variables stay for the next one.

        Raises:
            InvalidAction: there is no command, or an earlier one still runs.
            SandboxDied: the shell has ended, before or by this command.
        """
        assert self._pty is not None
        if self._pty.ended.is_set():
            raise SandboxDied("the terminal's shell has ended")
        if not command.strip():
            raise InvalidAction("there is no command to run")
        if self._running:
            raise InvalidAction("the terminal is busy with an earlier command: wait, type into it or stop it")
        line = await self._prompts.typed(command)
        began = time.monotonic()
        self._is_running()
        self._output = _Output()
        self._prompt = asyncio.get_running_loop().create_future()
        self._echoing = not self._prompts.tells_begin
        self.type(b"\x15" + line + b"\n")
        try:
            async with asyncio.timeout(timeout_s):
                code = await self._prompted()
        except TimeoutError:
            code = None
        return CommandResult(output=self._output.text(), exit_code=code, seconds=time.monotonic() - began)

    async def interrupt(self) -> bool:
        """Stop the command under way as Ctrl-C does; False where it does not heed that.

        Raises:
            SandboxDied: the shell has ended.
        """
        self.type(b"\x03")
        try:
            async with asyncio.timeout(INTERRUPT_S):
                await self._prompted()
        except TimeoutError:
            return False
        return True

    def type(self, data: bytes) -> None:
        """Type bytes as a keyboard would; "\\x03" is Ctrl-C.

        Raises:
            SandboxDied: the shell has ended.
        """
        assert self._pty is not None
        self._pty.write(data)
        if not self._prompts.tells_begin and (b"\n" in data or b"\r" in data):
            self._is_running()

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size; programs in it are told."""
        assert self._pty is not None
        self._at_prompt = False  # it is shown anew
        self._pty.resize(columns, rows)
        self.screen.resize(columns, rows)

    async def close(self) -> None:
        """End the shell and what runs in it; safe to call twice."""
        if self._pty is not None:
            await self._pty.close()

    async def _prompted(self) -> int:
        """Wait for the prompt, or notice that none will come; the command's exit status."""
        assert self._pty is not None
        ended = asyncio.ensure_future(self._pty.ended.wait())
        try:
            await asyncio.wait([self._prompt, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
        if not self._prompt.done():
            said = self.screen.text()[-500:]
            raise SandboxDied(f"the terminal's shell has ended{f': {said}' if said else ''}")
        return self._prompt.result()

    def _give_up(self, prompt: asyncio.Future[int]) -> None:
        """Ctrl-C until the prompt is there: one that comes between bash's prompt and its reading is lost."""
        assert self._pty is not None
        if not prompt.done() and not self._pty.ended.is_set():
            self._answer(b"\x03")
            asyncio.get_running_loop().call_later(INTERRUPT_AGAIN_S, self._give_up, prompt)

    def _answer(self, data: bytes) -> None:
        """What the screen answers a program that asks it something; one that has ended waits for nothing."""
        with suppress(SandboxDied):
            self.type(data)

    def _take(self, data: bytes) -> None:
        self.screen.feed(data)
        data = self._unread + data
        if self._echoing:
            _, shown, data = data.partition(b"\n")
            self._echoing = not shown
            if shown:
                self._output.begin()
        at = 0
        for found in self._marks.finditer(data):
            self._output.add(data[at : found.start()])
            at = found.end()
            self._marked(found[1][:1], found[2])
        rest = data[at:]
        # a mark may be cut in two
        start = rest.rfind(b"\x1b]133;", -MARK_BYTES)
        cut = start if start >= 0 and b"\x07" not in rest[start:] else len(rest) - _cut(rest)
        self._output.add(rest[:cut])
        self._unread = rest[cut:]

    def _marked(self, kind: bytes, code: bytes | None) -> None:
        if kind == b"C":
            self._is_running()
            self._output.begin()
        elif kind == b"D":
            self._is_running()
            self._output.end()
            self._code = int(code or b"0")
            self._at_prompt = False
            self._late = asyncio.get_running_loop().call_later(PROMPT_S, self._is_back)
        elif kind == b"B" and not self._at_prompt:
            self._at_prompt = True
            if self._late is not None:
                self._is_back()
        elif not self._prompt.done() and (kind == b"P" or not self._output.begun):
            # after text with an open quote has been evaluated, bash asks for the rest by its first prompt
            self._output.end()
            self._output.note("the command is not complete")
            self._give_up(self._prompt)

    def _is_running(self) -> None:
        self._running = True
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _is_back(self) -> None:
        self._is_running()
        self._running = False
        if not self._prompt.done():
            self._prompt.set_result(self._code)


class _Output:
    """What a command printed: the beginning and the end of it."""

    def __init__(self) -> None:
        self._head, self._tail = bytearray(), bytearray()
        self._left_out = 0
        self._open = False
        self._note = ""

    @property
    def begun(self) -> bool:
        """What comes now is output."""
        return self._open

    def begin(self) -> None:
        self._open = True

    def end(self) -> None:
        self._open = False

    def note(self, text: str) -> None:
        self._note = text

    def add(self, data: bytes) -> None:
        if not self._open:
            return
        half = OUTPUT_BYTES // 2
        room = half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * half:
            self._left_out += len(self._tail) - half
            del self._tail[: len(self._tail) - half]

    def text(self) -> str:
        half = OUTPUT_BYTES // 2
        left_out = self._left_out + max(0, len(self._tail) - half)
        tail = bytes(self._tail[-half:])
        middle = f"\n[… {left_out} bytes left out …]\n".encode() if left_out else b""
        printed = plain(bytes(self._head) + middle + tail)
        return f"{printed}{self._note}\n" if self._note else printed


def plain(data: bytes) -> str:
    """Terminal output as plain text: no colours, and of a line drawn over again its last state."""
    text = _ESCAPES.sub(b"", data).decode(errors="replace").replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
    return "".join(c for c in "\n".join(lines) if c in "\n\t" or c >= " ")


def _cut(data: bytes) -> int:
    """How many bytes at the end may be the beginning of a mark."""
    mark = b"\x1b]133;"
    return next((n for n in range(len(mark) - 1, 0, -1) if data.endswith(mark[:n])), 0)
