"""The best way over a frozen lake, slippery or not, by value iteration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from deskhand_sandbox.types import JsonValue

WAYS = (("ArrowLeft", -1, 0), ("ArrowDown", 0, 1), ("ArrowRight", 1, 0), ("ArrowUp", 0, -1))
DISCOUNT = 0.99
"""So that of ways that all arrive the shortest is the best."""
SWEEPS = 400


def best_way(state: Mapping[str, JsonValue]) -> str:
    """The key with the best chances from where the walk stands.

    Args:
        state: of the world `frozen_lake`.
    """
    ice, width, at, slippery = (state[name] for name in ("ice", "width", "at", "slippery"))
    assert isinstance(ice, str) and isinstance(width, int) and isinstance(at, int)
    values = values_of(ice, width, bool(slippery))
    return max(WAYS, key=lambda way: _worth(ice, width, values, at, WAYS.index(way), bool(slippery)))[0]


@lru_cache(maxsize=1024)
def values_of(ice: str, width: int, slippery: bool) -> tuple[float, ...]:
    """Of every place the chance to arrive from there, walked at its best, less `DISCOUNT` for every step."""
    values = tuple(float(cell == "G") for cell in ice)
    for _ in range(SWEEPS):
        values = tuple(
            max(_worth(ice, width, values, at, way, slippery) for way in range(4))
            if cell == "-"
            else float(cell == "G")
            for at, cell in enumerate(ice)
        )
    return values


def _worth(ice: str, width: int, values: tuple[float, ...], at: int, way: int, slippery: bool) -> float:
    """Discounted value after a step that way."""
    ways = [(way + turn) % 4 for turn in ((-1, 0, 1) if slippery else (0,))]
    height = len(ice) // width
    total = 0.0
    for _, dx, dy in (WAYS[each] for each in ways):
        x, y = min(max(at % width + dx, 0), width - 1), min(max(at // width + dy, 0), height - 1)
        total += values[x + y * width]
    return DISCOUNT * total / len(ways)
