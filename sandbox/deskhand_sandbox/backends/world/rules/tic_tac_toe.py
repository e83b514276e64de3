"""Tic-tac-toe, against a player who moves at random, or by both sides (`deskhand_trainer.self_play`)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

SIDES = "XO"
EMPTY = "-"
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


class TicTacToe(World):
    """See `World`; its keys are the digits of the places, line by line from 1. Not to lose is to win."""

    def __init__(self, *, seed: int, side: str = "X") -> None:
        """
        Args:
            side: whose moves the keys are; "X" begins. The other side moves at random.

        Raises:
            InvalidTask: no such side.
        """
        if side not in SIDES or len(side) != 1:
            raise InvalidTask(f"side must be X or O, not {side!r}")
        self.side = side
        self.instruction = f"You are {side}. Do not lose at tic-tac-toe."
        self._cells = EMPTY * 9
        self._chance = random.Random(f"tic_tac_toe/{seed}")
        if side == "O":
            self._answer()

    @property
    def done(self) -> bool:
        return winner(self._cells) is not None or EMPTY not in self._cells

    @property
    def won(self) -> bool:
        return self.done and winner(self._cells) in (None, self.side)

    def score(self) -> float:
        return score_of(self._cells, self.side)

    def text(self) -> str:
        return board_text(self._cells)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "marks")

    def press(self, key: str) -> float:
        if self.done or key not in places(self._cells):
            return 0.0
        self._cells = moved(self._cells, key)
        if not self.done:
            self._answer()
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"cells": self._cells, "side": self.side}

    def _answer(self) -> None:
        self._cells = moved(self._cells, self._chance.choice(places(self._cells)))


def board_text(cells: str) -> str:
    """Three lines of three."""
    return "\n".join(cells[at : at + 3] for at in range(0, 9, 3))


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
