"""Between the screenshot's pixels and the frame a model writes its coordinates in.

Everything else in Deskhand uses integer pixels of the screenshot. Models do not: Qwen2.5-VL and UI-TARS
write pixels of the resized picture they were shown, Qwen3-VL writes 0..1000, the tiny model writes pixels
rounded to a grid it has tokens for. Each is a linear map, so one record holds them all.

Only positions are converted. The distance of a wheel turn is no position: `Scroll.dx_px` and `dy_px` stay in
pixels of the screenshot in every frame.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, assert_never

from deskhand_sandbox.types import Action, Click, Drag, MovePointer, Point, Scroll, Swipe, Touch

NORMALISED_EXTENT = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """The map for screenshots of one size."""

    screen_px: tuple[int, int]
    """Width and height of the screenshot."""
    extent: tuple[int, int]
    """What that width and height measure in the model's frame."""
    step: int = 1
    """The model writes multiples of this only."""
    inclusive: bool = False
    """The far edge itself can be written (1000 of 0..1000); otherwise the last coordinate is extent - 1."""

    def to_model(self, point: Point) -> Point:
        """The nearest coordinates the model can write for a pixel of the screenshot."""
        x, y = (self._axis_to_model(value, axis) for axis, value in enumerate(point))
        return x, y

    def to_screen(self, point: Point) -> Point:
        """The pixel that the model's coordinates name.

        Coordinates inside the model's frame land on the screen; ones outside stay outside, so that the
        sandbox refuses the action instead of clicking somewhere the model did not say.
        """
        x, y = (self._axis_to_screen(value, axis) for axis, value in enumerate(point))
        return x, y

    def action_to_model(self, action: Action) -> Action:
        """The action with every position in the model's frame."""
        return _map_positions(action, self, "to_model")

    def action_to_screen(self, action: Action) -> Action:
        """The action with every position in pixels of the screenshot."""
        return _map_positions(action, self, "to_screen")

    def _last(self, axis: int) -> int:
        return self.extent[axis] if self.inclusive else self.extent[axis] - 1

    def _axis_to_model(self, value: int, axis: int) -> int:
        scaled = value * self.extent[axis] / self.screen_px[axis]
        written = math.floor(scaled / self.step + 0.5) * self.step
        if not 0 <= value < self.screen_px[axis]:
            return written
        return min(written, self._last(axis) // self.step * self.step)

    def _axis_to_screen(self, value: int, axis: int) -> int:
        pixel = math.floor(value * self.screen_px[axis] / self.extent[axis] + 0.5)
        if 0 <= value <= self._last(axis):
            return min(pixel, self.screen_px[axis] - 1)
        return pixel if value < 0 else max(pixel, self.screen_px[axis])


def _map_positions(action: Action, frame: Frame, way: Literal["to_model", "to_screen"]) -> Action:
    match way:
        case "to_model":
            convert = frame.to_model
        case "to_screen":
            convert = frame.to_screen
        case _:
            assert_never(way)
    if isinstance(action, Click | MovePointer | Scroll | Touch):
        x, y = convert((action.x, action.y))
        return replace(action, x=x, y=y)
    if isinstance(action, Drag | Swipe):
        return replace(action, path=tuple(convert(point) for point in action.path))
    return action


@dataclass(frozen=True, kw_only=True, slots=True)
class CoordinateSystem:
    """How a model writes coordinates, whatever the size of the screenshot."""

    kind: Literal["pixel", "resized", "normalised", "grid"] = "pixel"
    """Screenshot pixels as they are; pixels of the smart-resized picture (Qwen2.5-VL, UI-TARS); 0..1000
    (Qwen3-VL); screenshot pixels in multiples of `step` (the tiny model)."""
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
                return Frame(screen_px=screen_px, extent=screen_px)
            case "grid":
                return Frame(screen_px=screen_px, extent=screen_px, step=self.step)
            case "normalised":
                extent = (NORMALISED_EXTENT, NORMALISED_EXTENT)
                return Frame(screen_px=screen_px, extent=extent, inclusive=True)
            case "resized":
                resized = smart_resize(
                    screen_px, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels
                )
                return Frame(screen_px=screen_px, extent=resized)
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
