"""From actions to BrowserGym's calls, by place."""

from __future__ import annotations

from deskhand_sandbox.dialects.browsergym.keys import write_keys
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.dialects.pointing import known
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Drag,
    Fail,
    History,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    Point,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    Tab,
    TypeText,
    Upload,
    Wait,
)

_CLICKS = {1: "mouse_click", 2: "mouse_dblclick"}


def write_action(action: Action, view: View) -> tuple[str, ...]:
    """The calls that ask for an action.

    Raises:
        InvalidAction: there is no call for it, or a button is to be pressed where the pointer is and that is
            not known.
    """
    match action:
        case Click(count=1 | 2) | MovePointer() | PointerDown() | PointerUp() | Drag() | Scroll() | Upload():
            return _write_pointer(action, view)
        case TypeText(text=text):
            return (_call("keyboard_type", text),)
        case Press(keys=keys):
            return (_call("keyboard_press", write_keys(keys)),)
        case KeyDown(key=key):
            return (_call("keyboard_down", write_keys((key,))),)
        case KeyUp(key=key):
            return (_call("keyboard_up", write_keys((key,))),)
        case Wait(seconds=seconds):
            milliseconds = seconds * 1000
            return (_call("noop", int(milliseconds) if milliseconds == int(milliseconds) else milliseconds),)
        case Answer(text=text):
            return (_call("send_msg_to_user", text),)
        case Fail(reason=reason):
            return (_call("report_infeasible", reason),)
        case _:
            return (_write_page(action),)


def _write_page(action: Action) -> str:
    match action:
        case Navigate(url=url):
            return _call("goto", url)
        case History(to="back" | "forward" as step):
            return _call(f"go_{step}")
        case Tab(do="open"):
            return _call("new_tab")
        case Tab(do="focus", index=int(index)):
            return _call("tab_focus", index)
        case Tab(do="close", index=None):
            return _call("tab_close")
        case _:
            raise InvalidAction(f"BrowserGym has no call for this {type(action).__name__}")


def _write_pointer(
    action: Click | MovePointer | PointerDown | PointerUp | Drag | Scroll | Upload, view: View
) -> tuple[str, ...]:
    def place(point: Point) -> tuple[float, ...]:
        return view.frame.write(point)

    match action:
        case Click(x=x, y=y, button=button, count=count):
            return (_call(_CLICKS[count], *place((x, y)), *_unless_left(button)),)
        case MovePointer(x=x, y=y):
            return (_call("mouse_move", *place((x, y))),)
        case PointerDown(button=button) | PointerUp(button=button):
            name = "mouse_down" if isinstance(action, PointerDown) else "mouse_up"
            return (_call(name, *place(known(name, view.pointer)), *_unless_left(button)),)
        case Drag(path=(start, end), button="left"):
            return (_call("mouse_drag_and_drop", *place(start), *place(end)),)
        case Drag(path=path, button=button) if len(path) >= 2:
            return (
                _call("mouse_down", *place(path[0]), *_unless_left(button)),
                *(_call("mouse_move", *place(point)) for point in path[1:-1]),
                _call("mouse_up", *place(path[-1]), *_unless_left(button)),
            )
        case Scroll(x=x, y=y, dx_px=right, dy_px=down):
            return (_call("scroll_at", *place((x, y)), right, down),)
        case Upload(x=x, y=y, paths=paths):
            return (_call("mouse_upload_file", *place((x, y)), paths[0] if len(paths) == 1 else [*paths]),)
        case _:
            raise InvalidAction("a drag needs at least two points")


def _unless_left(button: str) -> tuple[str, ...]:
    return () if button == "left" else (button,)


def _call(name: str, *arguments: float | str | list[str]) -> str:
    return f"{name}({', '.join(repr(argument) for argument in arguments)})"
