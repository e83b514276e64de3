"""Boards drawn from a seed, each proven to have a solution."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import lru_cache

from deskhand_sandbox.boards.frozen_lake import CIRCLE, stepped
from deskhand_sandbox.boards.grid import as_lines, where
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.games.solvers import shortest_way, sokoban_way
from deskhand_sandbox.tasks.splits import drawn_within

SHORTEST = 4
"""Moves of a Sokoban solution, at least: fewer is luck."""
LONGEST_SHARE = 1.6
"""Moves of a solution, at most, in lengths of the board's sides."""
WALLS_SHARE = 0.2
HOLES_SHARE = 0.25


@lru_cache(maxsize=4096)
def sokoban(task_id: str, seed: int, *, side: int, boxes: int) -> str:
    """A Sokoban board in XSB.

    Args:
        side: of the board, its outer walls included.
        boxes: and as many goals.

    Returns:
        One whose shortest solution has from `SHORTEST` to `LONGEST_SHARE` x side x boxes moves.
    """

    def drawn(draw: random.Random) -> str | None:
        cells = _room(draw, side, boxes)
        moves = _moves(cells, side)
        return as_lines(cells, side) if moves and SHORTEST <= moves <= LONGEST_SHARE * side * boxes else None

    return drawn_within(task_id, seed, drawn, among=task_id)


@lru_cache(maxsize=4096)
def ice(task_id: str, seed: int, *, side: int) -> str:
    """A frozen lake: from a first place to a flag elsewhere, and a way round the holes; tasks share them."""

    def drawn(draw: random.Random) -> str | None:
        cells = ["O" if draw.random() < HOLES_SHARE else "-" for _ in range(side * side)]
        start, flag = draw.sample(range(side * side), 2)
        cells[start], cells[flag] = "@", "G"
        far = abs(start % side - flag % side) + abs(start // side - flag // side)
        return as_lines(cells, side) if far >= side - 1 and _walkable("".join(cells), side) else None

    return drawn_within(task_id, seed, drawn, among=f"worlds/frozen-lake-{side}x{side}")


def _room(draw: random.Random, side: int, boxes: int) -> list[str]:
    """Walls, some of them inside, boxes and goals apart, a player."""
    inside = [x + y * side for y in range(1, side - 1) for x in range(1, side - 1)]
    cells = ["#"] * (side * side)
    for at in inside:
        cells[at] = "-"
    for at in draw.sample(inside, draw.randint(0, int(len(inside) * WALLS_SHARE))):
        cells[at] = "#"
    free = [at for at in inside if cells[at] == "-"]
    chosen = draw.sample(free, 2 * boxes + 1)
    for at, mark in zip(chosen, "$" * boxes + "." * boxes + "@", strict=True):
        cells[at] = mark
    return cells


def _moves(cells: list[str], side: int) -> int:
    """Of a shortest solution; 0 where there is none."""
    walls, goals, boxes = (where(cells, mark) for mark in "#.$")
    try:
        return len(sokoban_way(side, walls, goals, cells.index("@"), boxes))
    except InvalidTask:
        return 0


def _walkable(cells: str, side: int) -> bool:
    def steps(at: int) -> Iterator[tuple[str, int]]:
        for way in CIRCLE:
            after = stepped(at, way, cells, side)
            if cells[after] != "O":
                yield way, after

    try:
        shortest_way(cells.index("@"), steps, lambda at: cells[at] == "G")
    except InvalidTask:
        return False
    return True
