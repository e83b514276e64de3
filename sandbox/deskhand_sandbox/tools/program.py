"""Programs inside a sandbox that somebody talks to by their standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from deskhand_sandbox.isolation import Confinement

LINE_BYTES = 16 * 1024 * 1024
"""Longest line a program may print; a longer one ends the talk."""
WORDS_BYTES = 4096
"""Of what it complains of, the end is kept."""
LEAVE_S = 1.0
"""How long it may take to end once its input has."""


class Program(Protocol):
    """A program that was started, its lines in and out."""

    async def read_line(self) -> bytes:
        """The next line it prints; empty once there will be none."""
        ...

    async def write(self, data: bytes) -> None:
        """Give it some input; what a program that has ended is given goes nowhere."""
        ...

    async def last_words(self) -> str:
        """The last line it complained with; empty where it said nothing."""
        ...

    async def close(self) -> None:
        """End it. Safe to call twice."""
        ...


@runtime_checkable
class RunsPrograms(Protocol):
    """A sandbox inside which such programs can be started."""

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> Program:
        """Start a program in the home, beside whatever else runs inside; it ends with the task at the latest.

        Args:
            environment: variables it finds besides the usual.

        Raises:
            UnsupportedCapability: this one cannot, as it is set up.
            InfrastructureError: the computer failed.
        """
        ...


class Lines:
    """Lines out of output that comes in any pieces."""

    def __init__(self, read: Callable[[], Awaitable[bytes]]) -> None:
        """
        Args:
            read: the next piece; empty once there will be none. Given up, it loses nothing.
        """
        self._read = read
        self._kept = bytearray()

    async def next(self) -> bytes:
        """The next line, or what came last without an end; empty after it, and where one is too long."""
        seen = 0
        while (at := self._kept.find(b"\n", seen)) < 0:
            seen = len(self._kept)
            if seen > LINE_BYTES:
                return b""
            piece = await self._read()
            self._kept += piece
            if not piece:
                at = seen
                break
        line = bytes(self._kept[: at + 1])
        del self._kept[: at + 1]
        return line


def last_line(words: bytes) -> str:
    """The last line of what a program complained of; empty where there is none."""
    lines = words.decode(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


class ConfinedProgram:
    """A program in a confinement. Made by `start`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._words = bytearray()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(
        cls, confinement: Confinement, program: Sequence[str], environment: Mapping[str, str]
    ) -> ConfinedProgram:
        """See `RunsPrograms.start_program`."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *confinement.command(*program),
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            env={**confinement.environment, **environment},
            limit=LINE_BYTES,
            start_new_session=True,
        )
        return cls(process)

    async def read_line(self) -> bytes:
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.readline()
        except (ValueError, ConnectionError):  # ValueError: longer than the limit
            return b""

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    async def last_words(self) -> str:
        await asyncio.wait([self._listening], timeout=LEAVE_S)
        return last_line(bytes(self._words))

    async def close(self) -> None:
        process = self._process
        assert process.stdin is not None
        process.stdin.close()
        ended = asyncio.ensure_future(process.wait())
        await asyncio.wait([ended], timeout=LEAVE_S)
        # what it has started is of its session too, and may outlive it
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.wait([ended, self._listening], timeout=LEAVE_S)
        # what left the session holds the pipes, and dies with the sandbox
        process._transport.close()  # type: ignore[attr-defined]  # pyright: ignore  there is no public way
        await asyncio.wait([ended, self._listening])

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while data := await self._process.stderr.read(WORDS_BYTES):
            self._words += data
            del self._words[:-WORDS_BYTES]
