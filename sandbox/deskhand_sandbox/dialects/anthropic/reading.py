"""From Anthropic's tool calls to actions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import TypeAlias

from deskhand_sandbox.dialects.dialect import Box, View
from deskhand_sandbox.dialects.fields import Fields, as_object
from deskhand_sandbox.dialects.keysyms import read_chord
from deskhand_sandbox.dialects.pointing import click, drag, holding, known
from deskhand_sandbox.dialects.wheel import DIRECTIONS
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import (
    SCROLL_NOTCH_PX,
    Action,
    Button,
    EditFile,
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

COMPUTER = "computer"
BASH = "bash"
EDITORS = ("str_replace_editor", "str_replace_based_edit_tool")
"""The text editor's name until 2025-01-24, and since."""
CLICKS: Mapping[str, tuple[Button, int]] = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}
MAX_REPEAT = 100

_Reader: TypeAlias = Callable[[Fields, View], tuple[Action, ...]]


def read_call(source: object, view: View) -> tuple[Action, ...]:
    """The actions a tool call asks for.

    Args:
        source: a `tool_use` block or its input, as an object or as JSON.

    Raises:
        InvalidAction: no such tool or action, or wrong fields; says which.
    """
    kind, fields = _parts(source)
    actions = _READERS[kind](fields, view)
    fields.done()
    return actions


def zoom_region(source: object, view: View) -> Box | None:
    """The part of the screenshot a `zoom` asks for, in its pixels; None for every other call.

    Raises:
        InvalidAction: as `read_call` does.
    """
    kind, fields = _parts(source)
    if kind != "zoom":
        return None
    region = _region(fields, view)
    fields.done()
    return region


def _parts(source: object) -> tuple[str, Fields]:
    """The kind of action, and what else was said."""
    whole = Fields("the tool call", as_object(source))
    if not whole.has("input"):
        return _kind("", "", whole)
    name, toolset = whole.text("name"), whole.text("toolset_name", "")
    return _kind(name, toolset, Fields(f"the input of {name:.40}", whole.take("input")))


def _kind(tool: str, toolset: str, fields: Fields) -> tuple[str, Fields]:
    if toolset == COMPUTER:
        kind = tool
    elif tool == COMPUTER or (not tool and fields.has("action")):
        kind = fields.text("action")
    elif tool in EDITORS or (not tool and fields.has("path")):
        kind = f"editor:{fields.text('command')}"
    elif tool == BASH or (not tool and (fields.has("command") or fields.has("restart"))):
        kind = BASH
    elif not tool:
        raise InvalidAction("a tool call has an action, a command, or a name and its input")
    else:
        raise InvalidAction(str(UnknownName("tool", tool[:40], (COMPUTER, BASH, *EDITORS))))
    if kind not in _READERS:
        known_kinds = [each.removeprefix("editor:") for each in _READERS]
        raise InvalidAction(str(UnknownName("action", kind.removeprefix("editor:")[:40], known_kinds)))
    fields.what = kind.removeprefix("editor:")
    return kind, fields


# ---- pointer and keys


def _place(fields: Fields, view: View, name: str = "coordinate") -> Point | None:
    return view.frame.read(fields.position(name)) if fields.has(name) else None


def _held(fields: Fields, actions: tuple[Action, ...]) -> tuple[Action, ...]:
    # `text` by the documentation, `key` by the reference tools
    chord = fields.text("text" if fields.has("text") else "key", "")
    return holding(read_chord(chord), actions) if chord else actions


def _click(button: Button, count: int) -> _Reader:
    def read(fields: Fields, view: View) -> tuple[Action, ...]:
        place = _place(fields, view) or view.pointer
        return _held(fields, click(place, button=button, count=count))

    return read


def _drag(fields: Fields, view: View) -> tuple[Action, ...]:
    start = _place(fields, view, "start_coordinate") or view.pointer
    end = view.frame.read(fields.position("coordinate"))
    return _held(fields, drag(start, end))


