"""Sokoban: push every box onto a goal. Boards are written in XSB, with "-" for the floor.

Rewards are RAGEN's (arXiv 2504.20073) over ten: −.01 a move, ±.1 for a box pushed onto a goal or off it; its
ten for the finish is the outcome's 1.
"""

from __future__ import annotations

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import SOKOBAN, draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.boards.grid import WAYS, as_lines, read_board, where
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

STEP, BOX = -0.01, 0.1


class Sokoban(World):
    """See `World`; its keys are the four arrows."""

    instruction = "Push every box onto a goal."

    def __init__(self, *, seed: int, board: str) -> None:
        """
        Args:
            board: lines of one length: `#` wall, `-` floor, `.` goal, `$` box, `@` player, `*` box on a goal,
                `+` player on a goal; walled in.

        Raises:
            InvalidTask: it is no such board.
        """
        cells, self._side = read_board(board, "a board")
        if unknown := set(cells) - set(SOKOBAN):
            raise InvalidTask(f"a board is written in {''.join(SOKOBAN)}, not in {sorted(unknown)}")
        self._walls, self._goals = where(cells, "#"), where(cells, ".*+")
        self._boxes, players = where(cells, "$*"), where(cells, "@+")
        if len(players) != 1 or not self._boxes or len(self._boxes) != len(self._goals):
            raise InvalidTask("a board has one player, one box or more, and as many goals")
        side = self._side
        if set(cells[:side] + cells[-side:] + cells[::side] + cells[side - 1 :: side]) != {"#"}:
            raise InvalidTask("a board must be walled in")
        (self._player,) = players
        self._cells = len(cells)

    @property
    def done(self) -> bool:
        return self.won

    @property
    def won(self) -> bool:
        return self._boxes == self._goals

    def text(self) -> str:
        return as_lines([self._cell(at) for at in range(self._cells)], self._side)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "sokoban")

    def press(self, key: str) -> float:
        if key not in WAYS or self.done:
            return 0.0
        dx, dy = WAYS[key]
        step = dx + dy * self._side
        after, beyond = self._player + step, self._player + 2 * step
        if after in self._walls:
            return STEP
        before = len(self._boxes & self._goals)
        if after in self._boxes:
            if beyond in self._walls or beyond in self._boxes:
                return STEP
            self._boxes = self._boxes - {after} | {beyond}
        self._player = after
        return STEP + BOX * (len(self._boxes & self._goals) - before)

    def score(self) -> float:
        return len(self._boxes & self._goals) / len(self._goals)

    def state(self) -> dict[str, JsonValue]:
        return {
            "side": self._side,
            "walls": [*sorted(self._walls)],
            "goals": [*sorted(self._goals)],
            "boxes": [*sorted(self._boxes)],
            "player": self._player,
        }

    def _cell(self, at: int) -> str:
        if at in self._walls:
            return "#"
        goal = at in self._goals
        if at == self._player:
            return "+" if goal else "@"
        if at in self._boxes:
            return "*" if goal else "$"
        return "." if goal else "-"
