"""What several dialects say about pointers: clicks without a place, keys held meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Button,
    Click,
    Drag,
    KeyDown,
    KeyUp,
    MovePointer,
    Point,
    PointerDown,
    PointerUp,
    Scroll,
    Upload,
)


def click(place: Point | None, *, button: Button = "left", count: int = 1) -> tuple[Action, ...]:
    """Clicks at a place, or where the pointer is, wherever that is."""
    if place is None:
        return (PointerDown(button=button), PointerUp(button=button)) * count
    return (Click(x=place[0], y=place[1], button=button, count=count),)


def drag(start: Point | None, end: Point) -> tuple[Action, ...]:
    """A drag from a place, or from where the pointer is, wherever that is."""
    if start is None:
        return (PointerDown(), MovePointer(x=end[0], y=end[1]), PointerUp())
    return (Drag(path=(start, end)),)


def holding(keys: Iterable[str], actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """The actions with these keys down meanwhile."""
    held = tuple(keys)
    down, up = (KeyDown(key=key) for key in held), (KeyUp(key=key) for key in reversed(held))
    return (*down, *actions, *up)


def letting_go(done: Sequence[Action], left: Iterable[Action]) -> tuple[KeyUp | PointerUp, ...]:
    """What of the actions left undone ends what those that were done began to hold."""
    ups = (each for each in left if isinstance(each, KeyUp | PointerUp))
    return tuple(up for up in ups if _down(up) in done)


def known(what: str, place: Point | None) -> Point:
    """The place.

    Raises:
        InvalidAction: there is none.
    """
    if place is None:
        raise InvalidAction(f"{what} does not say where, and where the pointer is is not known")
    return place


def pointer_after(actions: Iterable[Action], before: Point | None = None) -> Point | None:
    """Where actions leave the pointer: the `pointer` that later ones are read with."""
    place = before
    for action in actions:
        match action:
            case Click(x=x, y=y) | MovePointer(x=x, y=y) | Scroll(x=x, y=y) | Upload(x=x, y=y):
                place = (x, y)
            case Drag(path=(*_, last)):
                place = last
            case _:
                pass
    return place


def _down(up: KeyUp | PointerUp) -> KeyDown | PointerDown:
    return KeyDown(key=up.key) if isinstance(up, KeyUp) else PointerDown(button=up.button)
