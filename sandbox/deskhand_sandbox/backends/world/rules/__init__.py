"""Worlds by name, each with the settings its tasks give it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.backends.world.rules.world import World
from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.types import JsonValue

__all__ = ["WORLDS", "World", "make_world"]

WORLDS: Mapping[str, str] = {
    "bandit": "Bandit",
    "chain": "Chain",
    "corridor": "Corridor",
    "frozen_lake": "FrozenLake",
    "sokoban": "Sokoban",
    "store": "Store",
    "tic_tac_toe": "TicTacToe",
}
"""Name, which is the module's in this folder, -> class."""


def make_world(name: str, seed: int, settings: Mapping[str, JsonValue]) -> World:
    """A world at its start.

    Args:
        seed: of its chances.
        settings: keywords of the class.

    Raises:
        InvalidTask: no such world, or settings it does not know or accept.
    """
    if name not in WORLDS:
        raise InvalidTask(str(UnknownName("world", name, WORLDS)))
    made = getattr(importlib.import_module(f"{__name__}.{name}"), WORLDS[name])
    try:
        return cast("World", made(seed=seed, **settings))
    except TypeError as error:
        raise InvalidTask(f"the world {name} refuses its settings: {error}") from error
