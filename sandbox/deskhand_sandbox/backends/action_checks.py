"""What is wrong with an action on any screen, found before anything is done."""

from __future__ import annotations

import unicodedata

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    SCROLL_NOTCH_PX,
    Click,
    DeviceAction,
    Drag,
    MovePointer,
    Point,
    Press,
    Scroll,
    Swipe,
    Touch,
    Upload,
    Wait,
)

MAX_CLICKS = 10
MAX_WAIT_S = 600.0
LONGEST_TOUCH_MS = 60_000
MAX_SCROLL_PX = 10**18
"""Beyond any page, and still a number that Chromium reads."""
MAX_NOTCHES = 100
"""Turns of a wheel in one scroll: programs draw for each of them, and a call has a deadline."""


def check_action(action: DeviceAction, size_px: tuple[int, int]) -> None:
    """Refuse a pointer off the screen, and clicks, drags, key presses, touches, scrolls and waits that are
    none.

    Args:
        size_px: width and height of the screen.

    Raises:
        InvalidAction: says what is wrong.
    """
    match action:
        case Click(x=x, y=y, count=count):
            _on_screen(size_px, (x, y))
            if not 1 <= count <= MAX_CLICKS:
                raise InvalidAction(f"a click has 1 to {MAX_CLICKS} presses, not {count}")
        case MovePointer(x=x, y=y) | Upload(x=x, y=y):
            _on_screen(size_px, (x, y))
        case Scroll(x=x, y=y, dx_px=dx, dy_px=dy):
            _on_screen(size_px, (x, y))
            if max(abs(dx), abs(dy)) > MAX_SCROLL_PX:
                raise InvalidAction(f"a scroll goes up to {MAX_SCROLL_PX} pixels either way")
        case Touch(x=x, y=y, hold_ms=hold_ms):
            _on_screen(size_px, (x, y))
            _takes("a touch", hold_ms, LONGEST_TOUCH_MS, "ms")
        case Swipe(path=path, duration_ms=duration_ms):
            if len(path) < 2:
                raise InvalidAction(f"a swipe needs at least two points, not {len(path)}")
            _on_screen(size_px, *path)
            _takes("a swipe", duration_ms, LONGEST_TOUCH_MS, "ms")
        case Drag(path=path):
            if len(path) < 2:
                raise InvalidAction(f"a drag needs at least two points, not {len(path)}")
            _on_screen(size_px, *path)
        case Press(keys=()):
            raise InvalidAction("a key press needs at least one key")
        case Wait(seconds=seconds):
            _takes("a wait", seconds, MAX_WAIT_S, "seconds")
        case _:
            pass


def wheel_turns(distance_px: int) -> int:
    """A distance as turns of a wheel, with its sign: at least one for any, and at most `MAX_NOTCHES`."""
    if distance_px == 0:
        return 0
    turns = min(MAX_NOTCHES, max(1, round(abs(distance_px) / SCROLL_NOTCH_PX)))
    return turns if distance_px > 0 else -turns


def typed_text(text: str) -> str:
    """A text as it is typed on any screen: every line end is one Enter.

    Raises:
        InvalidAction: it holds a control character, or half a surrogate pair.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for character in text:
        if unicodedata.category(character) in ("Cc", "Cs") and character not in "\n\t":
            raise InvalidAction(f"{character!r} is no character a keyboard types")
    return text


def _takes(what: str, asked: float, most: float, unit: str) -> None:
    if not 0 <= asked <= most:
        raise InvalidAction(f"{what} takes 0 to {most:g} {unit}, not {asked!r:.20}")


def _on_screen(size_px: tuple[int, int], *points: Point) -> None:
    width, height = size_px
    for x, y in points:
        if not (0 <= x < width and 0 <= y < height):
            raise InvalidAction(f"({x}, {y}) is off the screen, which is {width} x {height} pixels")
