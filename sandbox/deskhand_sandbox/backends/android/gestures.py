"""Actions of the pointer as command lines of Android's `input`."""

from __future__ import annotations

from itertools import pairwise

from deskhand_sandbox.errors import UnsupportedCapability
from deskhand_sandbox.types import Click, DeviceAction, Drag, Point, Scroll, Swipe, Touch

LONG_PRESS_MS = 800
TAP_MS = 100
"""A touch no longer than this is a tap."""
SCROLL_MS_PER_PX = 1.5
"""Slow enough that what is scrolled does not run on when the finger is lifted."""
SCROLL_ROOM = 0.8
"""Share of the screen a finger goes over in one stroke of a scroll."""
MAX_STROKES = 8
"""Of one scroll: more would take longer than any call may."""
MAX_POINTS = 40
"""Of one path that the finger goes by: each is a command of its own."""
STROKE_S, EVENT_S = 2.5, 0.5
"""What a stroke of a scroll, and any other command of `input`, may take on a slow device."""


def takes_s(action: DeviceAction) -> float:
    """Seconds a gesture may take beyond what it asks for itself (`asked_s`)."""
    match action:
        case Scroll():
            return STROKE_S * MAX_STROKES
        case Swipe(path=path) | Drag(path=path):
            return EVENT_S * min(len(path), MAX_POINTS)
        case Click(count=count):
            return EVENT_S * count
        case _:
            return 0.0


def click_lines(action: Click) -> list[str]:
    """A click as taps; the right button is a long press."""
    if action.button == "middle":
        raise UnsupportedCapability("a touch screen has no middle button")
    if action.button == "right":
        return [_swipe((action.x, action.y), (action.x, action.y), LONG_PRESS_MS)]
    return [f"input tap {action.x} {action.y}"] * action.count


def touch_lines(action: Touch) -> list[str]:
    """A tap, or a press as long as asked."""
    if action.hold_ms <= TAP_MS:
        return [f"input tap {action.x} {action.y}"]
    return [_swipe((action.x, action.y), (action.x, action.y), action.hold_ms)]


def swipe_lines(action: Swipe) -> list[str]:
    """A stroke; one with corners goes by single events of the finger."""
    if len(action.path) == 2:
        return [_swipe(action.path[0], action.path[1], action.duration_ms)]
    path = _thinned(action.path)
    return _events(path, action.duration_ms / 1000 / (len(path) - 1))


def drag_lines(action: Drag) -> list[str]:
    """Press long, move, let go: how things are dragged on a touch screen."""
    if len(action.path) == 2:
        (x0, y0), (x1, y1) = action.path
        return [f"input draganddrop {x0} {y0} {x1} {y1} 1000"]
    return _events(_thinned(action.path), 0.1, hold_s=LONG_PRESS_MS / 1000)


def scroll_lines(action: Scroll, size_px: tuple[int, int]) -> list[str]:
    """Strokes of a finger against the way the content moves, as many as the distance takes.

    They start where the action points, or nearer the middle where there is no room that way.
    """
    lines: list[str] = []
    for axis, distance in ((1, action.dy_px), (0, action.dx_px)):
        left = distance
        while left and len(lines) < MAX_STROKES:
            room = int(size_px[axis] * SCROLL_ROOM)
            part = max(-room, min(room, left))
            start = [action.x, action.y]
            low, high = max(0, part), size_px[axis] - 1 + min(0, part)
            start[axis] = min(max(start[axis], low), high)
            end = list(start)
            end[axis] -= part
            duration = max(200, round(abs(part) * SCROLL_MS_PER_PX))
            lines.append(_swipe((start[0], start[1]), (end[0], end[1]), duration))
            left -= part
    return lines


def finger_line(what: str, at: Point) -> str:
    """One event of the finger: DOWN, MOVE or UP."""
    return f"input motionevent {what} {at[0]} {at[1]}"


def scaled(point: Point, screenshot_px: tuple[int, int], input_px: tuple[int, int]) -> Point:
    """A pixel of the screenshot as `input` counts, where a display is drawn at another size than shown."""
    if screenshot_px == input_px:
        return point
    (x, y), (width, height), (across, down) = point, screenshot_px, input_px
    return (2 * x + 1) * across // (2 * width), (2 * y + 1) * down // (2 * height)


def _thinned(path: tuple[Point, ...]) -> tuple[Point, ...]:
    """At most `MAX_POINTS` of a path's points, its ends among them."""
    if len(path) <= MAX_POINTS:
        return path
    return tuple(path[round(at * (len(path) - 1) / (MAX_POINTS - 1))] for at in range(MAX_POINTS))


def _swipe(start: Point, end: Point, duration_ms: int) -> str:
    return f"input swipe {start[0]} {start[1]} {end[0]} {end[1]} {duration_ms}"


def _events(path: tuple[Point, ...], pause_s: float, hold_s: float = 0.0) -> list[str]:
    lines = [finger_line("DOWN", path[0])]
    if hold_s:
        lines.append(f"sleep {hold_s:g}")
    for _, point in pairwise(path):
        lines += [f"sleep {pause_s:.3f}", finger_line("MOVE", point)]
    return [*lines, finger_line("UP", path[-1])]
