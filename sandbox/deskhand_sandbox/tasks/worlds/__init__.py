"""Small worlds, as text on a terminal and as a picture: Sokoban, frozen lake, corridors, bandits, games.

Boards are drawn from the seed, proven solvable, and of the seed's own split: no board of a test seed is ever
that of a train seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.boards.tic_tac_toe import best_key
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tasks.games.solvers import SOLVERS
from deskhand_sandbox.tasks.worlds.boards import ice, sokoban
from deskhand_sandbox.tasks.worlds.walks import best_way
from deskhand_sandbox.types import (
    Action,
    AskUser,
    EnvironmentSpec,
    JsonValue,
    Limits,
    Press,
    Task,
    VerifierSpec,
)

__all__ = ["PROVEN", "make", "next_actions", "task_ids"]

FAMILY = "worlds"
SECONDS_PER_TURN = 10.0
ARMS = (0.1, 0.9, 0.3, 0.5)
MEANT = 4
"""Arms of the bandit whose user means one of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """One task."""

    world: str
    settings: Callable[[str, int], Mapping[str, JsonValue]]
    """Task id and seed -> settings of the world."""
    turns: int
    description: str
    instruction: str = ""
    """Empty: the world's own."""
    details: Callable[[int], Mapping[str, str]] = field(default=lambda _: {})
    """Seed -> what the user has to be asked."""


WORLDS = {
    "worlds/bandit": Drawn(
        world="bandit",
        settings=lambda _, __: {"chances": list(ARMS)},
        turns=1,
        description="Pull the one of four arms that pays most.",
    ),
    "worlds/bandit-asking": Drawn(
        world="bandit",
        settings=lambda _, seed: {"chances": [float(arm == _meant(seed)) for arm in range(1, MEANT + 1)]},
        turns=3,
        description="Pull the one of four arms that the user means.",
        instruction="Pull the arm I mean.",
        details=lambda seed: {"arm": str(_meant(seed))},
    ),
    "worlds/chain": Drawn(
        world="chain", settings=lambda _, __: {"places": 6}, turns=12, description="Walk right six places."
    ),
    "worlds/corridor": Drawn(
        world="corridor",
        settings=lambda _, __: {"rooms": 96, "digits": 4},
        turns=110,
        description="Walk through 96 rooms and remember the digits on their walls: a hundred turns.",
    ),
    "worlds/frozen-lake-4x4": Drawn(
        world="frozen_lake",
        settings=lambda task, seed: {"ice": ice(task, seed, side=4), "slippery": False},
        turns=10,
        description="Walk over ice between holes.",
    ),
    "worlds/frozen-lake-4x4-slippery": Drawn(
        world="frozen_lake",
        settings=lambda task, seed: {"ice": ice(task, seed, side=4), "slippery": True},
        turns=20,
        description="Walk over slippery ice between holes: a third of the steps go as they are meant.",
    ),
    "worlds/sokoban-6x6-1": Drawn(
        world="sokoban",
        settings=lambda task, seed: {"board": sokoban(task, seed, side=6, boxes=1)},
        turns=15,
        description="Push a box onto a goal.",
    ),
    "worlds/sokoban-8x8-2": Drawn(
        world="sokoban",
        settings=lambda task, seed: {"board": sokoban(task, seed, side=8, boxes=2)},
        turns=40,
        description="Push two boxes onto goals.",
    ),
    "worlds/tic-tac-toe": Drawn(
        world="tic_tac_toe",
        settings=lambda _, seed: {"side": "XO"[seed % 2]},
        turns=8,
        description="Play tic-tac-toe against chance and do not lose.",
    ),
}
_CHANCY = ("worlds/bandit", "worlds/frozen-lake-4x4-slippery")
"""Nobody wins these every time."""
PROVEN = tuple(sorted(set(WORLDS) - set(_CHANCY)))
"""Tasks whose oracle always wins."""


def task_ids() -> tuple[str, ...]:
    """Every task, sorted."""
    return tuple(sorted(WORLDS))


def make(task_id: str, seed: int) -> Task:
    """One start state of a task of `task_ids()`."""
    drawn = WORLDS[task_id]
    return Task(
        id=task_id,
        environment=EnvironmentSpec(
            kind="world", settings={"world": drawn.world, **drawn.settings(task_id, seed)}
        ),
        verifier=VerifierSpec(name="world"),
        instruction=drawn.instruction,
        seed=seed,
        limits=Limits(turns=drawn.turns, seconds=drawn.turns * SECONDS_PER_TURN),
        labels={"family": FAMILY, "description": drawn.description},
        details=drawn.details(seed),
    )


async def next_actions(task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
    """The best key from where the world stands.

    Raises:
        InvalidTask: it cannot be won any more.
        InfrastructureError: there is another world.
    """
    state = await sandbox.evaluate("state")
    if not isinstance(state, dict):
        raise InfrastructureError("the sandbox shows no world")
    if "boxes" in state:
        return (SOLVERS["sokoban"](state),)
    if "ice" in state:
        return (Press(keys=(best_way(state),)),)
    if "chances" in state:
        if task.details and turn == 0:
            return (AskUser(question=f"Which {' and '.join(task.details)}?"),)
        chances = cast("list[float]", state["chances"])
        return (Press(keys=(str(1 + chances.index(max(chances))),)),)
    if "code" in state and cast(int, state["room"]) > cast(int, state["rooms"]):
        return (Press(keys=(str(state["code"])[len(str(state["typed"]))],)),)
    if "cells" in state:
        return (Press(keys=(best_key(str(state["cells"])),)),)
    return (Press(keys=("ArrowRight",)),)


def _meant(seed: int) -> int:
    """The arm, from 1."""
    return random.Random(f"worlds/bandit-asking/{seed}").randint(1, MEANT)
