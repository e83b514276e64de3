"""Commands and files of a sandbox, as an agent asks for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from deskhand_sandbox.deadlines import LONGEST_S
from deskhand_sandbox.errors import InvalidAction, SandboxDied
from deskhand_sandbox.terminal.shell import CommandResult, Shell
from deskhand_sandbox.types import EditFile, ReadFile, Run, WriteFile

FILE_BYTES = 1024 * 1024
"""Longest file that is read or written as text."""
LONGEST_PATH = 4096
"""Bytes of a path; Linux takes no longer one."""
_WRITE = 'mkdir -p -- "$(dirname -- "$1")" && cat > "$1"'


class Terminal(ABC):
    """How commands are run, and files reached, is for the kinds to say."""

    file_s: ClassVar[float] = 5.0
    """Longest that reading or writing a file may take."""

    async def perform(self, action: Run | ReadFile | WriteFile | EditFile) -> str:
        """Carry out the action; what it returns to the agent.

        Raises:
            InvalidAction: the shell was ended, or the file cannot be read or written; says why.
            InfrastructureError: the terminal failed.
        """
        match action:
            case Run(command=command, timeout_s=timeout_s):
                _check(command, "command")
                if not 0 < timeout_s <= LONGEST_S:
                    raise InvalidAction(
                        f"a command may take up to {LONGEST_S:g} seconds, not {timeout_s!r:.20}"
                    )
                return _told(await self._run(command, timeout_s), timeout_s)
            case ReadFile(path=path):
                return (await self.get(path, FILE_BYTES)).decode(errors="replace")
            case WriteFile(path=path, content=content):
                return await self._put_text(path, content)
            case EditFile(path=path):
                try:
                    text = (await self.get(path, FILE_BYTES)).decode()
                except UnicodeDecodeError as error:
                    raise InvalidAction(f"{path} is no text: it cannot be edited") from error
                return await self._put_text(path, _edited(text, action))

    async def get(self, path: str, limit_bytes: int, *, limit_s: float | None = None) -> bytes:
        """Content of a file.

        Args:
            limit_s: longest it may take; None: `file_s`.

        Raises:
            InvalidAction: it cannot be read, or is longer than `limit_bytes`.
            InfrastructureError: the terminal failed.
        """
        _check_path(path)
        data = await self._read(path, limit_bytes, limit_s or self.file_s)
        if len(data) > limit_bytes:
            raise InvalidAction(f"{path} is longer than {limit_bytes} bytes: take a part of it by a command")
        return data

    async def put(self, path: str, data: bytes, *, limit_s: float | None = None) -> None:
        """Create or replace a file, and the folders above it.

        Args:
            limit_s: longest it may take; None: `file_s`.

        Raises:
            InvalidAction: it cannot be written; says why.
            InfrastructureError: the terminal failed.
        """
        _check_path(path)
        await self._write(path, data, limit_s or self.file_s)

    # ---- for the kinds

    @abstractmethod
    async def _run(self, command: str, timeout_s: float) -> CommandResult:
        """Run a command line, and stop it when its time is over."""

    @abstractmethod
    async def _read(self, path: str, limit_bytes: int, limit_s: float) -> bytes:
        """A file's content, one byte more than the limit of a longer one."""

    @abstractmethod
    async def _write(self, path: str, data: bytes, limit_s: float) -> None:
        """See `put`."""

    # ---- how

    async def _put_text(self, path: str, content: str) -> str:
        if not _encodable(content):
            raise InvalidAction("the content is no proper Unicode text")
        data = content.encode()
        if len(data) > FILE_BYTES:
            raise InvalidAction(f"{path} would be longer than {FILE_BYTES} bytes")
        await self.put(path, data)
        return f"wrote {len(data)} bytes to {path}"


class ShellTerminal(Terminal):
    """One shell for the agent, on a screen; nothing is started before the first command."""

    def __init__(self) -> None:
        self._shell: Shell | None = None

    def screen(self) -> str | None:
        """The terminal's screen as text; None before the first command."""
        return None if self._shell is None else self._shell.screen.text()

    async def close(self) -> None:
        """End the shell; the next command gets a new one, the files stay."""
        shell, self._shell = self._shell, None
        if shell is not None:
            await shell.close()

    # ---- for the kinds

    @abstractmethod
    async def _open_shell(self) -> Shell:
        """A shell with its prompt.

        Raises:
            InfrastructureError: none starts.
        """

    @property
    def _lost(self) -> bool:
        """Whether the computer has ended, and not only the shell."""
        return False

    # ---- how

    async def _run(self, command: str, timeout_s: float) -> CommandResult:
        if self._shell is None:
            self._shell = await self._open_shell()
        try:
            result = await self._shell.run(command, timeout_s=timeout_s)
        except SandboxDied as error:
            if self._lost:
                raise
            await self.close()  # the agent's own doing (`exit`)
            raise InvalidAction(f"{error}; the next command starts a new one") from error
        if result.exit_code is None and not await self._interrupted(self._shell):
            await self.close()
        return result

    async def _interrupted(self, shell: Shell) -> bool:
        """Whether Ctrl-C stopped the command and the shell is there for the next one."""
        try:
            return await shell.interrupt()
        except SandboxDied:  # the command stood in the shell's place
            return False


class CommandTerminal(ShellTerminal):
    """Programs beside the shell read and write files; where both run is for the kinds to say."""

    @abstractmethod
    async def _execute(
        self, program: Sequence[str], given: bytes, timeout_s: float
    ) -> tuple[int | None, bytes, bytes]:
        """Run a program beside the shell: exit status, output, errors; None where it had to be stopped.

        Raises:
            InfrastructureError: it could not be run.
        """

    async def _read(self, path: str, limit_bytes: int, limit_s: float) -> bytes:
        file = "./-" if path == "-" else path  # "-" is what head reads its input by
        program = ("head", "-c", str(limit_bytes + 1), "--", file)
        return await self._file("read", path, program, b"", limit_s)

    async def _write(self, path: str, data: bytes, limit_s: float) -> None:
        await self._file("written", path, ("sh", "-c", _WRITE, "sh", path), data, limit_s)

    async def _file(
        self, what: str, path: str, program: Sequence[str], given: bytes, limit_s: float
    ) -> bytes:
        """Run a program that reads or writes a file; its output."""
        code, out, err = await self._execute(program, given, limit_s)
        if code is None:  # a pipe that nobody serves
            raise InvalidAction(f"{path} cannot be {what}: it took longer than {limit_s:g} s")
        if code:
            raise InvalidAction(f"{path} cannot be {what}: {_reason(err)}")
        return out


def _check(text: str, what: str) -> None:
    """Refuse what no program can be given.

    Raises:
        InvalidAction: says why.
    """
    if not text.strip():
        raise InvalidAction(f"there is no {what}")
    if "\0" in text or not _encodable(text):
        raise InvalidAction(f"the {what} {text!r:.200} holds characters that none has")


def _check_path(path: str) -> None:
    """
    Raises:
        InvalidAction: no file is called so; says why.
    """
    _check(path, "path")
    if len(path.encode()) > LONGEST_PATH:
        raise InvalidAction(f"the path {path:.40}… is longer than {LONGEST_PATH} bytes")


def _edited(text: str, edit: EditFile) -> str:
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


def _told(result: CommandResult, timeout_s: float) -> str:
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
