"""What is wrong with an action on any screen, found before anything is done."""

from __future__ import annotations

import unicodedata

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
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


def check_action(action: DeviceAction, size_px: tuple[int, int]) -> None:
    """Refuse a pointer off the screen, and clicks, drags, key presses and waits that are none.

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
        case MovePointer(x=x, y=y) | Scroll(x=x, y=y):
            _on_screen(size_px, (x, y))
        case Touch(x=x, y=y) | Upload(x=x, y=y):
            _on_screen(size_px, (x, y))
        case Swipe(path=path):
            if len(path) < 2:
                raise InvalidAction(f"a swipe needs at least two points, not {len(path)}")
            _on_screen(size_px, *path)
        case Drag(path=path):
            if len(path) < 2:
                raise InvalidAction(f"a drag needs at least two points, not {len(path)}")
            _on_screen(size_px, *path)
        case Press(keys=()):
            raise InvalidAction("a key press needs at least one key")
        case Wait(seconds=seconds):
            if not 0 <= seconds <= MAX_WAIT_S:
                raise InvalidAction(f"a wait takes 0 to {MAX_WAIT_S:g} seconds, not {seconds:g}")
        case _:
            pass


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


def _on_screen(size_px: tuple[int, int], *points: Point) -> None:
    width, height = size_px
    for x, y in points:
        if not (0 <= x < width and 0 <= y < height):
            raise InvalidAction(f"({x}, {y}) is off the screen, which is {width} x {height} pixels")
