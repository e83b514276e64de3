"""The best way over a frozen lake, slippery or not, by value iteration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from deskhand_sandbox.boards.frozen_lake import CIRCLE, may_go, stepped
from deskhand_sandbox.types import JsonValue

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
    return max(CIRCLE, key=lambda key: _worth(ice, width, values, at, key, bool(slippery)))


@lru_cache(maxsize=1024)
def values_of(ice: str, width: int, slippery: bool) -> tuple[float, ...]:
    """Of every place the chance to arrive from there, walked at its best, less `DISCOUNT` for every step."""
    values = tuple(float(cell == "G") for cell in ice)
    for _ in range(SWEEPS):
        values = tuple(
            max(_worth(ice, width, values, at, key, slippery) for key in CIRCLE)
            if cell == "-"
            else float(cell == "G")
            for at, cell in enumerate(ice)
        )
    return values


def _worth(ice: str, width: int, values: tuple[float, ...], at: int, key: str, slippery: bool) -> float:
    """Discounted value after a key."""
    ways = may_go(key, slippery=slippery)
    total = 0.0
    # not sum(), which rounds otherwise from one Python to another: ways of equal worth would change places
    for way in ways:
        total += values[stepped(at, way, ice, width)]
    return DISCOUNT * total / len(ways)
