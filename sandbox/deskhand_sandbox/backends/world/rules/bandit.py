"""A bandit: arms that pay with chances of their own; one pull ends it."""

from __future__ import annotations

import random
from collections.abc import Sequence

from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_sandbox.backends.world.rules.tiles import TILE_PX
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

MOST_ARMS = 9


class Bandit(World):
    """See `World`; its keys are the digits of the arms, from 1."""

    instruction = "Pull the arm that pays."

    def __init__(self, *, seed: int, chances: Sequence[float]) -> None:
        """
        Args:
            chances: of each arm, how often it pays.

        Raises:
            InvalidTask: no such arms.
        """
        if not isinstance(chances, list | tuple) or not 1 <= len(chances) <= MOST_ARMS:
            raise InvalidTask(f"a bandit has 1 to {MOST_ARMS} arms, each with a chance")
        if not all(isinstance(p, int | float) and 0 <= p <= 1 for p in chances):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTask(f"chances lie between 0 and 1: {list(chances)}")
        self._chances = tuple(float(p) for p in chances)
        self._pulled: int | None = None
        self._paid = False
        self._chance = random.Random(f"bandit/{seed}")

    @property
    def done(self) -> bool:
        return self._pulled is not None

    @property
    def won(self) -> bool:
        return self._paid

    def text(self) -> str:
        arms = " ".join(str(arm) for arm in range(1, len(self._chances) + 1))
        return (
            arms if self._pulled is None else f"{arms}\n{self._pulled}: {'paid' if self._paid else 'nothing'}"
        )

    def draw(self) -> Picture.Image:
        picture = Picture.new("RGB", (2 * TILE_PX * len(self._chances), 2 * TILE_PX), "white")
        pen = ImageDraw.Draw(picture)
        for arm in range(1, len(self._chances) + 1):
            left = 2 * TILE_PX * (arm - 1)
            colour = "#d5d8dc" if arm != self._pulled else "#58b368" if self._paid else "#c0392b"
            pen.rectangle((left + 3, 3, left + 28, 28), fill=colour, outline="black")
            pen.text((left + 16, 16), str(arm), fill="black", anchor="mm")
        return picture

    def press(self, key: str) -> float:
        if self._pulled is None and key in [str(arm) for arm in range(1, len(self._chances) + 1)]:
            self._pulled = int(key)
            self._paid = self._chance.random() < self._chances[self._pulled - 1]
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"chances": list(self._chances), "pulled": self._pulled}
