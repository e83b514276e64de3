"""Small games in a page of ours: seeds, a score, rewards on the way, keyboard and mouse.

The pages lie in `tasks/pages/games/`, in the site "pages" of the browser backend. Each has an oracle.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tasks.games.solvers import SOLVERS
from deskhand_sandbox.types import Action, EnvironmentSpec, Limits, Task, VerifierSpec

__all__ = ["PROVEN", "make", "next_actions", "task_ids"]

FAMILY = "games"
SITE = "pages"
VIEWPORT_PX = (320, 400)
SECONDS_PER_TURN = 10.0
SETTLE_DEADLINE_MS = 1000
READY = "typeof game === 'object'"


@dataclass(frozen=True, kw_only=True, slots=True)
class Game:
    """One task."""

    page: str
    description: str
    turns: int
    """Of an episode; the oracle needs half of them or fewer."""
    options: dict[str, int] = field(default_factory=dict[str, int])
    """What the page's start is told besides the seed."""
    apart: bool = False
    """The boards are so few that the page has to be told the split, to keep them apart."""


GAMES = {
    "games/2048": Game(page="2048", description="Join tiles up to 64.", turns=120, options={"goal": 64}),
    "games/maze": Game(page="maze", description="Walk through a maze.", turns=120, options={"size": 8}),
    "games/minesweeper": Game(
        page="minesweeper", description="Open all cells without a mine.", turns=60, options={"mines": 9}
    ),
    "games/sliding": Game(
        page="sliding",
        description="Slide eight tiles into order.",
        turns=60,
        options={"steps": 16},
        apart=True,
    ),
    "games/snake": Game(page="snake", description="Eat four apples.", turns=90, options={"apples": 4}),
    "games/sokoban-1": Game(
        page="sokoban", description="Push one box onto its goal.", turns=60, options={"boxes": 1}
    ),
    "games/sokoban-2": Game(
        page="sokoban", description="Push two boxes onto their goals.", turns=90, options={"boxes": 2}
    ),
    "games/sokoban-3": Game(
        page="sokoban", description="Push three boxes onto their goals.", turns=120, options={"boxes": 3}
    ),
}
PROVEN = tuple(sorted(GAMES))
"""Tasks with an oracle: all of them."""


def task_ids() -> tuple[str, ...]:
    """Every game, sorted."""
    return PROVEN


def make(task_id: str, seed: int) -> Task:
    """One start state of a game of `task_ids()`."""
    # splits ask the families what they have
    from deskhand_sandbox.tasks.splits import split_of

    game = GAMES[task_id]
    options = {**game.options, **({"split": split_of(task_id, seed).value} if game.apart else {})}
    return Task(
        id=task_id,
        environment=EnvironmentSpec(
            kind="browser",
            settings={
                "site": SITE,
                "url": f"games/{game.page}.html",
                "viewport_px": list(VIEWPORT_PX),
                "settle_deadline_ms": SETTLE_DEADLINE_MS,
                "ready": READY,
                "start": f"(seed) => game.start(seed, {json.dumps(options)})",
                "restartable": True,
            },
        ),
        verifier=VerifierSpec(
            name="game", settings={"page": f"http://pages.localhost/games/{game.page}.html"}
        ),
        seed=seed,
        limits=Limits(turns=game.turns, seconds=game.turns * SECONDS_PER_TURN),
        labels={"family": FAMILY, "description": game.description},
    )


async def next_actions(task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
    """What solves the game from where it stands.

    Raises:
        InvalidTask: the game cannot be won any more.
        InfrastructureError: another page is in front.
    """
    state = await sandbox.evaluate("typeof game === 'object' ? game.state() : null")
    if not isinstance(state, dict):
        raise InfrastructureError("the page in front is not the game's")
    return (SOLVERS[GAMES[task.id].page](state),)
