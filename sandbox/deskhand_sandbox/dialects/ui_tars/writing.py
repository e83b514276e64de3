"""From actions to UI-TARS's calls."""

from __future__ import annotations

from deskhand_sandbox.dialects.calls import Value, write_call
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.dialects.key_names import from_w3c, with_shift
from deskhand_sandbox.dialects.ui_tars.reading import SCROLL_PX
from deskhand_sandbox.dialects.wheel import turns
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    AskUser,
    Button,
    Click,
    Drag,
    Finish,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    OpenApp,
    Point,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
)

LONG_FROM_MS = 500
"""A touch of this length is a long press."""
_CLICKS: dict[tuple[Button, int], str] = {
    ("left", 1): "click",
    ("left", 2): "left_double",
    ("right", 1): "right_single",
}


def write_action(action: Action, view: View, *, touch: bool, boxes: bool) -> tuple[str, ...]:
    """The calls that ask for an action; several in one reply stand with an empty line between.

    Args:
        touch: write the grammar for touch screens.
        boxes: write places as version 1.0 does.

    Raises:
        InvalidAction: the grammar has no call for it.
    """
    writer = _Writer(view, boxes=boxes)
    calls = writer.both(action) or (writer.touch(action) if touch else writer.computer(action))
    if not calls:
        kind = "touch screens" if touch else "computers"
        raise InvalidAction(f"UI-TARS's grammar for {kind} has no call for this {type(action).__name__}")
    return calls


class _Writer:
    def __init__(self, view: View, *, boxes: bool) -> None:
        self._view, self._boxes = view, boxes

    def both(self, action: Action) -> tuple[str, ...]:
        match action:
            case Scroll(x=x, y=y):
                place = self._place((x, y))
                return tuple(
                    write_call("scroll", **place, direction=direction)
                    for direction, count in turns(action, notch_px=SCROLL_PX)
                    for _ in range(count)
                )
            case TypeText(text=text):
                return (write_call("type", content=text),)
            case Wait(seconds=seconds):
                return (write_call("wait") if seconds else write_call("take_screenshot"),)
            case Finish(text=text):
                return (write_call("finished", **({"content": text} if text else {})),)
            case AskUser(question=question):
                return (write_call("call_user", **({"content": question} if question else {})),)
            case _:
                return ()

    def computer(self, action: Action) -> tuple[str, ...]:
        match action:
            case Click(x=x, y=y, button=button, count=count) if (button, count) in _CLICKS:
                return (write_call(_CLICKS[button, count], **self._place((x, y))),)
            case MovePointer(x=x, y=y):
                return (write_call("move_to", **self._place((x, y))),)
            case PointerDown(button=button):
                return (write_call("mouse_down", button=button),)
            case PointerUp(button=button):
                return (write_call("mouse_up", button=button),)
            case Drag(path=(start, end), button="left"):
                return (write_call("drag", **self._place(start, "start"), **self._place(end, "end")),)
            case Press(keys=keys):
                return (write_call("hotkey", key=" ".join(from_w3c(key) for key in with_shift(keys))),)
            case KeyDown(key=key):
                return (write_call("press", key=from_w3c(key)),)
            case KeyUp(key=key):
                return (write_call("release", key=from_w3c(key)),)
            case _:
                return ()

    def touch(self, action: Action) -> tuple[str, ...]:
        match action:
            case Touch(x=x, y=y, hold_ms=hold_ms):
                return (
                    write_call("long_press" if hold_ms >= LONG_FROM_MS else "click", **self._place((x, y))),
                )
            case Swipe(path=(start, end)):
                return (write_call("drag", **self._place(start, "start"), **self._place(end, "end")),)
            case OpenApp(name=name):
                return (write_call("open_app", app_name=name),)
            case History(to="home"):
                return (write_call("press_home"),)
            case History(to="back"):
                return (write_call("press_back"),)
            case _:
                return ()

    def _place(self, point: Point, which: str = "") -> dict[str, Value]:
        x, y = self._view.frame.write(point)
        if self._boxes:
            return {f"{which or 'start'}_box": f"<|box_start|>({x},{y})<|box_end|>"}
        return {f"{which}_point" if which else "point": f"<point>{x} {y}</point>"}
