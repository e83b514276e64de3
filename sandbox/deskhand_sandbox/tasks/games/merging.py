"""2048 played by looking two moves ahead."""

from __future__ import annotations

from functools import lru_cache

from deskhand_sandbox.errors import InvalidTask

Tiles = tuple[int, ...]
KEYS = ("ArrowUp", "ArrowLeft", "ArrowRight", "ArrowDown")
DEPTH = 2


def best_move(tiles: Tiles, side: int) -> str:
    """The key that leads to the best board.

    Raises:
        InvalidTask: no move is left.
    """
    moves = {key: after for key in KEYS if (after := moved(tiles, side, key)) != tiles}
    if not moves:
        raise InvalidTask("no move is left")
    return max(moves, key=lambda key: _expected(moves[key], side, DEPTH))


def moved(tiles: Tiles, side: int, key: str) -> Tiles:
    """The board after a move, before a new tile comes."""
    after = list(tiles)
    for line in _lines(side, key):
        for at, tile in zip(line, _slid(tuple(tiles[at] for at in line)), strict=True):
            after[at] = tile
    return tuple(after)


def _expected(tiles: Tiles, side: int, depth: int) -> float:
    """What a board is worth on the average, when a 2 comes on any free cell."""
    free = [at for at, tile in enumerate(tiles) if not tile]
    if depth == 0 or not free:
        return _worth(tiles, side)
    total = 0.0
    for at in free:
        with_new = (*tiles[:at], 2, *tiles[at + 1 :])
        boards = [after for key in KEYS if (after := moved(with_new, side, key)) != with_new]
        nested = depth - 1 if len(free) <= side else 0
        total += max((_expected(board, side, nested) for board in boards), default=-1000.0)
    return total / len(free)


def _worth(tiles: Tiles, side: int) -> float:
    """Free cells are good, and large tiles along a winding line from a corner."""
    order = [y * side + (x if y % 2 == 0 else side - 1 - x) for y in range(side) for x in range(side)]
    line = sum(tiles[at] * 0.5**place for place, at in enumerate(order))
    return line + 2.0 * tiles.count(0)


@lru_cache(maxsize=8)
def _lines(side: int, key: str) -> tuple[tuple[int, ...], ...]:
    order = range(side - 1, -1, -1) if key in ("ArrowRight", "ArrowDown") else range(side)
    if key in ("ArrowLeft", "ArrowRight"):
        return tuple(tuple(line * side + at for at in order) for line in range(side))
    return tuple(tuple(at * side + line for at in order) for line in range(side))


@lru_cache(maxsize=65536)
def _slid(row: tuple[int, ...]) -> tuple[int, ...]:
    kept = [tile for tile in row if tile]
    made: list[int] = []
    while kept:
        tile = kept.pop(0)
        if kept and kept[0] == tile:
            tile += kept.pop(0)
        made.append(tile)
    return (*made, *(0 for _ in range(len(row) - len(made))))
