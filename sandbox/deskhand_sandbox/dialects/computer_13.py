"""OSWorld's `computer_13` actions (arXiv 2404.07972): objects with an `action_type` and `parameters`.

    {"action_type": "CLICK", "parameters": {"x": 10, "y": 20, "button": "left", "num_clicks": 2}}
    "DONE"

They mean what pyautogui's calls of the same kind mean. `WAIT` says no length: none is written. Lengths of the
wheel are whole notches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.dialects.dialect import Dialect, View, Written
from deskhand_sandbox.dialects.fields import as_object, shown
from deskhand_sandbox.dialects.key_names import from_w3c
from deskhand_sandbox.dialects.pyautogui import read_script
from deskhand_sandbox.dialects.pyautogui.calls import CallReader
from deskhand_sandbox.dialects.pyautogui.script import Call
from deskhand_sandbox.dialects.wheel import notches
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    Fail,
    Finish,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Point,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    TypeText,
    Wait,
)

_CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "MOVE_TO": ("moveTo", {"x": "x", "y": "y"}),
    "CLICK": ("click", {"x": "x", "y": "y", "button": "button", "num_clicks": "clicks"}),
    "MOUSE_DOWN": ("mouseDown", {"button": "button"}),
    "MOUSE_UP": ("mouseUp", {"button": "button"}),
    "RIGHT_CLICK": ("rightClick", {"x": "x", "y": "y"}),
    "DOUBLE_CLICK": ("doubleClick", {"x": "x", "y": "y"}),
    "DRAG_TO": ("dragTo", {"x": "x", "y": "y"}),
    "TYPING": ("write", {"text": "message"}),
    "PRESS": ("press", {"key": "keys"}),
    "KEY_DOWN": ("keyDown", {"key": "key"}),
    "KEY_UP": ("keyUp", {"key": "key"}),
}
"""Kind of action -> function of pyautogui, and its parameters' names there."""
_ENDS = ("WAIT", "FAIL", "DONE")
_OTHERS = {"SCROLL": {"dx", "dy"}, "HOTKEY": {"keys"}}


def read_action(action: object, *, pointer: Point | None = None) -> tuple[Action, ...]:
    """The actions an object asks for: mostly one.

    Args:
        action: as it came from JSON; parameters may also stand beside `action_type`.
        pointer: where the pointer is, for actions that do not say where; None: not known.

    Raises:
        InvalidAction: no such kind of action, or wrong parameters; says which.
    """
    kind, parameters = _parts(action)
    if kind in _ENDS:
        return read_script(kind)
    known = _OTHERS.get(kind) or set(_CALLS[kind][1])
    for name in parameters:
        if name not in known:
            raise InvalidAction(f"{kind}: {UnknownName('parameter', name, known)}")
    reader = CallReader(pointer)
    if kind == "SCROLL":
        for name, function in (("dx", "hscroll"), ("dy", "vscroll")):
            if parameters.get(name):
                reader.take(_call(function, {"clicks": parameters[name]}))
    elif kind == "HOTKEY":
        reader.take(_call("hotkey", {}, [parameters.get("keys")]))
    else:
        function, names = _CALLS[kind]
        reader.take(_call(function, {names[name]: value for name, value in parameters.items()}))
    return tuple(reader.actions)


def write_action(action: Action) -> tuple[Written, ...]:
    """The actions of theirs that ask for one of ours: several where theirs begin at the pointer.

    Raises:
        InvalidAction: they have none for it.
    """
    match action:
        case Click(x=x, y=y, button=button, count=count):
            return (_written("CLICK", x=x, y=y, button=button, num_clicks=count),)
        case MovePointer(x=x, y=y):
            return (_written("MOVE_TO", x=x, y=y),)
        case PointerDown(button=button):
            return (_written("MOUSE_DOWN", button=button),)
        case PointerUp(button=button):
            return (_written("MOUSE_UP", button=button),)
        case Drag(path=path, button=button):
            first, *others = (_written("MOVE_TO", x=x, y=y) for x, y in path)
            held, free = _written("MOUSE_DOWN", button=button), _written("MOUSE_UP", button=button)
            return (first, held, *others, free)
        case Scroll(x=x, y=y, dx_px=right, dy_px=down):
            turn = _written("SCROLL", dx=notches(right), dy=-notches(down))
            return (_written("MOVE_TO", x=x, y=y), turn)
        case _:
            return (_write_other(action),)


def _write_other(action: Action) -> Written:
    match action:
        case TypeText(text=text):
            return _written("TYPING", text=text)
        case Press(keys=(key,)):
            return _written("PRESS", key=from_w3c(key))
        case Press(keys=keys):
            return _written("HOTKEY", keys=[from_w3c(key) for key in keys])
        case KeyDown(key=key):
            return _written("KEY_DOWN", key=from_w3c(key))
        case KeyUp(key=key):
            return _written("KEY_UP", key=from_w3c(key))
        case Wait():
            return "WAIT"
        case Finish():
            return "DONE"
        case Fail():
            return "FAIL"
        case _:
            raise InvalidAction(f"computer_13 has no action for this {type(action).__name__}")


def _written(kind: str, **parameters: JsonValue) -> Written:
    return {"action_type": kind, "parameters": dict(parameters)}


def _read(source: object, view: View) -> tuple[Action, ...]:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        source = as_object(source)
    pointer = None if view.pointer is None else view.frame.to_model(view.pointer)
    return tuple(view.frame.action_to_screen(action) for action in read_action(source, pointer=pointer))


def _write(action: Action, view: View) -> tuple[Written, ...]:
    return write_action(view.frame.action_to_model(action))


DIALECT = Dialect(read=_read, write=_write, frame=pixels)


def _parts(action: object) -> tuple[str, Mapping[str, JsonValue]]:
    if isinstance(action, str):
        kind, parameters = action, {}
    elif isinstance(action, Mapping):
        fields = dict(cast("Mapping[str, JsonValue]", action))
        kind = fields.pop("action_type", None)
        parameters = fields.pop("parameters", None) or fields
    else:
        raise InvalidAction(f"an action is an object with action_type and parameters, not {shown(action)}")
    kinds = (*_CALLS, *_OTHERS, *_ENDS)
    if not isinstance(kind, str) or kind.upper() not in kinds:
        raise InvalidAction(str(UnknownName("action_type", kind if isinstance(kind, str) else "", kinds)))
    if not isinstance(parameters, Mapping):
        raise InvalidAction(f"the parameters of {kind} must be an object, not {shown(parameters)}")
    named = cast("Mapping[object, JsonValue]", parameters)
    return kind.upper(), {name: value for name, value in named.items() if isinstance(name, str)}


def _call(function: str, named: Mapping[str, JsonValue], positional: list[JsonValue] | None = None) -> Call:
    return Call(name=f"pyautogui.{function}", positional=list(positional or []), named=dict(named), line=1)
