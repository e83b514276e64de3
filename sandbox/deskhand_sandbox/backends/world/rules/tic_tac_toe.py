"""Tic-tac-toe against a player who moves at random; by both sides it is `deskhand_trainer.self_play`."""

from __future__ import annotations

import random

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.boards.tic_tac_toe import (
    SIDES,
    START,
    board_text,
    ended,
    instruction,
    moved,
    places,
    score_of,
    winner,
)
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue


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
        self.instruction = instruction(side)
        self._cells = START
        self._chance = random.Random(f"tic_tac_toe/{seed}")
        if side == "O":
            self._answer()

    @property
    def done(self) -> bool:
        return ended(self._cells)

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
