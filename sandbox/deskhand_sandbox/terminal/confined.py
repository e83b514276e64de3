"""The terminal of a sandbox whose programs run on this machine: commands and files in a confinement."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deskhand_sandbox.errors import InvalidAction, SandboxDied, SandboxTimeout
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.terminal.shell import CommandResult, Shell
from deskhand_sandbox.types import EditFile, ReadFile, Run, WriteFile

FILE_BYTES = 1024 * 1024
"""Longest file that is read or written as text."""
FILE_S = 5.0
LONGEST_S = 3600.0
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


class ConfinedTerminal:
    """Nothing is started before the first command; `reset` leaves no file and no process of before."""

    def __init__(self, confinement: Confinement | None = None) -> None:
        """
        Args:
            confinement: of somebody else, who removes it; None: one of its own.
        """
        self._given = confinement
        self._confinement = confinement
        self._shell: Shell | None = None

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        """Carry out the action; what it returns to the agent.

        Raises:
            InvalidAction: the shell was ended, or the file cannot be read or written; says why.
            InfrastructureError: the terminal failed.
        """
        text = action.command if isinstance(action, Run) else action.path
        if "\0" in text or not _encodable(text):
            raise InvalidAction(f"{text!r} holds characters no command line takes")
        match action:
            case Run(command=command, timeout_s=timeout_s):
                if not 0 < timeout_s <= LONGEST_S:
                    raise InvalidAction(f"a command may take up to {LONGEST_S:g} seconds, not {timeout_s:g}")
                return told(await self._run(command, timeout_s), timeout_s)
            case ReadFile(path=path):
                return await self._read(path)
            case WriteFile(path=path, content=content):
                return await self._write(path, content)
            case EditFile(path=path):
                return await self._write(path, edited(await self._read(path, exactly=True), action))

    def screen(self) -> str | None:
        """The terminal's screen as text; None before the first command."""
        return None if self._shell is None else self._shell.screen.text()

    async def reset(self) -> None:
        """End what runs, and take away what was written."""
        await self._drop_shell()
        confinement, self._confinement = self._confinement, self._given
        if confinement is not None and confinement is not self._given:
            await asyncio.to_thread(confinement.remove)

    async def _run(self, command: str, timeout_s: float) -> CommandResult:
        if self._shell is None:
            inside = self._place()
            self._shell = await Shell.start(
                environment=inside.environment, folder=inside.folder, within=inside.command()
            )
        try:
            result = await self._shell.run(command, timeout_s=timeout_s)
        except SandboxDied as error:
            # the agent's own doing (`exit`)
            await self._drop_shell()
            raise InvalidAction(f"{error}; the next command starts a new one") from error
        if result.exit_code is None and not await self._interrupted(self._shell):
            await self._drop_shell()
        return result

    async def _interrupted(self, shell: Shell) -> bool:
        """Whether Ctrl-C stopped the command and the shell is there for the next one."""
        try:
            return await shell.interrupt()
        except SandboxDied:  # the command stood in the shell's place
            return False

    async def _drop_shell(self) -> None:
        """The next command gets a new shell; the files stay."""
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()

    def _place(self) -> Confinement:
        if self._confinement is None:
            confinement = Confinement(Path(tempfile.mkdtemp(prefix="deskhand-terminal-")))
            confinement.prepare()
            self._confinement = confinement
        return self._confinement

    async def _read(self, path: str, *, exactly: bool = False) -> str:
        program = ("head", "-c", str(FILE_BYTES + 1), "--", path)
        out = await self._file("read", path, program)
        if len(out) > FILE_BYTES:
            raise InvalidAction(f"{path} is longer than {FILE_BYTES} bytes: read a part of it by a command")
        try:
            return out.decode(errors="strict" if exactly else "replace")
        except UnicodeDecodeError as error:
            raise InvalidAction(f"{path} is no text: it cannot be edited") from error

    async def _write(self, path: str, content: str) -> str:
        if not _encodable(content):
            raise InvalidAction("the content is no proper Unicode text")
        data = content.encode()
        if len(data) > FILE_BYTES:
            raise InvalidAction(f"{path} would be longer than {FILE_BYTES} bytes")
        program = ("sh", "-c", _WRITE, "sh", path)
        await self._file("written", path, program, given=data)
        return f"wrote {len(data)} bytes to {path}"

    async def _file(self, what: str, path: str, program: Sequence[str], *, given: bytes = b"") -> bytes:
        """Run a program that reads or writes a file; its output."""
        try:
            code, out, err = await self._place().run(program, given=given, timeout_s=FILE_S)
        except SandboxTimeout as error:  # a pipe that nobody serves
            raise InvalidAction(f"{path} cannot be {what}: it took longer than {FILE_S:g} s") from error
        if code:
            raise InvalidAction(f"{path} cannot be {what}: {_reason(err)}")
        return out


def edited(text: str, edit: EditFile) -> str:
    """The text of a file after an edit.

    Raises:
        InvalidAction: it does not hold the passage exactly once.
    """
    found = text.count(edit.old) if edit.old else 0
    if found != 1:
        holds = (
            "an empty passage is no passage" if not edit.old else f"it holds {edit.old!r:.80} {found} times"
        )
        raise InvalidAction(f"{edit.path} cannot be edited: {holds}; name a passage that it holds once")
    return text.replace(edit.old, edit.new)


def told(result: CommandResult, timeout_s: float) -> str:
    """A command's result as the agent reads it."""
    output = result.output.rstrip("\n")
    if result.exit_code is None:
        note = f"[stopped: still running after {timeout_s:g} s]"
    elif result.exit_code:
        note = f"[exit status {result.exit_code}]"
    else:
        return output
    return f"{output}\n{note}" if output else note


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(said: bytes) -> str:
    """The last line a program complained with, without its own name."""
    lines = said.decode(errors="replace").strip().splitlines() or ["no reason given"]
    return lines[-1].rpartition(": ")[2]
