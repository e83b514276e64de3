"""The fake computer's settings, its state machine and the picture of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from PIL import Image as Picture
from PIL import ImageDraw

from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Image

TITLE_PX = 24
"""Height of the bar that shows how far the episode is."""
FIELD_PX = 24
"""Height of the bar at the bottom that shows what was typed."""
GAP_PX = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeSettings:
    """`Task.environment.settings` of a fake task: buttons, a goal, and how to misbehave."""

    buttons: tuple[str, ...] = ("OK", "Cancel")
    """Labels, drawn from top to bottom."""
    goal: tuple[str, ...] = ("OK",)
    """Labels to press in this order; a wrong one ends the episode. Empty: nothing ends it."""
    width_px: int = 160
    height_px: int = 200
    delay_s: float = 0.0
    """How long every act takes."""
    slow_at: int | None = None
    """Number of the act (from 0, counted from reset) that takes `slow_s`."""
    slow_s: float = 0.0
    crash_at: int | None = None
    """Number of the act during which the computer dies."""
    hang_at: int | None = None
    """Number of the act that never returns of its own."""
    fail_reset: bool = False
    """Resetting dies."""

    def __post_init__(self) -> None:
        for name in ("buttons", "goal"):
            labels = getattr(self, name)
            if not isinstance(labels, tuple) or not all(isinstance(each, str) for each in labels):
                raise InvalidTask(f"{name} must be a list of labels, not {labels!r}")
        if not self.buttons or not set(self.goal) <= set(self.buttons):
            raise InvalidTask(f"the goal {self.goal!r} must name some of the buttons {self.buttons!r}")
        if not 16 <= self.width_px <= 4096 or not TITLE_PX + FIELD_PX + 16 <= self.height_px <= 4096:
            raise InvalidTask(f"a screen of {self.width_px} x {self.height_px} pixels cannot be drawn")
        if self.delay_s < 0 or self.slow_s < 0:
            raise InvalidTask("delay_s and slow_s must not be negative")


def fake_settings(task_id: str, *layers: Mapping[str, object]) -> FakeSettings:
    """Settings from the backend's defaults and the task's own, checked.

    Raises:
        InvalidTask: an unknown setting (with the nearest known) or a wrong value.
    """
    known = {each.name for each in dataclasses.fields(FakeSettings)}
    values: dict[str, object] = {}
    for layer in layers:
        values |= layer
    for name, value in values.items():
        if name not in known:
            raise InvalidTask(f"{task_id}: {UnknownName('setting of a fake task', name, known)}")
        if isinstance(value, list):
            values[name] = tuple(cast("list[object]", value))
    try:
        return FakeSettings(**values)  # pyright: ignore[reportArgumentType]  # checked in __post_init__
    except (InvalidTask, TypeError) as error:
        raise InvalidTask(f"{task_id}: {error}") from None


@dataclass(frozen=True, kw_only=True, slots=True)
class FakeState:
    """All there is to know about the fake computer at one moment."""

    pressed: tuple[str, ...] = ()
    text: str = ""
    pointer: tuple[int, int] = (0, 0)

    def done(self, settings: FakeSettings) -> bool:
        """The goal was reached, or can no longer be."""
        if not settings.goal:
            return False
        return self.success(settings) or self.pressed != settings.goal[: len(self.pressed)]

    def success(self, settings: FakeSettings) -> bool:
        """The goal was reached."""
        return bool(settings.goal) and self.pressed == settings.goal

    def press(self, x: int, y: int, settings: FakeSettings) -> FakeState:
        """The state after a press there; an ended episode no longer changes."""
        moved = dataclasses.replace(self, pointer=(x, y))
        label = button_at(x, y, settings)
        if label is None or self.done(settings):
            return moved
        return dataclasses.replace(moved, pressed=(*self.pressed, label))


def button_boxes(settings: FakeSettings) -> dict[str, tuple[int, int, int, int]]:
    """Label -> left, top, right, bottom of its button in pixels."""
    room = settings.height_px - TITLE_PX - FIELD_PX
    each = room // len(settings.buttons)
    return {
        label: (
            GAP_PX,
            TITLE_PX + index * each + min(GAP_PX, each // 4),
            settings.width_px - GAP_PX,
            TITLE_PX + (index + 1) * each - min(GAP_PX, each // 4),
        )
        for index, label in enumerate(settings.buttons)
    }


def button_at(x: int, y: int, settings: FakeSettings) -> str | None:
    """The label of the button under a point."""
    for label, (left, top, right, bottom) in button_boxes(settings).items():
        if left <= x < right and top <= y < bottom:
            return label
    return None


@lru_cache(maxsize=512)
def draw(settings: FakeSettings, state: FakeState) -> Image:
    """The screen as PNG; the same state gives the same bytes."""
    picture = Picture.new("RGB", (settings.width_px, settings.height_px), (245, 245, 245))
    pen = ImageDraw.Draw(picture)
    colour = (
        (30, 130, 60) if state.success(settings) else (170, 40, 40) if state.done(settings) else (40, 60, 110)
    )
    pen.rectangle((0, 0, settings.width_px, TITLE_PX - 1), fill=colour)
    pen.text((6, 6), f"pressed {len(state.pressed)}", fill="white")
    for label, box in button_boxes(settings).items():
        pen.rectangle(
            box, fill=(200, 215, 200) if label in state.pressed else (215, 215, 225), outline=(90, 90, 90)
        )
        pen.text(((box[0] + box[2]) // 2, (box[1] + box[3]) // 2), label, fill="black", anchor="mm")
    pen.text((6, settings.height_px - FIELD_PX + 6), state.text[-40:], fill="black")
    return encoded(picture)
