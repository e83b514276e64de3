"""AndroidWorld's JSON actions (arXiv 2405.14573; github.com/google-research/android_world, `json_action.py`
and `actuation.py`).

    {"action_type": "click", "x": 120, "y": 640}        or  {"action_type": "click", "index": 7}
    Reason: The list goes on. Action: {"action_type": "scroll", "direction": "down"}

An `index` names an element of the list its agents are shown: give the boxes, by their number as text. What
each kind does is what the published code does: `input_text` taps first, types and presses Enter; `scroll`
draws a finger from the middle of the screen (or element) to its edge, against the direction; `swipe` draws it
over the whole screen. Written, a text says no Enter of its own, and a distance is only a direction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_lowercase, digits
from typing import Literal, TypeAlias

from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.dialects.dialect import Dialect, View, Written
from deskhand_sandbox.dialects.fields import Fields, as_object
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Fail,
    Finish,
    History,
    JsonValue,
    OpenApp,
    Point,
    Press,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
)

_BEFORE = re.compile(r"\A(?!\s*\{).*Action:(?=\s*\{)", re.DOTALL)
"""What stands before the object of a whole reply."""

Direction: TypeAlias = Literal["up", "down", "left", "right"]

LONG_PRESS_MS = 1000
HELD_MS = 500
"""A touch from here on is written as a long press."""
SCROLL_MS = 300
SWIPE_MS = 500
ENTER = "Enter"
KEYCODES: Mapping[str, str] = {
    "KEYCODE_DEL": "Backspace",
    "KEYCODE_FORWARD_DEL": "Delete",
    "KEYCODE_ENTER": "Enter",
    "KEYCODE_TAB": "Tab",
    "KEYCODE_ESCAPE": "Escape",
    "KEYCODE_SPACE": " ",
    "KEYCODE_DPAD_UP": "ArrowUp",
    "KEYCODE_DPAD_DOWN": "ArrowDown",
    "KEYCODE_DPAD_LEFT": "ArrowLeft",
    "KEYCODE_DPAD_RIGHT": "ArrowRight",
    "KEYCODE_MOVE_HOME": "Home",
    "KEYCODE_MOVE_END": "End",
    "KEYCODE_PAGE_UP": "PageUp",
    "KEYCODE_PAGE_DOWN": "PageDown",
    "KEYCODE_BACK": "GoBack",
    "KEYCODE_HOME": "GoHome",
    "KEYCODE_APP_SWITCH": "AppSwitch",
    "KEYCODE_VOLUME_UP": "AudioVolumeUp",
    "KEYCODE_VOLUME_DOWN": "AudioVolumeDown",
    **{f"KEYCODE_{key.upper()}": key for key in ascii_lowercase + digits},
}
"""Android's name of a key -> ours."""
DIRECTIONS: Mapping[str, Direction] = {"up": "up", "down": "down", "left": "left", "right": "right"}
GOALS: Mapping[str, bool] = {
    "complete": True, "task_complete": True, "successful": True, "success": True, "infeasible": False,
}  # fmt: skip
"""What an agent says of its goal -> whether it holds it for reached."""


def read_action(source: object, view: View) -> tuple[Action, ...]:
    """The actions an object, its JSON, or a whole reply asks for.

    Raises:
        InvalidAction: no such kind of action, or wrong fields; says which.
    """
    if isinstance(source, str):
        source = _BEFORE.sub("", source, count=1)
    fields = Fields("the action", as_object(source))
    kind = fields.text("action_type").lower()
    fields.what = kind
    actions = _read(kind, fields, view)
    fields.done()
    return actions


def _read(kind: str, fields: Fields, view: View) -> tuple[Action, ...]:
    match kind:
        case "click" | "double_tap" | "long_press":
            return (_touch(kind, _known(kind, _place(fields, view))),)
        case "input_text":
            return _typed(fields, view)
        case "scroll" | "swipe":
            area = _area(fields, view)
            return (_stroke(kind, fields.choice("direction", DIRECTIONS), area),)
        case "keyboard_enter":
            return (Press(keys=(ENTER,)),)
        case "press_keyboard":
            return (Press(keys=(fields.choice("keycode", KEYCODES),)),)
        case "navigate_back":
            return (History(to="back"),)
        case "navigate_home":
            return (History(to="home"),)
        case "open_app":
            return (OpenApp(name=fields.text("app_name")),)
        case "wait":
            return (Wait(seconds=1.0),)
        case "status":
            return (Finish() if fields.choice("goal_status", GOALS) else Fail(),)
        case "answer":
            return (Answer(text=fields.text("text")),)
        case "unknown":
            return ()
        case _:
            raise InvalidAction(str(UnknownName("action_type", kind[:60], KINDS)))


KINDS = (
    "answer", "click", "double_tap", "input_text", "keyboard_enter", "long_press", "navigate_back",
    "navigate_home", "open_app", "press_keyboard", "scroll", "status", "swipe", "unknown", "wait",
)  # fmt: skip


