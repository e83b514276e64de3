"""What actions change: generated pages in the middle of being worked, before and after each of a few actions.

Half of the actions are the oracle's, the others clicks on things drawn at random (early experience: Zhang et
al., arXiv 2510.08558), so what leads nowhere is seen too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.tasks.generated import FAMILY, Thing, make, next_actions
from deskhand_sandbox.tasks.layout import Box
from deskhand_sandbox.tasks.splits import seeds
from deskhand_sandbox.types import Action, Click, DeviceAction, Image, Split, Task, TypeText
from deskhand_trainer.base.pages import TASK, SeenPage, seen

TASKS = (*(f"{FAMILY}/fill-{goals}" for goals in range(1, 5)), TASK)
"""Pages of all of them take turns."""
CHANGES_PER_PAGE = 4
FOCUS, SELECTED = "focus", "selected"
"""States a field has here besides those that pages tell of: the caret is in it; all its text is selected."""
_ORACLE_SHARE = 0.5

# A blinking caret would make a picture a matter of the moment: it stands still.
_STEADY = 'document.documentElement.style.setProperty("caret-animation", "manual")'
_STATE = """(() => {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return [left, top, right, bottom];
  };
  const reached = (element) => {
    const [left, top, right, bottom] = box(element);
    return document.elementFromPoint((left + right) / 2, (top + bottom) / 2) === element;
  };
  const field = document.activeElement, text = field?.value;
  const held = typeof field?.selectionStart === "number";
  const all = held && text !== "" && field.selectionStart === 0 && field.selectionEnd === text.length;
  return {
    field: held ? box(field) : null, all, done: generated.done,
    rows: [...document.querySelectorAll(".menu > *")].filter(reached).map(box),
  };
})()"""
_SLIDER_STEPS = 10
_SLIDER_LEFT, _SLIDER_STEP = 0.05, 0.09
"""Shares of a slider's width: where 0 is, and from one value to the next (`pages/generated/widgets.js`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenChange:
    """A page before and after one action."""

    turn: int
    """Number of the action on its page, from 0."""
    before: SeenPage
    action: Action
    """A click, or a text that was typed."""
    target: Box | None
    """Where in the picture before a click would have done the same; None of what was typed."""
    after: SeenPage


@dataclass(frozen=True, kw_only=True, slots=True)
class _Moment:
    """A page as it stands."""

    page: SeenPage
    rows: tuple[Box, ...]
    """Of open menus."""
    done: bool
    """The oracle has nothing more to do."""


def change_tasks(
    size: str, split: Split, count: int, offset: int = 0, *, unseen_layouts: bool = False
) -> list[Task]:
    """The tasks whose pages are worked for `count` of a size and split, after the first `offset` of them.

    Args:
        unseen_layouts: as of `page_tasks`.

    Raises:
        InvalidTask: a negative number.
    """
    each, passed = -(-(offset + count) // len(TASKS)), offset // len(TASKS)
    columns = [
        [
            make(name + size, seed, unseen_layouts=unseen_layouts)
            for seed in seeds(name + size, split, each - passed, passed)
        ]
        for name in TASKS
    ]
    first = offset - passed * len(TASKS)
    return [task for row in zip(*columns, strict=True) for task in row][first : first + count]


async def watch(sandbox: Sandbox, task: Task) -> list[SeenChange]:
    """`CHANGES_PER_PAGE` actions on the page of a task in a browser, the same for the same task.

    Raises:
        InfrastructureError: the computer failed.
    """
    draw = random.Random(f"{task.id}/{task.seed}/changes")
    start = await sandbox.reset(task)
    await sandbox.evaluate(_STEADY)
    before = await _moment(sandbox, task, start.observation.screenshot)
    found: list[SeenChange] = []
    for turn in range(CHANGES_PER_PAGE):
        action = await _next_action(sandbox, task, before, draw)
        observation = await sandbox.act(action)
        after = await _moment(sandbox, task, observation.screenshot)
        target = _target(before, action, after.page) if isinstance(action, Click) else None
        found.append(
            SeenChange(turn=turn, before=before.page, action=action, target=target, after=after.page)
        )
        before = after
    return found


async def _moment(sandbox: Sandbox, task: Task, image: Image) -> _Moment:
    page = await seen(sandbox, task, image)
    told = await sandbox.evaluate(_STATE)
    if not isinstance(told, dict):
        raise InfrastructureError("the page in front is not a generated one")
    state = cast("dict[str, Any]", told)
    rows = tuple(read_box(row) for row in state["rows"])
    if state["field"] is not None:
        focused, said = read_box(state["field"]), SELECTED if state["all"] else FOCUS
        things = tuple(
            replace(each, state=said) if each.role == "field" and each.box[:2] == focused[:2] else each
            for each in page.things
        )
        page = replace(page, things=things)
    return _Moment(page=page, rows=rows, done=bool(state["done"]))


async def _next_action(sandbox: Sandbox, task: Task, now: _Moment, draw: random.Random) -> DeviceAction:
    if not now.done and draw.random() < _ORACLE_SHARE:
        (action,) = await next_actions(task, sandbox, 0)
        if isinstance(action, Click | TypeText):
            return action
    candidates: list[Box | Thing] = [*now.rows, *now.page.things]
    drawn = draw.choice(candidates or [_whole(now.page)])
    if not isinstance(drawn, Thing):
        left, top, right, bottom = drawn
        return Click(x=int((left + right) / 2), y=int((top + bottom) / 2))
    x, y = drawn.point
    if drawn.role == "slider":
        x = int(_slider_at(drawn, draw.randint(0, _SLIDER_STEPS)))
    return Click(x=x, y=y)


def _target(before: _Moment, click: Click, after: SeenPage) -> Box | None:
    """What was clicked: a menu's row, a thing, or the part of a slider that means a value."""
    for row in before.rows:
        if _holds(row, click):
            return row
    hit = [thing for thing in before.page.things if _holds(thing.box, click)]
    thing = min(hit, key=_area, default=None)
    if thing is None or thing.role != "slider":
        return None if thing is None else thing.box
    left, top, right, bottom = thing.box
    value = next((int(each.value) for each in after.things if _same(each, thing)), None)
    if value is None:
        return None
    half = (right - left) * _SLIDER_STEP / 2
    middle = _slider_at(thing, value)
    return (
        left if value == 0 else round(middle - half, 1),
        top,
        right if value == _SLIDER_STEPS else round(middle + half, 1),
        bottom,
    )


def _slider_at(slider: Thing, value: int) -> float:
    left, _, right, _ = slider.box
    return left + (right - left) * (_SLIDER_LEFT + value * _SLIDER_STEP)


def _same(one: Thing, other: Thing) -> bool:
    return (one.role, one.name) == (other.role, other.name)


def _whole(page: SeenPage) -> Box:
    return 0.0, 0.0, float(page.image.width_px), float(page.image.height_px)


def _holds(box: Box, click: Click) -> bool:
    left, top, right, bottom = box
    return left <= click.x <= right and top <= click.y <= bottom


def _area(thing: Thing) -> float:
    left, top, right, bottom = thing.box
    return (right - left) * (bottom - top)


def read_box(told: Sequence[float]) -> Box:
    """Four edges as they were told, to a tenth of a pixel."""
    left, top, right, bottom = (round(float(edge), 1) for edge in told)
    return left, top, right, bottom
