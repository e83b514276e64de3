"""Wheel turns as others count them: in notches, in one of four directions."""

from __future__ import annotations

from deskhand_sandbox.types import SCROLL_NOTCH_PX, Scroll

DIRECTIONS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
"""Direction -> what it shows more of, right and down."""


def notches(distance_px: int, *, notch_px: int = SCROLL_NOTCH_PX) -> int:
    """Whole notches of a distance, with its sign: the nearest number, but one at least where there is any."""
    if not distance_px:
        return 0
    return max(1, round(abs(distance_px) / notch_px)) * (1 if distance_px > 0 else -1)


def turns(scroll: Scroll, *, notch_px: int = SCROLL_NOTCH_PX) -> tuple[tuple[str, int], ...]:
    """A turn as directions with their notches, down or up first; empty for a turn of nothing."""
    down, right = notches(scroll.dy_px, notch_px=notch_px), notches(scroll.dx_px, notch_px=notch_px)
    found = (("down" if down > 0 else "up", abs(down)), ("right" if right > 0 else "left", abs(right)))
    return tuple(turn for turn in found if turn[1])
