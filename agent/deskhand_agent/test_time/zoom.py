"""Looking closer: a part of the last screenshot, enlarged, in the place of the next one."""

from __future__ import annotations

import io
from dataclasses import replace

from deskhand_agent.coordinates import Part
from deskhand_sandbox.errors import InfrastructureError, InvalidAction
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Action, Observation, Point, Region, Zoom

LEAST_PX = 4
"""Sides of a part, at least: fewer pixels show nothing."""
MOST_RATIO = 100
"""Of a part's longer side to its shorter one: Qwen's models take no picture of a ratio above 200."""


def on_screen(action: Action, seen: Observation) -> Action:
    """The action with positions in pixels of the screen, where it was decided on a part of it.

    Raises:
        InvalidAction: a position lies beyond that part.
    """
    if seen.region is None:
        return action
    return Part(region=seen.region, shown_px=seen.size_px).action_to_screen(action)


def zoomed(action: Zoom, screen: Observation) -> Observation:
    """The part of a screen that is to be looked at, as large as the screen allows.

    Args:
        action: in pixels of the screen.
        screen: all of it, with the bytes of its screenshot.

    Raises:
        InvalidAction: the part does not lie on the screen, or is too small or too thin to show anything.
        InfrastructureError: the screenshot is no picture that can be read.
    """
    from PIL import Image as Picture

    region = _region(action.start, action.end, screen.size_px)
    left, top, right, bottom = region
    width, height = right - left, bottom - top
    scale = min(screen.size_px[0] / width, screen.size_px[1] / height)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    try:
        with Picture.open(io.BytesIO(screen.screenshot.data or b"")) as picture:
            part = picture.convert("RGB").resize(size, Picture.Resampling.LANCZOS, box=region)
    except (OSError, SyntaxError, ValueError, Picture.DecompressionBombError) as error:
        raise InfrastructureError(f"the screenshot is not a readable picture: {error}") from error
    # a tree has places in pixels of the whole screen
    return replace(
        screen, screenshot=encoded(part), region=region, text_tree=None, output=None, settled_ms=0.0
    )


def _region(start: Point, end: Point, size_px: tuple[int, int]) -> Region:
    left, right = sorted((start[0], end[0]))
    top, bottom = sorted((start[1], end[1]))
    if left < 0 or top < 0 or right >= size_px[0] or bottom >= size_px[1]:
        raise InvalidAction(f"{start} to {end} is not on the screen of {size_px[0]} x {size_px[1]}")
    shorter, longer = sorted((right + 1 - left, bottom + 1 - top))
    if shorter < LEAST_PX:
        raise InvalidAction(
            f"{start} to {end} is too small to show anything: {LEAST_PX} pixels each way at least"
        )
    if longer > MOST_RATIO * shorter:
        least = -(-longer // MOST_RATIO)
        raise InvalidAction(
            f"{start} to {end} is too thin to show: take {least} pixels or more the shorter way"
        )
    return left, top, right + 1, bottom + 1
