"""Oracles of the games: from the state behind the page to the next key or click."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from deskhand_sandbox.boards.grid import WAYS
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.tasks.games.merging import best_move
from deskhand_sandbox.types import Action, Click, JsonValue, Press

BOARD_PX = (12, 36, 296)
"""Left, top and side of the board on the page."""

S = TypeVar("S")
State = Mapping[str, JsonValue]


def _press(key: str) -> Action:
    return Press(keys=(key,))


def _ints(state: State, name: str) -> list[int]:
    return cast("list[int]", state[name])


def _where(state: State, name: str) -> frozenset[int]:
    return frozenset(_ints(state, name))


def _points(state: State, name: str) -> list[tuple[int, int]]:
    return [(x, y) for x, y in cast("list[list[int]]", state[name])]


def shortest_way(
    start: S, steps: Callable[[S], Iterable[tuple[str, S]]], done: Callable[[S], bool]
) -> list[str]:
    """The steps of a shortest way, by breadth-first search; none where it is done already.

    Raises:
        InvalidTask: there is no way.
    """
    waiting = deque([start])
    came: dict[S, tuple[S, str] | None] = {start: None}
    while waiting:
        state = waiting.popleft()
        if done(state):
            return _back(came, state)
        for name, after in steps(state):
            if after not in came:
                came[after] = state, name
                waiting.append(after)
    raise InvalidTask("the game cannot be won from here")


def _back(came: Mapping[S, tuple[S, str] | None], state: S) -> list[str]:
    way: list[str] = []
    while (last := came[state]) is not None:
        state, name = last
        way.append(name)
    return way[::-1]


def maze(state: State) -> Action:
    """Downhill: the page knows how far every place is."""
    size, distance = int(str(state["size"])), _ints(state, "distance")
    x, y = cast("list[int]", state["player"])
    here = distance[y * size + x]
    for name, (dx, dy) in WAYS.items():
        a, b = x + dx, y + dy
        if (
            0 <= a < size
            and 0 <= b < size
            and distance[b * size + a] == here - 1
            and _open(state, x, y, a, b)
        ):
            return _press(name)
    raise InvalidTask("the maze has no way on from here")


def _open(state: State, x: int, y: int, a: int, b: int) -> bool:
    return f"{x},{y},{a},{b}" in cast("list[str]", state["open"])


def snake(state: State) -> Action:
    """The shortest way to the apple that the body, where it lies now, leaves free."""
    side, body = int(str(state["side"])), _points(state, "snake")
    apple = tuple(cast("list[int]", state["apple"]))
    blocked = set(body[:-1])

    def steps(place: tuple[int, int]) -> Iterable[tuple[str, tuple[int, int]]]:
        for name, (dx, dy) in WAYS.items():
            after = (place[0] + dx, place[1] + dy)
            if 0 <= after[0] < side and 0 <= after[1] < side and after not in blocked:
                yield name, after

    return _press(shortest_way(body[0], steps, lambda place: place == apple)[0])


def sokoban(state: State) -> Action:
    """The first step of a shortest solution."""
    side, walls, goals = int(str(state["side"])), _where(state, "walls"), _where(state, "goals")
    boxes = _where(state, "boxes")
    return _press(sokoban_way(side, walls, goals, int(str(state["player"])), boxes)[0])


def sokoban_way(
    side: int, walls: frozenset[int], goals: frozenset[int], player: int, boxes: frozenset[int]
) -> list[str]:
    """The keys of a shortest solution, over all places of player and boxes.

    Args:
        side: of the board; places are counted line by line.

    Raises:
        InvalidTask: there is none.
    """
    dead = _corners(side, walls) - goals

    def steps(
        at: tuple[int, frozenset[int]],
    ) -> Iterable[tuple[str, tuple[int, frozenset[int]]]]:
        player, boxes = at
        for name, (dx, dy) in WAYS.items():
            after = player + dx + dy * side
            if after in walls:
                continue
            if after not in boxes:
                yield name, (after, boxes)
                continue
            beyond = after + dx + dy * side
            if beyond not in walls and beyond not in boxes and beyond not in dead:
                yield name, (after, boxes - {after} | {beyond})

    return shortest_way((player, boxes), steps, lambda at: at[1] == goals)


def _corners(side: int, walls: frozenset[int]) -> set[int]:
    """Places a box never leaves."""
    return {
        at
        for at in range(side, side * (side - 1))
        if at not in walls
        and (at - 1 in walls or at + 1 in walls)
        and (at - side in walls or at + side in walls)
    }


def sliding(state: State) -> Action:
    """The first step of a shortest solution, by A* with the tiles' distances from home."""
    side, start = int(str(state["side"])), tuple(_ints(state, "tiles"))
    goal = (*range(1, side * side), 0)
    waiting = [(_away(start, side), 0, start, "")]
    best = {start: 0}
    while waiting:
        _, cost, tiles, first = heapq.heappop(waiting)
        if tiles == goal:
            return _press(first)
        for name, after in _slides(tiles, side):
            if cost + 1 < best.get(after, cost + 2):
                best[after] = cost + 1
                heapq.heappush(waiting, (cost + 1 + _away(after, side), cost + 1, after, first or name))
    raise InvalidTask("the puzzle cannot be solved")


def _slides(tiles: tuple[int, ...], side: int) -> Iterable[tuple[str, tuple[int, ...]]]:
    gap = tiles.index(0)
    for name, (dx, dy) in WAYS.items():
        x, y = gap % side - dx, gap // side - dy
        if 0 <= x < side and 0 <= y < side:
            after = list(tiles)
            after[gap], after[y * side + x] = after[y * side + x], 0
            yield name, tuple(after)


def _away(tiles: tuple[int, ...], side: int) -> int:
    return sum(
        abs((tile - 1) % side - at % side) + abs((tile - 1) // side - at // side)
        for at, tile in enumerate(tiles)
        if tile
    )


def minesweeper(state: State) -> Action:
    """Any cell that is covered and holds no mine: an oracle knows where they are."""
    side = int(str(state["side"]))
    known = {*_ints(state, "mines"), *_ints(state, "opened")}
    at = next((at for at in range(side * side) if at not in known), None)
    if at is None:
        raise InvalidTask("every cell is open")
    left, top, width = BOARD_PX
    cell = width / side
    return Click(x=round(left + (at % side + 0.5) * cell), y=round(top + (at // side + 0.5) * cell))


def merging(state: State) -> Action:
    """The move after which the board looks best, two moves ahead."""
    return _press(best_move(tuple(_ints(state, "tiles")), int(str(state["side"]))))


SOLVERS: Mapping[str, Callable[[State], Action]] = {
    "2048": merging,
    "maze": maze,
    "minesweeper": minesweeper,
    "sliding": sliding,
    "snake": snake,
    "sokoban": sokoban,
}
"""By the page's name."""
