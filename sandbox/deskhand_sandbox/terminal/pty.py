"""A program on a pseudo-terminal, read and written without blocking the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ptyprocess import PtyProcess

from deskhand_sandbox.errors import BackendMissing, SandboxDied

READ_BYTES = 65536
KEYS_SEND = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)
END_S = 2.0
"""Between asking a program to end and killing it."""


class Pty:
    """Made by `Pty.start`; use it in the event loop it was made in."""

    def __init__(self, process: PtyProcess, on_data: Callable[[bytes], None]) -> None:
        self._process = process
        self._on_data = on_data
        self._loop = asyncio.get_running_loop()
        self._to_write = bytearray()
        self.ended = asyncio.Event()
        """Set once the program has closed the terminal."""
        os.set_blocking(process.fd, False)
        self._loop.add_reader(process.fd, self._read)
        self._program: int | None = os.pidfd_open(self.pid)
        """Tells of the program's end, which may leave the terminal open: what it left running holds it."""
        self._loop.add_reader(self._program, self._program_ended)
        self._hanging_up: asyncio.Task[None] | None = None

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        columns: int,
        rows: int,
        on_data: Callable[[bytes], None],
    ) -> Pty:
        """Start a program.

        Args:
            command: program and arguments.
            environment: all of it; nothing is inherited.
            folder: it starts in.
            columns, rows: of the terminal.
            on_data: takes what the program writes, as it comes.

        Raises:
            BackendMissing: there is no such program.
        """
        try:
            process = PtyProcess.spawn(
                list(command),
                env=dict(environment),
                cwd=str(folder),
                dimensions=(rows, columns),
                preexec_fn=_heed_signals,
            )
        except FileNotFoundError as error:
            raise BackendMissing(f"the terminal needs {command[0]}, which is not installed") from error
        return cls(process, on_data)

    @property
    def pid(self) -> int:
        """The program's process, the leader of its session."""
        return int(self._process.pid)

    def write(self, data: bytes) -> None:
        """Type bytes; they are taken in as fast as the program reads.

        Raises:
            SandboxDied: the program has ended.
        """
        if self.ended.is_set():
            raise SandboxDied("the terminal's program has ended")
        if not self._to_write:
            self._loop.add_writer(self._process.fd, self._write)
        self._to_write += data

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size and tell the program."""
        if not self.ended.is_set():
            self._process.setwinsize(rows, columns)

    def pause_reading(self) -> None:
        """Take no more of what the program writes, so that it has to wait."""
        if not self.ended.is_set():
            self._loop.remove_reader(self._process.fd)

    def resume_reading(self) -> None:
        """Go on taking what it writes."""
        if not self.ended.is_set():
            self._loop.add_reader(self._process.fd, self._read)

    async def exit_status(self) -> int | None:
        """Of a program that has closed the terminal: what it ended with, or 128 and the number of its signal.

        None: it goes on without a terminal.
        """
        if not await self._ends_within(END_S):
            return None
        signal_number = self._process.signalstatus
        return self._process.exitstatus if signal_number is None else 128 + signal_number

    async def close(self) -> None:
        """End the program and everything in its session; safe to call twice."""
        self._let_go()
        for number in (signal.SIGHUP, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.pid, number)
            if await self._ends_within(END_S):
                break
        self._watch_no_more()
        if self._hanging_up is not None:
            await self._hanging_up
        await self._hang_up()
        with suppress(OSError):
            self._process.fileobj.close()

    async def _ends_within(self, limit_s: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._process.isalive():  # noqa: ASYNC110  nothing tells when it ends
                    await asyncio.sleep(0.005)
                return True
        return False

    def _program_ended(self) -> None:
        self._watch_no_more()
        self._hanging_up = self._loop.create_task(self._hang_up(), name="end a terminal's jobs")

    def _watch_no_more(self) -> None:
        program, self._program = self._program, None
        if program is not None:
            self._loop.remove_reader(program)
            os.close(program)

    async def _hang_up(self) -> None:
        """End what is left in the session."""
        for pid in await asyncio.to_thread(_in_session, self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _read(self) -> None:
        try:
            data = os.read(self._process.fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process has closed its end
            data = b""
        if data:
            self._on_data(data)
        else:
            self._let_go()

    def _write(self) -> None:
        try:
            written = os.write(self._process.fd, self._to_write)
        except BlockingIOError:
            return
        except OSError:
            self._let_go()
            return
        del self._to_write[:written]
        if not self._to_write:
            self._loop.remove_writer(self._process.fd)

    def _let_go(self) -> None:
        if not self.ended.is_set():
            self._loop.remove_reader(self._process.fd)
            self._loop.remove_writer(self._process.fd)
            self.ended.set()


def _heed_signals() -> None:
    """Undo what nohup or a background job had ignored where this process was started: Ctrl-C has to work."""
    for number in KEYS_SEND:
        signal.signal(number, signal.SIG_DFL)


def _in_session(leader: int) -> list[int]:
    """Processes of a session; its number is nobody else's as long as there are any."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session, *_ = place.read_text(errors="replace").rpartition(")")[2].split()
            if int(session) == leader and state not in "ZX":
                found.append(int(place.parent.name))
    return found
