"""What a person would see of a terminal, from the bytes its program wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unicodedata import east_asian_width

import pyte

BACKLOG_BYTES = 512 * 1024
"""What waits to be drawn at most. Drawing runs at about 1 MB/s, and most output is never looked at."""


_QUESTION = re.compile(rb"\x1b\[[?>=]?[0-9;]*[nc]")
"""Where is the cursor, what are you."""
_QUESTION_BYTES = 16


class TerminalScreen:
    """Bytes in, lines out; they are drawn when somebody looks."""

    def __init__(
        self, *, columns: int = 80, rows: int = 24, reply: Callable[[bytes], None] | None = None
    ) -> None:
        """
        Args:
            columns, rows: its size in characters.
            reply: takes what the terminal answers a program that asks where the cursor is or what it is.
        """
        self._screen = _Screen(columns, rows, reply)
        self._stream = _Stream(self._screen)
        self._waiting = bytearray()

    @property
    def columns(self) -> int:
        """Width in characters."""
        return self._screen.columns

    @property
    def rows(self) -> int:
        """Height in characters."""
        return self._screen.lines

    def feed(self, data: bytes) -> None:
        """Take bytes; of more than the backlog holds, the oldest lines are never drawn."""
        self._waiting += data
        if len(self._waiting) > BACKLOG_BYTES:
            del self._waiting[: len(self._waiting) - BACKLOG_BYTES // 2]
            # an escape sequence may be cut in two: go on at the next line
            del self._waiting[: self._waiting.find(b"\n") + 1]
        elif _QUESTION.search(self._waiting, max(0, len(self._waiting) - len(data) - _QUESTION_BYTES)):
            self._draw()  # somebody waits for the answer

    def resize(self, columns: int, rows: int) -> None:
        """Change the size; what was drawn stays as far as it fits."""
        self._draw()
        self._screen.resize(rows, columns)

    def lines(self) -> list[str]:
        """The rows from top to bottom, without blanks at their ends."""
        self._draw()
        columns = range(self._screen.columns)
        rows = (self._screen.buffer[row] for row in range(self._screen.lines))
        return [_text([row[column].data for column in columns]).rstrip() for row in rows]

    def text(self) -> str:
        """The rows as one text, without empty ones at its end."""
        return "\n".join(self.lines()).rstrip("\n")

    @property
    def cursor(self) -> tuple[int, int]:
        """Column and row of the cursor, from 0."""
        self._draw()
        return self._screen.cursor.x, self._screen.cursor.y

    def _draw(self) -> None:
        data, self._waiting = bytes(self._waiting), bytearray()
        self._stream.feed(data)


class _Stream(pyte.ByteStream):
    """pyte's, but leaves out a sequence its screen cannot take: private forms, surplus or odd parameters."""

    def _send_to_parser(self, data: str) -> bool | None:
        try:
            return super()._send_to_parser(data)
        except (TypeError, ValueError, LookupError, UnboundLocalError):
            return True  # plain text may follow


class _Screen(pyte.Screen):
    """pyte's, which answers by `reply`."""

    def __init__(self, columns: int, rows: int, reply: Callable[[bytes], None] | None) -> None:
        self._reply = reply
        super().__init__(columns, rows)

    def report_device_attributes(self, mode: int = 0, **kwargs: Any) -> None:
        if not kwargs.get("private"):
            super().report_device_attributes(mode)

    def write_process_input(self, data: str) -> None:
        if self._reply is not None:
            self._reply(data.encode())


def _text(cells: list[str]) -> str:
    """A row as text; what is left of a wide character whose first half was written over is a blank.

    pyte keeps the second half as an empty cell, and its own `display` fails on such a rest.
    """
    halves = zip(["", *cells], cells, strict=False)
    return "".join(half or ("" if _is_wide(before) else " ") for before, half in halves)


def _is_wide(cell: str) -> bool:
    return east_asian_width(cell[0]) in "WF" if cell else False