def _move(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = view.frame.read(fields.position("coordinate"))
    return (MovePointer(x=x, y=y),)


def _button(action: type[PointerDown] | type[PointerUp]) -> _Reader:
    def read(fields: Fields, view: View) -> tuple[Action, ...]:
        place = _place(fields, view)
        moves = () if place is None else (MovePointer(x=place[0], y=place[1]),)
        return (*moves, action())

    return read


def _scroll(fields: Fields, view: View) -> tuple[Action, ...]:
    x, y = known("scroll", _place(fields, view) or view.pointer)
    right, down = fields.choice("scroll_direction", DIRECTIONS)
    distance = fields.whole("scroll_amount", least=0) * SCROLL_NOTCH_PX
    return _held(fields, (Scroll(x=x, y=y, dx_px=right * distance, dy_px=down * distance),))


def _key(fields: Fields, view: View) -> tuple[Action, ...]:
    chords = fields.text("text").split()
    times = fields.whole("repeat", 1, least=1)
    if not chords or times > MAX_REPEAT:
        raise InvalidAction(f"key needs the name of a key, and a repeat of 1 to {MAX_REPEAT}")
    return tuple(Press(keys=read_chord(chord)) for chord in chords) * times


def _hold_key(fields: Fields, view: View) -> tuple[Action, ...]:
    keys = read_chord(fields.text("text"))
    waits = (Wait(seconds=float(fields.number("duration"))),)
    return holding(keys, waits)


def _type(fields: Fields, view: View) -> tuple[Action, ...]:
    return (TypeText(text=fields.text("text")),)


def _wait(fields: Fields, view: View) -> tuple[Action, ...]:
    return (Wait(seconds=float(fields.number("duration", 1.0))),)


def _look(fields: Fields, view: View) -> tuple[Action, ...]:
    return (Wait(seconds=0.0),)


def _zoom(fields: Fields, view: View) -> tuple[Action, ...]:
    _region(fields, view)
    return (Wait(seconds=0.0),)


def _region(fields: Fields, view: View) -> Box:
    left, top, right, bottom = fields.numbers("region", 4)
    corner, opposite = view.frame.read((left, top)), view.frame.read((right, bottom))
    if not (corner[0] < opposite[0] and corner[1] < opposite[1]):
        raise InvalidAction("the region of zoom must be [left, top, right, bottom], and not empty")
    return (*corner, *opposite)


# ---- commands and files


def _bash(fields: Fields, view: View) -> tuple[Action, ...]:
    if fields.take("restart") is True and not fields.has("command"):
        return (Run(command="exit"),)
    return (Run(command=fields.text("command")),)


def _view(fields: Fields, view: View) -> tuple[Action, ...]:
    path = fields.text("path")
    if not fields.has("view_range"):
        return (ReadFile(path=path),)
    first, last = fields.numbers("view_range", 2)
    if first != int(first) or last != int(last) or first < 1 or (last < first and last != -1):
        raise InvalidAction("view_range must be [first line, last line], from 1, with -1 for the file's end")
    end = "$" if last == -1 else str(int(last))
    return (Run(command=f"sed -n '{int(first)},{end}p' -- {shlex.quote(path)}"),)


def _create(fields: Fields, view: View) -> tuple[Action, ...]:
    return (WriteFile(path=fields.text("path"), content=fields.text("file_text")),)


def _replace(fields: Fields, view: View) -> tuple[Action, ...]:
    return (EditFile(path=fields.text("path"), old=fields.text("old_str"), new=fields.text("new_str", "")),)


def _refused(fields: Fields, view: View) -> tuple[Action, ...]:
    raise InvalidAction(f"{fields.what} has no counterpart here: use str_replace or create")


_READERS: Mapping[str, _Reader] = {
    **{name: _click(button, count) for name, (button, count) in CLICKS.items()},
    "left_click_drag": _drag,
    "mouse_move": _move,
    "left_mouse_down": _button(PointerDown),
    "left_mouse_up": _button(PointerUp),
    "scroll": _scroll,
    "key": _key,
    "hold_key": _hold_key,
    "type": _type,
    "wait": _wait,
    "screenshot": _look,
    "cursor_position": _look,
    "zoom": _zoom,
    BASH: _bash,
    "editor:view": _view,
    "editor:create": _create,
    "editor:str_replace": _replace,
    "editor:insert": _refused,
    "editor:undo_edit": _refused,
}
ACTIONS = tuple(name for name in _READERS if name != BASH and ":" not in name)
"""Every action of the computer tool, of the latest version."""
