"""OpenAI's computer actions (docs: guides/tools-computer-use; `ComputerAction` of the `openai` package).

    {"type": "computer_call", "actions": [{"type": "click", "x": 405, "y": 157, "button": "left"}]}
    {"type": "keypress", "keys": ["CTRL", "L"]}

Whole `computer_call` items, lists of actions and single ones are read. `screenshot` asks to look: it is read
as a wait of no seconds. `wait` says no length: it is read as two seconds, and no length is written. In a
chord a capital names the key (Shift stands for itself), as the model writes "CTRL", "L". The side buttons
`back` and `forward` are the history's steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from deskhand_sandbox.dialects.coordinates import Position, pixels
from deskhand_sandbox.dialects.dialect import Dialect, View, Written
from deskhand_sandbox.dialects.fields import Fields, as_object
from deskhand_sandbox.dialects.key_names import to_w3c, with_shift
from deskhand_sandbox.dialects.pointing import holding
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Button,
    Click,
    Drag,
    History,
    JsonValue,
    MovePointer,
    Point,
    Press,
    Scroll,
    TypeText,
    Wait,
)

WAIT_S = 2.0
MAX_ACTIONS = 1000
"""Of one call."""

_BUTTONS: Mapping[str, Button] = {"left": "left", "right": "right", "wheel": "middle"}
_WRITTEN_BUTTONS = {ours: theirs for theirs, ours in _BUTTONS.items()}
_STEPS = {"back": History(to="back"), "forward": History(to="forward")}
_KEYS = {"Control": "CTRL", "Meta": "CMD", "Escape": "ESC", " ": "SPACE"}
"""Our name -> theirs, where it is not ours in capitals."""

_Reader: TypeAlias = Callable[[Fields, View], tuple[Action, ...]]


def read_call(source: object, view: View) -> tuple[Action, ...]:
    """The actions a computer call asks for.

    Args:
        source: a `computer_call` item, a list of actions or one of them, as an object or as JSON.

    Raises:
        InvalidAction: no such action, or wrong fields; says which.
    """
    call = as_object(source)
    if isinstance(call, Mapping) and (call.get("action") or call.get("actions")):
        item = cast("Mapping[str, object]", call)
        call = item.get("actions") or [item["action"]]
    several = cast("list[object]", call) if isinstance(call, list) else [call]
    if not 1 <= len(several) <= MAX_ACTIONS:
        raise InvalidAction(f"a call holds 1 to {MAX_ACTIONS} actions, not {len(several)}")
    return tuple(action for each in several for action in _read_one(each, view))


def write_action(action: Action, view: View) -> tuple[Written, ...]:
    """The actions of theirs that ask for one of ours.

    Raises:
        InvalidAction: they have none for it.
    """
    match action:
        case Click(x=x, y=y, button=button, count=1):
            return ({"type": "click", "button": _WRITTEN_BUTTONS[button], **_at(view, (x, y))},)
        case Click(x=x, y=y, button="left", count=2):
            return ({"type": "double_click", **_at(view, (x, y))},)
        case MovePointer(x=x, y=y):
            return ({"type": "move", **_at(view, (x, y))},)
        case Drag(path=path, button="left"):
            return ({"type": "drag", "path": [_at(view, point) for point in path]},)
        case Scroll(x=x, y=y, dx_px=right, dy_px=down):
            return ({"type": "scroll", **_at(view, (x, y)), "scroll_x": right, "scroll_y": down},)
        case TypeText(text=text):
            return ({"type": "type", "text": text},)
        case Press(keys=keys):
            return ({"type": "keypress", "keys": [_write_key(key) for key in with_shift(keys)]},)
        case Wait(seconds=seconds):
            return ({"type": "wait" if seconds else "screenshot"},)
        case History(to="back" | "forward" as step):
            return ({"type": "click", "button": step, **_at(view, view.pointer or (0, 0))},)
        case _:
            raise InvalidAction(f"OpenAI's computer tool has no action for this {type(action).__name__}")


def write_held(keys: tuple[str, ...], action: Action, view: View) -> tuple[Written, ...]:
    """The action of theirs that asks for one of ours with keys held meanwhile.

    Raises:
        InvalidAction: they have none for it.
    """
    if not isinstance(action, Click | MovePointer | Drag | Scroll):
        raise InvalidAction(
            f"OpenAI's computer tool has no action for a {type(action).__name__} with keys held"
        )
    held: list[JsonValue] = [_write_key(key) for key in keys]
    return tuple({**each, "keys": held} for each in write_action(action, view) if isinstance(each, dict))


DIALECT = Dialect(read=read_call, write=write_action, frame=pixels, hold=write_held)


# ---- reading


def _read_one(source: object, view: View) -> tuple[Action, ...]:
    fields = Fields("an action", source)
    read = fields.choice("type", _READERS)
    actions = read(fields, view)
    keys = _read_keys(fields.texts("keys"), chord=True)
    fields.done()
    return holding(keys, actions)


def _place(fields: Fields, view: View) -> Point:
    return view.frame.read((fields.number("x"), fields.number("y")))


def _click(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = _place(fields, view)
    return fields.choice(
        "button",
        {name: (Click(x=x, y=y, button=button),) for name, button in _BUTTONS.items()}
        | {name: (step,) for name, step in _STEPS.items()},
        "left",
    )


def _double_click(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = _place(fields, view)
    return (Click(x=x, y=y, count=2),)


def _move(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = _place(fields, view)
    return (MovePointer(x=x, y=y),)


def _drag(fields: Fields, view: View) -> tuple[Action, ...]:
    path = fields.take("path")
    points = cast("list[object]", path) if isinstance(path, list) else []
    if not 2 <= len(points) <= MAX_ACTIONS:
        raise InvalidAction(f"the path of drag must be a list of 2 to {MAX_ACTIONS} points")
    places: list[Position] = [Fields("drag", {"path": point}).position("path") for point in points]
    return (Drag(path=tuple(view.frame.read(place) for place in places)),)


def _scroll(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = _place(fields, view)
    right, down = (
        round(fields.number(name if fields.has(name) else other, 0))
        for name, other in (("scroll_x", "scrollX"), ("scroll_y", "scrollY"))
    )
    return (Scroll(x=x, y=y, dx_px=right, dy_px=down),)


def _keypress(fields: Fields, view: View) -> tuple[Action, ...]:
    keys = fields.texts("keys")
    if not keys or not all(keys):
        raise InvalidAction("keypress needs the names of keys")
    return (Press(keys=_read_keys(keys, chord=len(keys) > 1)),)


def _type(fields: Fields, view: View) -> tuple[Action, ...]:
    return (TypeText(text=fields.text("text")),)


def _wait(fields: Fields, view: View) -> tuple[Action, ...]:
    return (Wait(seconds=WAIT_S),)


def _look(fields: Fields, view: View) -> tuple[Action, ...]:
    return (Wait(seconds=0.0),)


def _read_keys(keys: tuple[str, ...], *, chord: bool) -> tuple[str, ...]:
    return tuple(key.lower() if chord and len(key) == 1 else to_w3c(key) for key in keys)


def _write_key(key: str) -> str:
    if len(key) == 1 and key != " ":
        return key
    return _KEYS.get(key, key.upper())


def _at(view: View, point: Point) -> dict[str, JsonValue]:
    x, y = view.frame.write(point)
    return {"x": x, "y": y}


_READERS: Mapping[str, _Reader] = {
    "click": _click,
    "double_click": _double_click,
    "move": _move,
    "drag": _drag,
    "scroll": _scroll,
    "keypress": _keypress,
    "type": _type,
    "wait": _wait,
    "screenshot": _look,
}
