"""From actions to Anthropic's tool calls."""

from __future__ import annotations

import math

from deskhand_sandbox.dialects.anthropic.reading import BASH, CLICKS, COMPUTER, EDITORS
from deskhand_sandbox.dialects.dialect import View, Written
from deskhand_sandbox.dialects.keysyms import write_chord
from deskhand_sandbox.dialects.wheel import turns
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    EditFile,
    JsonValue,
    MovePointer,
    Point,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    TypeText,
    Wait,
    WriteFile,
)

_FIRST, _TOOLSET = 20241022, 20260801
_SINCE_2025 = ("triple_click", "scroll", "wait", "hold_key", "left_mouse_down", "left_mouse_up")
_NAMES = {meaning: name for name, meaning in CLICKS.items()}


def write_action(action: Action, view: View, *, version: int) -> tuple[Written, ...]:
    """The tool calls that ask for an action: a tool's name and its input each.

    Raises:
        InvalidAction: the tools of this version have none for it.
    """
    return _Writer(view, version).calls(action)


def write_held(keys: tuple[str, ...], action: Action, view: View, *, version: int) -> tuple[Written, ...]:
    """The tool call that asks for an action with keys held meanwhile.

    Raises:
        InvalidAction: the tools of this version have none for it.
    """
    return _Writer(view, version).held(keys, action)


class _Writer:
    def __init__(self, view: View, version: int) -> None:
        self._view, self._version = view, version
        self._more: dict[str, JsonValue] = {}

    def calls(self, action: Action) -> tuple[Written, ...]:
        match action:
            case Run(command=command):
                return ({"name": BASH, "input": {"command": command}},)
            case ReadFile(path=path):
                return self._edit("view", path)
            case WriteFile(path=path, content=content):
                return self._edit("create", path, file_text=content)
            case EditFile(path=path, old=old, new=new):
                return self._edit("str_replace", path, old_str=old, new_str=new)
            case TypeText(text=text):
                return self._computer("type", text=text)
            case Press(keys=keys):
                return self._computer("key", text=write_chord(keys))
            case Wait(seconds=seconds):
                return self._wait(seconds)
            case _:
                return self._pointer(action)

    def held(self, keys: tuple[str, ...], action: Action) -> tuple[Written, ...]:
        chord = write_chord(keys)
        match action:
            case Wait(seconds=seconds):
                return self._computer("hold_key", text=chord, duration=self._seconds(seconds))
            case Click() | Drag(path=(_, _)) | Scroll() if self._version > _FIRST:
                self._more = {"text": chord}
                calls = self._pointer(action)
            case _:
                calls = ()
        # of two calls each would press and release them
        if len(calls) != 1 or (isinstance(action, Scroll) and not turns(action)):
            raise InvalidAction(
                f"Anthropic's tools have no call for this {type(action).__name__} with {chord} held"
            )
        return calls

    def _pointer(self, action: Action) -> tuple[Written, ...]:
        match action:
            case Click(x=x, y=y, button=button, count=count) if (button, count) in _NAMES:
                return self._click(_NAMES[button, count], (x, y))
            case MovePointer(x=x, y=y):
                return self._computer("mouse_move", coordinate=self._place((x, y)))
            case PointerDown(button="left"):
                return self._computer("left_mouse_down")
            case PointerUp(button="left"):
                return self._computer("left_mouse_up")
            case Drag(path=path, button="left"):
                return self._drag(path)
            case Scroll(x=x, y=y):
                place = self._place((x, y))
                calls = [
                    self._computer("scroll", coordinate=place, scroll_direction=way, scroll_amount=count)
                    for way, count in turns(action)
                ]
                return sum(calls, ()) or self._computer("mouse_move", coordinate=place)
            case _:
                raise InvalidAction(f"Anthropic's tools have no call for this {type(action).__name__}")

    def _click(self, name: str, place: Point) -> tuple[Written, ...]:
        if self._version > _FIRST:
            return self._computer(name, coordinate=self._place(place))
        return (*self._computer("mouse_move", coordinate=self._place(place)), *self._computer(name))

    def _drag(self, path: tuple[Point, ...]) -> tuple[Written, ...]:
        places: list[JsonValue] = [self._place(point) for point in path]
        start = self._computer("mouse_move", coordinate=places[0])
        if len(places) == 2 and self._version > _FIRST:
            return self._computer("left_click_drag", start_coordinate=places[0], coordinate=places[1])
        if len(places) == 2:
            return (*start, *self._computer("left_click_drag", coordinate=places[1]))
        moves = [call for place in places[1:] for call in self._computer("mouse_move", coordinate=place)]
        return (*start, *self._computer("left_mouse_down"), *moves, *self._computer("left_mouse_up"))

    def _wait(self, seconds: float) -> tuple[Written, ...]:
        if seconds == 0:
            return self._computer("screenshot")
        return self._computer("wait", duration=self._seconds(seconds))

    def _seconds(self, seconds: float) -> float:
        # since the toolset, seconds are whole
        whole = self._version >= _TOOLSET or seconds == int(seconds)
        return math.ceil(seconds) if whole else seconds

    def _place(self, point: Point) -> JsonValue:
        return list(self._view.frame.write(point))

    def _computer(self, kind: str, **fields: JsonValue) -> tuple[Written, ...]:
        fields |= self._more
        if self._version == _FIRST and kind in _SINCE_2025:
            raise InvalidAction(f"the computer tool of {self._version} has no {kind}: later ones have")
        if self._version >= _TOOLSET:
            return ({"name": kind, "toolset_name": COMPUTER, "input": dict(fields)},)
        return ({"name": COMPUTER, "input": {"action": kind, **fields}},)

    def _edit(self, command: str, path: str, **fields: JsonValue) -> tuple[Written, ...]:
        name = EDITORS[0] if self._version <= 20250124 else EDITORS[1]
        return ({"name": name, "input": {"command": command, "path": path, **fields}},)
