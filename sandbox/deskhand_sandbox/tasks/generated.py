"""Pages drawn from a seed: many fonts, themes, widgets, layouts and languages, each with something to do.

The pages lie in `tasks/pages/generated/`, in the site "pages" of the browser backend. Test seeds show words
(but for numbers, endings and what icons are called), fonts and grounds that no other seed shows, and seven of
ten of their pages to be pressed a layout that no other has; forms stand as elsewhere. `make` gives all of
them layouts of their own where it is told to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.types import (
    Action,
    Click,
    EnvironmentSpec,
    JsonValue,
    Limits,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)

__all__ = [
    "PROVEN",
    "Description",
    "Thing",
    "is_test_word",
    "make",
    "next_actions",
    "page_task",
    "read_thing",
    "task_ids",
    "things",
]

FAMILY = "generated"
SITE = "pages"
PAGE = "http://pages.localhost/generated/page.html"
READY = "typeof generated === 'object'"
SECONDS_PER_TURN = 20.0
SETTLE_DEADLINE_MS = 1000
_TEST_PARTS = 10
"""As in `pages/generated/draw.js`."""
SIZES_PX: Mapping[str, tuple[int, int]] = {"": (160, 210), "-wide": (320, 240), "-large": (448, 448)}
"""End of a task's name -> width and height of its pages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawn:
    """One task, of whichever size."""

    options: Mapping[str, JsonValue]
    """What the page is told besides the seed and the split."""
    turns: int
    description: str


def _fill(goals: int) -> Drawn:
    return Drawn(
        options={"task": "fill", "goals": goals},
        turns=6 + 6 * goals,
        description=f"Set {goals} of a page's controls and press its last button.",
    )


def _press(by: str | None, how: str) -> Drawn:
    return Drawn(
        options={"task": "press", "by": by}, turns=2, description=f"Click the one thing that is {how}."
    )


TASKS: Mapping[str, Drawn] = {
    "fill-1": _fill(1),
    "fill-2": _fill(2),
    "fill-3": _fill(3),
    "fill-4": _fill(4),
    "press": _press(None, "pointed out in any way"),
    "press-color": _press("color", "named by its colour"),
    "press-ordinal": _press("ordinal", "named by its number among its like"),
    "press-relation": _press("relation", "named by what stands beside it"),
    "press-role": _press("role", "named by its role and its name"),
    "press-text": _press("text", "named by its text"),
}
PROVEN = tuple(sorted(f"{FAMILY}/{name}{size}" for name in TASKS for size in SIZES_PX))
"""Tasks with an oracle: all of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """Words that fit one thing of a page and no other."""

    kind: str
    """What they go by: "text", "role", "color", "ordinal" or "relation"; or "sole", which pages do not tell:
    a role that no other thing has."""
    words: str
    """As in: the red button."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Thing:
    """One thing to see or to use on a page."""

    role: str
    """As a person calls it: "button", "link", "radio button", "list box", …"""
    name: str
    """What is written on it or beside it; of an icon, what it shows."""
    tone: str
    """Name of its colour; empty where it has none of its own."""
    state: str
    """`on`, "off", "open", "closed" or "selected"; empty where there is none to tell."""
    value: str
    """What it holds or shows; empty where that is nothing."""
    box: Box
    point: tuple[int, int]
    """Where a click uses it."""
    descriptions: tuple[Description, ...]


def task_ids() -> tuple[str, ...]:
    """Every task, sorted."""
    return PROVEN


def make(task_id: str, seed: int, *, unseen_layouts: bool = False) -> Task:
    """One start state of a task of `task_ids()`.

    Args:
        unseen_layouts: a page of the test has a layout that no page of another seed has; those of others stay
            as they are.
    """
    name = task_id.removeprefix(f"{FAMILY}/")
    size = next(end for end in sorted(SIZES_PX, key=len, reverse=True) if name.endswith(end))
    return page_task(
        task_id, seed, TASKS[name.removesuffix(size)], SIZES_PX[size], unseen_layouts=unseen_layouts
    )


def is_test_word(word: str) -> bool:
    """Whether it is one of the words that only pages of test seeds show (`isTestWord` of the pages)."""
    hashed = 2166136261
    for character in word.lower():
        hashed = (hashed ^ ord(character)) * 16777619 & 0xFFFFFFFF
    return (hashed ^ hashed >> 15) % _TEST_PARTS == 0


def page_task(
    task_id: str, seed: int, drawn: Drawn, size_px: tuple[int, int], *, unseen_layouts: bool = False
) -> Task:
    """One start state of a task on a page of so many pixels; the first part of its id is its family.

    Args:
        unseen_layouts: see `make`.
    """
    # splits ask the families what they have
    from deskhand_sandbox.tasks.splits import split_of

    split = "test" if split_of(task_id, seed) is Split.TEST else "train"
    told = {**drawn.options, "split": split}
    if unseen_layouts and split == "test":
        told["unseenLayouts"] = True
    return Task(
        id=task_id,
        environment=EnvironmentSpec(
            kind="browser",
            settings={
                "site": SITE,
                "url": "generated/page.html",
                "viewport_px": list(size_px),
                "settle_deadline_ms": SETTLE_DEADLINE_MS,
                "ready": READY,
                "start": f"(seed) => generated.start(seed, {json.dumps(told)})",
                "restartable": True,
            },
        ),
        verifier=VerifierSpec(name="game", settings={"name": "generated", "page": PAGE}),
        seed=seed,
        limits=Limits(turns=drawn.turns, seconds=drawn.turns * SECONDS_PER_TURN),
        labels={"family": task_id.partition("/")[0], "description": drawn.description},
    )


async def next_actions(task: Task, sandbox: Sandbox, turn: int) -> Sequence[Action]:
    """What brings the page on from where it stands.

    Raises:
        InfrastructureError: another page is in front.
    """
    told = await sandbox.evaluate("typeof generated === 'object' ? generated.next() : null")
    match told:
        case {"type": str() as text}:
            return (TypeText(text=text),)
        case {"click": [int() as x, int() as y], **more}:
            return (Click(x=x, y=y, count=3 if more.get("count") == 3 else 1),)
        case _:
            raise InfrastructureError("the page in front is not the task's")


async def things(sandbox: Sandbox) -> tuple[Thing, ...]:
    """All there is to see and to use on the generated page in front, in reading order of the document.

    Raises:
        InfrastructureError: another page is in front, or the computer failed.
    """
    told = await sandbox.evaluate("typeof generated === 'object' ? generated.facts() : null")
    if not isinstance(told, list):
        raise InfrastructureError("the page in front is not a generated one")
    return tuple(read_thing(cast("dict[str, Any]", each)) for each in told)


def read_thing(told: Mapping[str, Any]) -> Thing:
    """A thing as the page tells of it: the fields by name, each description a kind and words.

    Raises:
        KeyError, TypeError, ValueError: it is in another form.
    """
    left, top, right, bottom = (round(float(edge), 1) for edge in told["box"])
    x, y = told["point"]
    return Thing(
        role=told["role"],
        name=told["name"],
        tone=told["tone"],
        state=told["state"],
        value=told["value"],
        box=(left, top, right, bottom),
        point=(x, y),
        descriptions=tuple(Description(kind=kind, words=words) for kind, words in told["descriptions"]),
    )
