"""A program of the device being run: its words, what it reads, where it writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One run of a program."""

    words: tuple[str, ...]
    """Its name and its arguments."""
    read: Callable[[], Awaitable[bytes]]
    """The next bytes of its standard input; empty at the end."""
    write: Callable[[bytes], Awaitable[None]]
    """To standard output."""
    write_error: Callable[[bytes], Awaitable[None]]
    """To standard error."""

    async def say(self, text: str) -> None:
        """Write a line."""
        await self.write(f"{text}\n".encode())

    async def complain(self, text: str) -> int:
        """Write a line to standard error; the exit status of a program that failed."""
        await self.write_error(f"{text}\n".encode())
        return 1


class UsageError(Exception):
    """A program's words are wrong; says how."""


Program = Callable[[Call], Awaitable[int]]
"""Runs to its end; its exit status.

Raises:
    UsageError: as the name says; whoever runs it complains of it.
"""
