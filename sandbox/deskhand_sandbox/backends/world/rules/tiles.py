"""Pictures of boards: one tile of 16 pixels for each character."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from PIL import Image as Picture
from PIL import ImageDraw

TILE_PX = 16
"""One token of a tiny model's picture."""

_Pen = ImageDraw.ImageDraw
_Box = tuple[int, int, int, int]


def _plain(colour: str) -> Callable[[_Pen, _Box], None]:
    return lambda pen, box: pen.rectangle(box, fill=colour)


def _ring(pen: _Pen, box: _Box) -> None:
    left, top, right, bottom = box
    pen.ellipse((left + 3, top + 3, right - 3, bottom - 3), outline="#c0392b", width=2)


def _person(pen: _Pen, box: _Box) -> None:
    left, top, right, bottom = box
    pen.ellipse((left + 5, top + 1, right - 5, top + 6), fill="#1f4e9c")
    pen.polygon([(left + 2, bottom - 1), (right - 2, bottom - 1), (left + 8, top + 6)], fill="#1f4e9c")


def _crate(colour: str) -> Callable[[_Pen, _Box], None]:
    def drawn(pen: _Pen, box: _Box) -> None:
        left, top, right, bottom = box
        pen.rectangle((left + 1, top + 1, right - 1, bottom - 1), fill=colour, outline="#4a2c0a")
        pen.line((left + 2, top + 2, right - 2, bottom - 2), fill="#4a2c0a")
        pen.line((left + 2, bottom - 2, right - 2, top + 2), fill="#4a2c0a")

    return drawn


def _bricks(pen: _Pen, box: _Box) -> None:
    left, top, right, bottom = box
    pen.rectangle(box, fill="#5d6d7e")
    pen.line((left, top + 8, right, top + 8), fill="#34495e")
    pen.line((left + 8, top, left + 8, top + 8), fill="#34495e")
    pen.line((left + 4, top + 8, left + 4, bottom), fill="#34495e")


def _hole(pen: _Pen, box: _Box) -> None:
    left, top, right, bottom = box
    pen.ellipse((left + 2, top + 2, right - 2, bottom - 2), fill="#1b2631")


def _flag(pen: _Pen, box: _Box) -> None:
    left, top, _, bottom = box
    pen.line((left + 4, top + 2, left + 4, bottom - 1), fill="#4a2c0a")
    pen.polygon([(left + 5, top + 2), (left + 13, top + 5), (left + 5, top + 9)], fill="#27ae60")


_FLOOR, _ICE = _plain("#f4f1ea"), _plain("#d6eaf8")

SOKOBAN: Mapping[str, Sequence[Callable[[_Pen, _Box], None]]] = {
    "#": (_bricks,),
    "-": (_FLOOR,),
    ".": (_FLOOR, _ring),
    "$": (_FLOOR, _crate("#c68642")),
    "*": (_FLOOR, _crate("#58b368")),
    "@": (_FLOOR, _person),
    "+": (_FLOOR, _ring, _person),
}
LAKE: Mapping[str, Sequence[Callable[[_Pen, _Box], None]]] = {
    "-": (_ICE,),
    "O": (_ICE, _hole),
    "G": (_ICE, _flag),
    "@": (_ICE, _person),
    "X": (_ICE, _hole, _person),
    "!": (_ICE, _flag, _person),
}


def _cross(pen: _Pen, box: _Box) -> None:
    left, top, right, bottom = box
    pen.line((left + 3, top + 3, right - 3, bottom - 3), fill="#1f4e9c", width=2)
    pen.line((left + 3, bottom - 3, right - 3, top + 3), fill="#1f4e9c", width=2)


def _frame(pen: _Pen, box: _Box) -> None:
    pen.rectangle(box, fill="white", outline="#aeb6bf")


MARKS: Mapping[str, Sequence[Callable[[_Pen, _Box], None]]] = {
    "-": (_frame,),
    "X": (_frame, _cross),
    "O": (_frame, _ring),
}
_SETS = {"sokoban": SOKOBAN, "lake": LAKE, "marks": MARKS}


@lru_cache(maxsize=4096)
def draw_board(text: str, tiles: str) -> Picture.Image:
    """The picture of a board.

    Args:
        text: lines of one length.
        tiles: "sokoban", "lake" or "marks".
    """
    lines = text.splitlines()
    picture = Picture.new("RGB", (TILE_PX * len(lines[0]), TILE_PX * len(lines)), "white")
    pen = ImageDraw.Draw(picture)
    for row, line in enumerate(lines):
        for column, character in enumerate(line):
            left, top = column * TILE_PX, row * TILE_PX
            for layer in _SETS[tiles][character]:
                layer(pen, (left, top, left + TILE_PX - 1, top + TILE_PX - 1))
    return picture
