"""Boards as text, one character a cell; cells are counted line by line from 0."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deskhand_sandbox.errors import InvalidTask

MOST_CELLS = 32 * 32
WAYS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}
"""Key -> columns to the right and lines down."""


def read_board(text: object, what: str) -> tuple[str, int]:
    """Cells of a board and its width.

    Args:
        what: "a board", for the message.

    Raises:
        InvalidTask: its lines are not of one length, or it is too large.
    """
    lines = text.splitlines() if isinstance(text, str) else []
    cells = "".join(lines)
    if not cells or any(len(line) != len(lines[0]) for line in lines) or len(cells) > MOST_CELLS:
        raise InvalidTask(f"{what} has lines of one length and at most {MOST_CELLS} cells: {text!r}")
    return cells, len(lines[0])


def as_lines(cells: Sequence[str], width: int) -> str:
    """Cells as text, the way back from `read_board`."""
    return "\n".join("".join(cells[at : at + width]) for at in range(0, len(cells), width))


def where(cells: Sequence[str], marks: Collection[str]) -> frozenset[int]:
    """Cells that show one of the marks."""
    return frozenset(at for at, cell in enumerate(cells) if cell in marks)
