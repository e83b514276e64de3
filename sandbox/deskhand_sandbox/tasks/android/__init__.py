"""Tasks for an Android device, in AndroidWorld's style (arXiv 2405.14573).

A template and a seed draw who, what and when; the device is prepared for it; the verdict is read from the
device's own state.

They use the apps of the simulator and their content addresses.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

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
    return TEMPLATES[task_id].draw(random.Random(f"{task_id}\0{seed}"))
