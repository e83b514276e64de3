"""Frozen lake: walk to the flag without falling into a hole; on slippery ice a step goes astray.

The rules are Gymnasium's FrozenLake-v1: where it is slippery, a step goes the way that was meant or to either
side of it, a third of the time each; off the edge nobody goes.
"""

from __future__ import annotations

import random

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

WAYS = {"ArrowLeft": (-1, 0), "ArrowDown": (0, 1), "ArrowRight": (1, 0), "ArrowUp": (0, -1)}
"""In Gymnasium's order: the neighbours of a way in this circle are its sides."""
MOST_CELLS = 32 * 32


class FrozenLake(World):
    """See `World`; its keys are the four arrows."""

    instruction = "Walk to the flag. Do not fall into a hole."

    def __init__(self, *, seed: int, ice: str, slippery: bool = True) -> None:
        """
        Args:
            ice: lines of one length: `@` where the walk begins, `-` ice, `O` hole, `G` the flag.

        Raises:
            InvalidTask: it is no such lake.
        """
        lines = ice.splitlines() if isinstance(ice, str) else []  # pyright: ignore[reportUnnecessaryIsInstance]
        cells = "".join(lines)
        if not cells or any(len(line) != len(lines[0]) for line in lines) or len(cells) > MOST_CELLS:
            raise InvalidTask(f"a lake has lines of one length and at most {MOST_CELLS} cells: {ice!r}")
        if set(cells) - set("@-OG") or cells.count("@") != 1 or "G" not in cells:
            raise InvalidTask(f"a lake has one @, a G, and else - and O: {ice!r}")
        self._width, self._height = len(lines[0]), len(lines)
        self._cells = cells.replace("@", "-")
        self._at = cells.index("@")
        self._slippery = bool(slippery)
        self._chance = random.Random(f"frozen_lake/{seed}")

    @property
    def done(self) -> bool:
        return self._cells[self._at] != "-"

    @property
    def won(self) -> bool:
        return self._cells[self._at] == "G"

    def text(self) -> str:
        shown = list(self._cells)
        shown[self._at] = {"-": "@", "O": "X", "G": "!"}[shown[self._at]]
        lines = ("".join(shown[at : at + self._width]) for at in range(0, len(shown), self._width))
        return "\n".join(lines)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "lake")

    def press(self, key: str) -> float:
        if key not in WAYS or self.done:
            return 0.0
        names = list(WAYS)
        turn = self._chance.choice((-1, 0, 1)) if self._slippery else 0
        dx, dy = WAYS[names[(names.index(key) + turn) % len(names)]]
        x, y = self._at % self._width + dx, self._at // self._width + dy
        self._at = min(max(x, 0), self._width - 1) + min(max(y, 0), self._height - 1) * self._width
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"ice": self._cells, "width": self._width, "at": self._at, "slippery": self._slippery}
