"""Frozen lake: walk to the flag without falling into a hole; on slippery ice a step goes astray.

Where a step leads is said in `deskhand_sandbox.boards.frozen_lake`.
"""

from __future__ import annotations

import random

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.boards.frozen_lake import CIRCLE, may_go, stepped
from deskhand_sandbox.boards.grid import as_lines, read_board
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue


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
        cells, self._width = read_board(ice, "a lake")
        if set(cells) - set("@-OG") or cells.count("@") != 1 or "G" not in cells:
            raise InvalidTask(f"a lake has one @, a G, and else - and O: {ice!r}")
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
        return as_lines(shown, self._width)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "lake")

    def press(self, key: str) -> float:
        if key in CIRCLE and not self.done:
            way = self._chance.choice(may_go(key, slippery=self._slippery))
            self._at = stepped(self._at, way, self._cells, self._width)
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"ice": self._cells, "width": self._width, "at": self._at, "slippery": self._slippery}
