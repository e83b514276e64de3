"""Between the screenshot's pixels and the frame somebody else writes coordinates in.

Everything else in Deskhand uses integer pixels of the screenshot. Others do not: Qwen2.5-VL and UI-TARS 1.5
write pixels of the resized picture they were shown, Qwen3-VL and UI-TARS 1.0 write 0..1000, some write 0..1,
browsers count CSS pixels, of which a HiDPI screen has several of its own to each, and our tiny model writes
pixels rounded to a grid it has tokens for. Each is a linear map, so one record holds them all.

How exact: there and back a position moves by at most half a step of the coarser frame and half a pixel (a
whole step at the far edge), and not at all where the frame is at least as fine as the screenshot
(`Frame.exact`). What lies on the screen stays on it; what lies beyond stays there, for the sandbox to refuse.

Only positions are converted. The distance of a wheel turn is no position: `Scroll.dx_px` and `dy_px` stay in
pixels of the screenshot in every frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    MovePointer,
    Point,
    Region,
    Scroll,
    Swipe,
    Touch,
    Upload,
    Zoom,
)

Position: TypeAlias = tuple[float, float]
"""A point with fractions, in whichever frame."""

NORMALISED_EXTENT = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The map for screenshots of one size."""

    screen_px: tuple[int, int]
    """Width and height of the screenshot."""
    extent: tuple[float, float]
    """What that width and height measure in the other frame."""
    step: int = 1
    """Only multiples of this are written (of the last decimal's unit, where there are decimals)."""
    inclusive: bool = False
    """The far edge itself can be written (1000 of 0..1000); otherwise the last is one step less."""
    decimals: int = 0
    """Digits written behind the point."""

    # ---- numbers as they stand in a text

    def read(self, position: Position) -> Point:
        """The pixel that coordinates name, as they stand in a text or an object.

        Coordinates inside the frame land on the screen; ones outside stay outside, so that the sandbox
        refuses the action instead of clicking somewhere nobody said.
        """
        x, y = (self._axis_to_screen(value * self._unit, axis) for axis, value in enumerate(position))
        return x, y

    def write(self, point: Point) -> Position:
        """The nearest coordinates that can be written for a pixel: whole numbers without decimals."""
        x, y = self.to_model(point)
        return (x, y) if self.decimals == 0 else (x / self._unit, y / self._unit)

    # ---- whole steps, as models write them

    def to_model(self, point: Point) -> Point:
        """The nearest coordinates that can be written for a pixel, in units of the last decimal."""
        x, y = (self._axis_to_model(value, axis) for axis, value in enumerate(point))
        return x, y

    def to_screen(self, point: Point) -> Point:
        """The pixel that coordinates name which are given in units of the last decimal."""
        x, y = (self._axis_to_screen(value, axis) for axis, value in enumerate(point))
        return x, y

    def action_to_model(self, action: Action) -> Action:
        """The action with every position in the other frame, in units of the last decimal."""
        return map_positions(action, self.to_model)

    def action_to_screen(self, action: Action) -> Action:
        """The action with every position in pixels of the screenshot."""
        return map_positions(action, self.to_screen)

    # ---- how fine

    @property
    def step_px(self) -> Position:
        """Pixels from one coordinate that can be written to the next, across and down."""
        x, y = (self.step * self.screen_px[axis] / self._ticks(axis) for axis in (0, 1))
        return x, y

    @property
    def exact(self) -> bool:
        """Every pixel can be written: there and back is the same pixel."""
        return max(self.step_px) <= 1

    @property
    def _unit(self) -> int:
        return 10**self.decimals

    def _ticks(self, axis: int) -> float:
        return self.extent[axis] * self._unit

    def _last(self, axis: int) -> int:
        return math.floor(self._ticks(axis)) if self.inclusive else math.ceil(self._ticks(axis)) - 1

    def _axis_to_model(self, value: int, axis: int) -> int:
        scaled = value * self._ticks(axis) / self.screen_px[axis]
        written = math.floor(scaled / self.step + 0.5) * self.step
        if not 0 <= value < self.screen_px[axis]:
            return written
        return min(written, self._last(axis) // self.step * self.step)

    def _axis_to_screen(self, value: float, axis: int) -> int:
        pixel = math.floor(value * self.screen_px[axis] / self._ticks(axis) + 0.5)
        inside = 0 <= value <= self._ticks(axis) if self.inclusive else 0 <= value < self._ticks(axis)
        if inside:
            return min(pixel, self.screen_px[axis] - 1)
        return min(pixel, -1) if value < 0 else max(pixel, self.screen_px[axis])


def pixels(screen_px: tuple[int, int]) -> Frame:
    """The frame of the screenshot itself."""
    return Frame(screen_px=screen_px, extent=screen_px)


def shown_at(screen_px: tuple[int, int], shown_px: tuple[int, int], *, decimals: int = 0) -> Frame:
    """Pixels of the screenshot as it was shown, shrunk or enlarged to `shown_px`."""
    return Frame(screen_px=screen_px, extent=shown_px, decimals=decimals)


def hidpi(screen_px: tuple[int, int], scale: float, *, decimals: int = 2) -> Frame:
    """CSS (logical) pixels of a screen that has `scale` of its own to each, across and down."""
    return Frame(screen_px=screen_px, extent=(screen_px[0] / scale, screen_px[1] / scale), decimals=decimals)


def thousandths(screen_px: tuple[int, int]) -> Frame:
    """0 at the near edge, 1000 at the far one."""
    extent = (NORMALISED_EXTENT, NORMALISED_EXTENT)
    return Frame(screen_px=screen_px, extent=extent, inclusive=True)


def fractions(screen_px: tuple[int, int], *, decimals: int = 4) -> Frame:
    """0 at the near edge, 1 at the far one."""
    return Frame(screen_px=screen_px, extent=(1, 1), inclusive=True, decimals=decimals)


def map_positions(action: Action, convert: Callable[[Point], Point]) -> Action:
    """The action with every position in it converted."""
    if isinstance(action, Click | MovePointer | Scroll | Touch | Upload):
        x, y = convert((action.x, action.y))
        return replace(action, x=x, y=y)
    if isinstance(action, Drag | Swipe):
        return replace(action, path=tuple(convert(point) for point in action.path))
    if isinstance(action, Zoom):
        return replace(action, start=convert(action.start), end=convert(action.end))
    return action


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """The map for a picture of a part of the screen, shrunk or enlarged."""

    region: Region
    shown_px: tuple[int, int]
    """Width and height of the picture."""

    def to_screen(self, point: Point) -> Point:
        """The pixel of the screen that a pixel of the picture shows.

        Raises:
            InvalidAction: it lies beyond the picture, so that nobody saw what is there.
        """
        width, height = self.shown_px
        if not (0 <= point[0] < width and 0 <= point[1] < height):
            raise InvalidAction(
                f"{point} is beyond the part of the screen shown, which is {width} x {height}"
            )
        x, y = self._frame.to_screen(point)
        return x + self.region[0], y + self.region[1]

    def to_part(self, point: Point) -> Point:
        """The pixel of the picture that shows a pixel of the screen; beyond it where the picture does not."""
        return self._frame.to_model((point[0] - self.region[0], point[1] - self.region[1]))

    def action_to_screen(self, action: Action) -> Action:
        """The action with every position in pixels of the screen.

        Raises:
            InvalidAction: one lies beyond the picture.
        """
        return map_positions(action, self.to_screen)

    def action_to_part(self, action: Action) -> Action:
        """The action with every position in pixels of the picture."""
        return map_positions(action, self.to_part)

    @property
    def _frame(self) -> Frame:
        left, top, right, bottom = self.region
        return shown_at((right - left, bottom - top), self.shown_px)


@dataclass(frozen=True, kw_only=True, slots=True)
class CoordinateSystem:
    """How a model writes coordinates, whatever the size of the screenshot."""

    kind: Literal["pixel", "resized", "normalised", "grid"] = "pixel"
    """Screenshot pixels as they are; pixels of the smart-resized picture (Qwen2.5-VL, UI-TARS 1.5); 0..1000
    (Qwen3-VL, UI-TARS 1.0); screenshot pixels in multiples of `step` (the tiny model)."""
    step: int = 1
    """Grid width for "grid"."""
    factor: int = 28
    """"resized": sides are multiples of this (patch times merge)."""
    min_pixels: int = 56 * 56
    """"resized": the picture is enlarged to at least this area."""
    max_pixels: int = 14 * 14 * 4 * 1280
    """"resized": the picture is shrunk to at most this area."""

    def frame(self, screen_px: tuple[int, int]) -> Frame:
        """The map for screenshots of this size (width, height)."""
        match self.kind:
            case "pixel":
                return pixels(screen_px)
            case "grid":
                return Frame(screen_px=screen_px, extent=screen_px, step=self.step)
            case "normalised":
                return thousandths(screen_px)
            case "resized":
                resized = smart_resize(
                    screen_px, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels
                )
                return shown_at(screen_px, resized)
            case _:
                assert_never(self.kind)


def smart_resize(
    size_px: tuple[int, int],
    *,
    factor: int = 28,
    min_pixels: int = 56 * 56,
    max_pixels: int = 14 * 14 * 4 * 1280,
) -> tuple[int, int]:
    """Width and height Qwen's image processors resize a picture of this width and height to.

    The rule of Qwen2-VL (arXiv 2409.12191): both sides multiples of `factor`, area within the bounds, aspect
    ratio kept as near as that allows. Kept here because endpoints resize on their side, where no processor
    is at hand to ask.
    """
    width, height = size_px
    new_width = max(factor, round(width / factor) * factor)
    new_height = max(factor, round(height / factor) * factor)
    if new_width * new_height > max_pixels:
        shrink = math.sqrt(width * height / max_pixels)
        new_width = max(factor, math.floor(width / shrink / factor) * factor)
        new_height = max(factor, math.floor(height / shrink / factor) * factor)
    elif new_width * new_height < min_pixels:
        grow = math.sqrt(min_pixels / (width * height))
        new_width = math.ceil(width * grow / factor) * factor
        new_height = math.ceil(height * grow / factor) * factor
    return new_width, new_height
