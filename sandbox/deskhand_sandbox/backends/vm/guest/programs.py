"""What runs inside the guest, as its user: to its end, on a pseudo-terminal, or talked to by pipes."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

USER = 1000
HOME = "/home/agent"
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "USER": "agent",
    "LOGNAME": "agent",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "PAGER": "cat",
    "DISPLAY": ":0",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
    "GSETTINGS_BACKEND": "memory",
}
OUTPUT_BYTES = 8 * 1024 * 1024
"""Of what a command prints, at most this much is kept."""
PIECE_BYTES = 64 * 1024
LAST_OUTPUT_S = 0.3
"""How long output is waited for after a command has ended: what it left running may hold the pipe."""
WORDS_BYTES = 4096
"""Of what a program complains of, the end is kept."""
QUIET_S = 10.0
"""How long a program that prints nothing is listened to at a time."""
LEAVE_S = 1.0
"""How long it may take to end once its input has."""


def start(
    command: list[str],
    environment: dict[str, str] | None = None,
    *,
    stdin: int,
    stdout: int,
    stderr: int,
    bufsize: int = -1,
    start_new_session: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a program in the home."""
    return subprocess.Popen(
        command,
        bufsize,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env={**ENVIRONMENT, **(environment or {})},
        cwd=HOME,
        user=USER,
        group=USER,
        extra_groups=[],
        start_new_session=start_new_session,
    )


def run(program: list[str], given: bytes, timeout_s: float) -> tuple[int | None, bytes, bytes]:
    """Run a program to its end: exit status, output, errors; None where it had to be stopped."""
    pipe = subprocess.PIPE
    process = start(program, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
    assert process.stdin and process.stdout and process.stderr
    first = slice(OUTPUT_BYTES, None)
    out, err = Reader(process.stdout, first), Reader(process.stderr, first)
    threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
    code: int | None
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return code, out.read(LAST_OUTPUT_S), err.read(LAST_OUTPUT_S)


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(
        self, command: list[str], environment: dict[str, str], on_data: Callable[[bytes | None], None]
    ) -> None:
        """
        Args:
            on_data: takes what it prints, from a thread; None once it has ended.
        """
        self._on_data = on_data
        self._main, side = os.openpty()
        program = ["setsid", "--ctty", *command]
        self._process = start(program, environment, stdin=side, stdout=side, stderr=side)
        os.close(side)
        threading.Thread(target=self._read, daemon=True).start()

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._main, data) :]

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self) -> None:
        """End everything of its session."""
        _end_session(self._process)

    def _read(self) -> None:
        while True:
            try:
                self._on_data(os.read(self._main, PIECE_BYTES))
            except OSError:  # the last process has closed its end
                break
        self._on_data(None)


class Program:
    """A program on pipes. What it prints waits there until somebody reads."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        # by way of another program: one that is not there is complained of in words, as by any that fails
        self._process = start(
            ["setsid", *command], environment, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in, self._out = self._process.stdin, self._process.stdout
        self._words = Reader(self._process.stderr, slice(None, -WORDS_BYTES))
        self._ended = os.pidfd_open(self._process.pid)
        self._writing, self._reading = threading.Lock(), threading.Lock()

    def read(self) -> bytes | None:
        """What it prints next; nothing where it prints nothing for a while, None once there will be no more.

        Once it has ended, what it left running is not listened to, though that may hold the pipe.
        """
        with self._reading:
            if self._out.closed:
                return None
            ready, _, _ = select.select([self._out, self._ended], [], [], QUIET_S)
            if self._out in ready:
                return os.read(self._out.fileno(), PIECE_BYTES) or None
            return None if ready else b""

    def write(self, data: bytes) -> None:
        """Give it input, at the pace it reads it; what one that has ended is given goes nowhere."""
        with self._writing, suppress(OSError, ValueError):  # ValueError: it was closed meanwhile
            while data:
                data = data[self._in.write(data) or 0 :]

    def words(self) -> bytes:
        """The end of what it complained of."""
        return self._words.read(LEAVE_S)

    def leave(self) -> None:
        """Give it time to end once its input has, then end it."""
        self._end_input(0)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LEAVE_S)
        self.close()

    def close(self) -> None:
        """End it, and everything of its session."""
        _end_session(self._process)
        self._end_input(LEAVE_S)
        with self._reading:
            if not self._out.closed:
                self._out.close()
                os.close(self._ended)

    def _end_input(self, wait_s: float) -> None:
        """Unless somebody is at it for longer."""
        if self._writing.acquire(timeout=wait_s):
            self._in.close()
            self._writing.release()


class Reader:
    """Reads a pipe to its end, in a thread, and keeps part of it."""

    def __init__(self, pipe: IO[bytes], forgotten: slice) -> None:
        """
        Args:
            forgotten: what of it is not kept.
        """
        self._pipe, self._kept, self._forgotten = pipe, bytearray(), forgotten
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def read(self, timeout_s: float) -> bytes:
        """What is kept, at the end of the pipe or after so long."""
        self._thread.join(timeout_s)
        return bytes(self._kept)

    def _read(self) -> None:
        with self._pipe:
            while data := os.read(self._pipe.fileno(), PIECE_BYTES):
                self._kept += data
                del self._kept[self._forgotten]


def _feed(pipe: IO[bytes], data: bytes) -> None:
    with suppress(OSError):  # it has read enough
        pipe.write(data)
        pipe.close()


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End all that runs in a program's session, and the program, which may not have come to have one."""
    process.kill()
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = each.read_text().rpartition(")")[2].split()
            if int(fields[3]) == process.pid:
                os.kill(int(each.parent.name), signal.SIGKILL)
    process.wait()