def write_action(action: Action, view: View) -> tuple[Written, ...]:
    """The action as AndroidWorld has it.

    Raises:
        InvalidAction: it has nothing for it.
    """
    match action:
        case Click(x=x, y=y, button="left", count=1 | 2):
            return (_at("click" if action.count == 1 else "double_tap", (x, y), view),)
        case Touch(x=x, y=y):
            return (_at("long_press" if action.hold_ms >= HELD_MS else "click", (x, y), view),)
        case TypeText(text=text):
            told = (
                {"action_type": "input_text"}
                if view.pointer is None
                else _at("input_text", view.pointer, view)
            )
            return ({**told, "text": text.removesuffix("\n")},)
        case Press(keys=("Enter",)):
            return ({"action_type": "keyboard_enter"},)
        case History(to="back" | "home"):
            return ({"action_type": f"navigate_{action.to}"},)
        case Scroll():
            return ({"action_type": "scroll", "direction": _way(action.dx_px, action.dy_px)},)
        case Swipe(path=path):
            return (_written_stroke(path, view),)
        case OpenApp(name=name):
            return ({"action_type": "open_app", "app_name": name},)
        case Wait():
            return ({"action_type": "wait"},)
        case Finish():
            return ({"action_type": "status", "goal_status": "complete"},)
        case Fail():
            return ({"action_type": "status", "goal_status": "infeasible"},)
        case Answer(text=text):
            return ({"action_type": "answer", "text": text},)
        case _:
            raise InvalidAction(f"AndroidWorld has no action for {type(action).__name__}")


DIALECT = Dialect(read=read_action, write=write_action, frame=pixels)


# ---- reading


def _touch(kind: str, at: Point) -> Action:
    x, y = at
    if kind == "double_tap":
        return Click(x=x, y=y, count=2)
    return Touch(x=x, y=y, hold_ms=LONG_PRESS_MS) if kind == "long_press" else Touch(x=x, y=y)


def _typed(fields: Fields, view: View) -> tuple[Action, ...]:
    place = _place(fields, view)
    value = fields.take("text")
    text = value if isinstance(value, str) else "" if value is None else str(value)
    clear = fields.take("clear_text") is True
    actions: list[Action] = [] if place is None else [_touch("click", place)]
    if clear:
        actions += [Press(keys=("Control", "a")), Press(keys=("Backspace",))]
    if text:
        actions += [TypeText(text=text), Press(keys=(ENTER,))]
    return tuple(actions)


def _place(fields: Fields, view: View) -> Point | None:
    """Where an action is to be done; None where it does not say."""
    box = _box(fields, view)
    if box is not None:
        if fields.has("x") or fields.has("y"):
            raise InvalidAction(f"{fields.what} needs an index or x and y, not both")
        left, top, right, bottom = box
        return (left + right) // 2, (top + bottom) // 2
    if not (fields.has("x") or fields.has("y")):
        return None
    return view.frame.read((fields.number("x"), fields.number("y")))


def _known(kind: str, place: Point | None) -> Point:
    if place is None:
        raise InvalidAction(f"{kind} does not say where: it needs an index, or x and y")
    return place


def _box(fields: Fields, view: View) -> tuple[int, int, int, int] | None:
    """Left, top, right, bottom in pixels of the element an index names; None for no index."""
    index = fields.take("index")
    if index is None:
        return None
    if isinstance(index, bool) or not isinstance(index, int | str) or str(index) not in view.boxes:
        raise InvalidAction(f"{fields.what}: there is no element {index!r}, there are {len(view.boxes)}")
    left, top, right, bottom = view.boxes[str(index)]
    (x0, y0), (x1, y1) = view.frame.read((left, top)), view.frame.read((right, bottom))
    return x0, y0, x1, y1


def _area(fields: Fields, view: View) -> tuple[int, int, int, int]:
    """What a finger is drawn over."""
    width, height = view.frame.screen_px
    left, top, right, bottom = _box(fields, view) or (0, 0, width, height)
    return max(left, 0), max(top, 0), min(right, width), min(bottom, height)


def _stroke(kind: str, direction: Direction, area: tuple[int, int, int, int]) -> Swipe:
    left, top, right, bottom = area
    middle = (left + right) // 2, (top + bottom) // 2
    # the far edges are the last pixels
    near_x, near_y, far_x, far_y = left, top, max(left, right - 1), max(top, bottom - 1)
    edges: Mapping[Direction, Point] = {
        "up": (middle[0], near_y),
        "down": (middle[0], far_y),
        "left": (near_x, middle[1]),
        "right": (far_x, middle[1]),
    }
    against: Mapping[Direction, Direction] = {"up": "down", "down": "up", "left": "right", "right": "left"}
    if kind == "scroll":
        return Swipe(path=(middle, edges[against[direction]]), duration_ms=SCROLL_MS)
    # the published code draws left and right the other way round than up and down
    start = edges[against[direction]] if direction in ("up", "down") else edges[direction]
    end = edges[direction] if direction in ("up", "down") else edges[against[direction]]
    return Swipe(path=(start, end), duration_ms=SWIPE_MS)


# ---- writing


def _at(kind: str, point: Point, view: View) -> dict[str, JsonValue]:
    x, y = view.frame.write(point)
    return {"action_type": kind, "x": int(x), "y": int(y)}


def _way(dx: int, dy: int) -> Direction:
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"


def _written_stroke(path: tuple[Point, ...], view: View) -> Written:
    """A stroke over the whole screen as a swipe, a shorter one as a scroll."""
    if len(path) != 2:
        raise InvalidAction("AndroidWorld has straight swipes only")
    (x0, y0), (x1, y1) = path
    width, height = view.frame.screen_px
    area = (0, 0, width, height)
    for direction in DIRECTIONS.values():
        if _stroke("swipe", direction, area).path == path:
            return {"action_type": "swipe", "direction": direction}
    return {"action_type": "scroll", "direction": _way(x0 - x1, y0 - y1)}
