"""A chain: places in a row, the prize at its end. Its values have a closed form, so it tests critics."""

from __future__ import annotations

import random

from PIL import Image as Picture

from deskhand_sandbox.backends.world.rules.tiles import draw_board
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

MOST_PLACES = 32


class Chain(World):
    """See `World`; its keys are the arrows left and right."""

    instruction = "Walk right to the flag."

    def __init__(self, *, seed: int, places: int = 6, slip: float = 0.0) -> None:
        """
        Args:
            places: the last one has the flag.
            slip: chance that a step goes the other way.

        Raises:
            InvalidTask: no such chain.
        """
        if not isinstance(places, int) or not 2 <= places <= MOST_PLACES or not 0 <= slip < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTask(f"a chain has 2 to {MOST_PLACES} places and slips in 0 to below 1 of the steps")
        self._places, self._slip, self._at = places, slip, 0
        self._chance = random.Random(f"chain/{seed}")

    @property
    def done(self) -> bool:
        return self.won

    @property
    def won(self) -> bool:
        return self._at == self._places - 1

    def text(self) -> str:
        shown = ["-"] * (self._places - 1) + ["G"]
        shown[self._at] = "!" if self.won else "@"
        return "".join(shown)

    def draw(self) -> Picture.Image:
        return draw_board(self.text(), "lake")

    def press(self, key: str) -> float:
        if key in ("ArrowLeft", "ArrowRight") and not self.done:
            right = (key == "ArrowRight") != (self._chance.random() < self._slip)
            self._at = max(0, self._at + (1 if right else -1))
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"at": self._at, "places": self._places, "slip": self._slip}
