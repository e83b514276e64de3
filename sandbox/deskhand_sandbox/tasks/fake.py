"""Tasks of the fake sandbox: no browser needed; for tests of the loop and measurements of it."""

from __future__ import annotations

import random

from deskhand_sandbox.types import EnvironmentSpec, Limits, Task, VerifierSpec

FAMILY = "fake"
_LABELS = ("Open", "Save", "Print", "Send", "Close", "Copy")

_DESCRIPTIONS = {
    "fake/press-button": "Press the named one of three drawn buttons.",
    "fake/press-in-order": "Press two named buttons in order.",
    "fake/never-done": "No press ends it: for limits.",
}


def task_ids() -> tuple[str, ...]:
    """Every task of the fake sandbox, sorted."""
    return tuple(sorted(_DESCRIPTIONS))


def make(task_id: str, seed: int) -> Task:
    """One start state of a task of `task_ids()`."""
    draw = random.Random(f"{task_id}\0{seed}")
    labels = draw.sample(_LABELS, 3)
    goal = labels[: 2 if task_id == "fake/press-in-order" else 1]
    draw.shuffle(labels)
    if task_id == "fake/never-done":
        instruction, goal = "Press anything you like.", []
    else:
        instruction = f"Press {', then '.join(goal)}."
    return Task(
        id=task_id,
        environment=EnvironmentSpec(kind="fake", settings={"buttons": list(labels), "goal": list(goal)}),
        verifier=VerifierSpec(name="fake"),
        instruction=instruction,
        seed=seed,
        limits=Limits(turns=6, seconds=60.0),
        labels={"family": FAMILY, "description": _DESCRIPTIONS[task_id]},
    )
