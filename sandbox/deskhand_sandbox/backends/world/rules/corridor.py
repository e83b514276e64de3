"""A corridor of rooms, digits on the walls of some, a door at its end: who forgets them does not get out."""

from __future__ import annotations

import random

from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_sandbox.backends.world.rules.tiles import TILE_PX
from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue

MOST_ROOMS = 1000


class Corridor(World):
    """See `World`; its keys are the arrow right, with no way back, and at the door the digits."""

    instruction = (
        "Walk right through all rooms. At the door type the digits that were on the walls, in their order."
    )

    def __init__(self, *, seed: int, rooms: int = 96, digits: int = 4) -> None:
        """
        Args:
            rooms: before the door.
            digits: rooms that have one.

        Raises:
            InvalidTask: no such corridor.
        """
        whole = isinstance(rooms, int) and isinstance(digits, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        if not whole or not 1 <= digits <= rooms <= MOST_ROOMS:
            raise InvalidTask(f"a corridor has 1 to {MOST_ROOMS} rooms, and 1 digit to as many as rooms")
        draw = random.Random(f"corridor/{seed}")
        self._rooms, self._at, self._typed = rooms, 1, ""
        marked = sorted(draw.sample(range(1, rooms + 1), digits))
        self._walls = {room: str(draw.randrange(10)) for room in marked}

    @property
    def done(self) -> bool:
        return len(self._typed) == len(self._walls)

    @property
    def won(self) -> bool:
        return self._typed == self._code

    def score(self) -> float:
        return sum(map(str.__eq__, self._typed, self._code)) / len(self._code)

    def text(self) -> str:
        if self._at > self._rooms:
            return f"door: {self._typed:_<{len(self._walls)}}"
        here = f"room {self._at} of {self._rooms}"
        return f"{here}\non the wall: {self._walls[self._at]}" if self._at in self._walls else here

    def draw(self) -> Picture.Image:
        picture = Picture.new("RGB", (10 * TILE_PX, 4 * TILE_PX), "white")
        ImageDraw.Draw(picture).multiline_text((TILE_PX, TILE_PX), self.text(), fill="black")
        return picture

    def press(self, key: str) -> float:
        if self._at <= self._rooms:
            self._at += key == "ArrowRight"
        elif not self.done and key in tuple("0123456789"):
            self._typed += key
        return 0.0

    def state(self) -> dict[str, JsonValue]:
        return {"room": self._at, "rooms": self._rooms, "code": self._code, "typed": self._typed}

    @property
    def _code(self) -> str:
        return "".join(self._walls.values())
