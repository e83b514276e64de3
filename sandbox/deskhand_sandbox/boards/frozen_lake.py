"""Where a step on ice may lead: the rules of Gymnasium's FrozenLake-v1."""

from __future__ import annotations

from deskhand_sandbox.boards.grid import WAYS

CIRCLE = ("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp")
"""In Gymnasium's order: the neighbours of a way in this circle are its sides."""


def may_go(key: str, *, slippery: bool) -> tuple[str, ...]:
    """Ways a step may go, each as often as any other: where it is slippery, to either side too."""
    at = CIRCLE.index(key)
    return tuple(CIRCLE[(at + turn) % len(CIRCLE)] for turn in ((-1, 0, 1) if slippery else (0,)))


def stepped(at: int, way: str, cells: str, width: int) -> int:
    """The cell after a step; off the edge nobody goes."""
    dx, dy = WAYS[way]
    x, y = at % width + dx, at // width + dy
    return min(max(x, 0), width - 1) + min(max(y, 0), len(cells) // width - 1) * width
