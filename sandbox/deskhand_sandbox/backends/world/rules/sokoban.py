"""Sokoban: push every box onto a goal. Boards are written in XSB, with "-" for the floor.

Rewards are RAGEN's (arXiv 2504.20073) over ten: −.01 a move, ±.1 for a box pushed onto a goal or off it; its
ten for the finish is the outcome's 1.
"""

from __future__ import annotations

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import SOKOBAN, draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

STEP, BOX = -0.01, 0.1
MOST_CELLS = 32 * 32
_WAYS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}


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
        lines = board.splitlines() if isinstance(board, str) else []  # pyright: ignore[reportUnnecessaryIsInstance]
        self._side = len(lines[0]) if lines else 0
        cells = "".join(lines)
        if not cells or any(len(line) != self._side for line in lines) or len(cells) > MOST_CELLS:
            raise InvalidTask(f"a board has lines of one length and at most {MOST_CELLS} cells: {board!r}")
        if unknown := set(cells) - set(SOKOBAN):
            raise InvalidTask(f"a board is written in {''.join(SOKOBAN)}, not in {sorted(unknown)}")
        self._walls = frozenset(i for i, cell in enumerate(cells) if cell == "#")
        self._goals = frozenset(i for i, cell in enumerate(cells) if cell in ".*+")
        self._boxes = frozenset(i for i, cell in enumerate(cells) if cell in "$*")
        players = [i for i, cell in enumerate(cells) if cell in "@+"]
        if len(players) != 1 or not self._boxes or len(self._boxes) != len(self._goals):
            raise InvalidTask("a board has one player, one box or more, and as many goals")
        edge = (lines[0], lines[-1], *(line[0] + line[-1] for line in lines))
        if set("".join(edge)) != {"#"}:
            raise InvalidTask("a board must be walled in")
        self._player = players[0]
        self._cells = len(cells)

    @property
    def done(self) -> bool:
        return self.won

    @property
    def won(self) -> bool:
        return self._boxes == self._goals

    def text(self) -> str:
        cells = [self._cell(i) for i in range(self._cells)]
        lines = ("".join(cells[at : at + self._side]) for at in range(0, self._cells, self._side))
        return "\n".join(lines)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "sokoban")

    def press(self, key: str) -> float:
        if key not in _WAYS or self.done:
            return 0.0
        dx, dy = _WAYS[key]
        after, beyond = self._player + dx + dy * self._side, self._player + 2 * (dx + dy * self._side)
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
