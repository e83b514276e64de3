"""Tasks for an Android device, in AndroidWorld's style (arXiv 2405.14573).

A template and a seed draw who, what and when; the device is prepared for it; the verdict is read from the
device's own state.

They use the apps of the simulator and their content addresses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.tasks.android.drawn import Drawn, Tap, find
from deskhand_sandbox.tasks.android.people import PEOPLE
from deskhand_sandbox.tasks.android.phone import PHONE
from deskhand_sandbox.types import Action, EnvironmentSpec, Finish, JsonValue, Limits, Task

FAMILY = "android"
SPARE_TURNS = 8
"""More than the oracle takes."""
SECONDS_PER_TURN = 20.0
TEMPLATES = {f"{FAMILY}/{name}": template for name, template in {**PEOPLE, **PHONE}.items()}
PROVEN = tuple(sorted(TEMPLATES))
"""Every task brings an oracle."""


def task_ids() -> tuple[str, ...]:
    """Every task, sorted."""
    return PROVEN


def make(task_id: str, seed: int) -> Task:
    """One start state of a task of `task_ids()`."""
    drawn = _draw(task_id, seed)
    settings: dict[str, JsonValue] = {"prepare": drawn.prepare} if drawn.prepare else {}
    turns = len(drawn.oracle) + SPARE_TURNS
    return Task(
        id=task_id,
        environment=EnvironmentSpec(kind="android", settings=settings),
        verifier=drawn.verifier,
        instruction=drawn.instruction,
        seed=seed,
        limits=Limits(turns=turns, seconds=turns * SECONDS_PER_TURN),
        labels={"family": FAMILY, "description": TEMPLATES[task_id].description},
    )


async def next_actions(task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
    """What the oracle does next: it finds what it taps by the words on the screen."""
    steps = _draw(task.id, task.seed).oracle
    if turn >= len(steps):
        return (Finish(),)
    step = steps[turn]
    if not isinstance(step, Tap):
        return (step,)
    seen = await sandbox.observe(text_tree=True)
    return (find(seen.text_tree or "", step),)


def _draw(task_id: str, seed: int) -> Drawn:
    # splits ask the families what they have
    from deskhand_sandbox.tasks.splits import drawn_apart

    return drawn_apart(task_id, seed, TEMPLATES[task_id].draw, name=_name, few=_few(task_id))


@cache
def _few(task_id: str) -> list[Drawn] | None:
    """All start states of a task that has few: so many draws miss none of them."""
    from deskhand_sandbox.tasks.splits import FEW

    chance = random.Random(task_id)
    found = {_name(each): each for each in (TEMPLATES[task_id].draw(chance) for _ in range(20 * FEW))}
    return list(found.values()) if len(found) <= FEW else None


def _name(drawn: Drawn) -> str:
    return f"{drawn.instruction}\0{drawn.prepare}"
