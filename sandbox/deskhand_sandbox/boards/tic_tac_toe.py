"""Tic-tac-toe: nine cells as text, line by line; a key is the digit of a cell, from 1."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from deskhand_sandbox.boards.grid import as_lines

SIDES = "XO"
EMPTY = "-"
START = EMPTY * 9
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def instruction(side: str) -> str:
    """What whoever plays a side is told."""
    return f"You are {side}. Do not lose at tic-tac-toe."


def board_text(cells: str) -> str:
    """Three lines of three."""
    return as_lines(cells, 3)


def places(cells: str) -> Sequence[str]:
    """Keys of the places that are free."""
    return [str(1 + at) for at, cell in enumerate(cells) if cell == EMPTY]


def to_move(cells: str) -> str:
    """Whose turn it is."""
    return SIDES[(9 - cells.count(EMPTY)) % 2]


def moved(cells: str, key: str) -> str:
    """After the side whose turn it is has taken a free place."""
    at = int(key) - 1
    return cells[:at] + to_move(cells) + cells[at + 1 :]


def ended(cells: str) -> bool:
    """Nobody can move any more."""
    return winner(cells) is not None or EMPTY not in cells


def winner(cells: str) -> str | None:
    """The side that has three in a row; None where nobody has."""
    return next(
        (cells[a] for a, b, c in LINES if cells[a] != EMPTY and cells[a] == cells[b] == cells[c]), None
    )


def score_of(cells: str, side: str) -> float:
    """1 for a side that has won, ½ for a draw, 0 before the end and for one that has lost."""
    by = winner(cells)
    if by is not None:
        return float(by == side)
    return 0.0 if EMPTY in cells else 0.5


@lru_cache(maxsize=8192)
def best_key(cells: str) -> str:
    """A move after which the side whose turn it is comes off best, the other at its best too."""
    return max(places(cells), key=lambda key: -_worth(moved(cells, key)))


@lru_cache(maxsize=8192)
def _worth(cells: str) -> int:
    """1, 0 or −1 for the side whose turn it is."""
    if winner(cells) is not None:
        return -1
    if EMPTY not in cells:
        return 0
    return max(-_worth(moved(cells, key)) for key in places(cells))
