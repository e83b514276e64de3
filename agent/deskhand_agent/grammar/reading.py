"""From calls to actions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, cast

from deskhand_agent.errors import UnknownAction
from deskhand_agent.grammar.calls import Call, Value
from deskhand_agent.grammar.keys import read_keys
from deskhand_sandbox.types import (
    Action,
    Answer,
    AnswerDialog,
    AskUser,
    Button,
    CallTool,
    Click,
    Drag,
    EditFile,
    Fail,
    Fetch,
    Finish,
    History,
    JsonValue,
    KeyDown,
    KeyUp,
    MovePointer,
    Navigate,
    OpenApp,
    Point,
    PointerDown,
    PointerUp,
    Press,
    ReadFile,
    Run,
    Scroll,
    Swipe,
    Tab,
    Touch,
    TypeText,
    Upload,
    Wait,
    WriteFile,
    Zoom,
)

DIRECTION_SCROLL_PX = 300
"""What `scroll(…, direction='down')` turns the wheel by: three notches."""
LONG_PRESS_MS = 800
"""What `long_press` holds for."""

_NUMBER_PAIR = r"(-?\d{1,9})[\s,]+(-?\d{1,9})"
_POINT = re.compile(rf"\s*(?:<point>\s*{_NUMBER_PAIR}\s*</point>|\(\s*{_NUMBER_PAIR}\s*\)|{_NUMBER_PAIR})\s*")
_TAGGED_POINT = re.compile(rf"\s*<point>\s*{_NUMBER_PAIR}\s*</point>\s*")


class _Arguments:
    """A call's arguments, taken one by one; what is left over at the end is an error."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._left: dict[str, Value] = dict(call.arguments)

    def fail(self, expected: str) -> UnknownAction:
        position = self._call.position
        return UnknownAction(
            f"expected {expected} in {self._call.name}(…) at position {position}",
            position=position,
            expected=expected,
        )

    def has(self, name: str) -> bool:
        return name in self._left

    def text(self, name: str, default: str | None = None) -> str:
        value = self._left.pop(name, default)
        if not isinstance(value, str):
            raise self.fail(f"{name}='text'")
        return value

    def integer(self, name: str, default: int, *, least: int | None = None) -> int:
        value = self._left.pop(name, default)
        if not isinstance(value, int):
            raise self.fail(f"{name}=whole number")
        if least is not None and value < least:
            raise self.fail(f"{name} of at least {least}")
        return value

    def seconds(self, name: str, default: float) -> float:
        value = self._left.pop(name, default)
        if not isinstance(value, int | float) or not 0 <= value < 1e18:
            raise self.fail(f"{name}=seconds")
        return float(value)

    def point(self, *names: str) -> Point:
        name = next((name for name in names if name in self._left), names[0])
        match = _POINT.fullmatch(self.text(name, ""))
        if match is None:
            raise self.fail(f"{name}='<point>x y</point>'")
        return _pair(match)

    def path(self) -> tuple[Point, ...]:
        if not self.has("path"):
            return self.point("start_point", "start_box"), self.point("end_point", "end_box")
        text, points, position = self.text("path"), list[Point](), 0
        while (match := _TAGGED_POINT.match(text, position)) is not None:
            points.append(_pair(match))
            position = match.end()
        if position < len(text) or len(points) < 2:
            raise self.fail("path='<point>x1 y1</point><point>x2 y2</point>…' of two points or more")
        return tuple(points)

    def button(self) -> Button:
        value = self.text("button", "left")
        if value not in ("left", "middle", "right"):
            raise self.fail("button='left', 'middle' or 'right'")
        return value

    def keys(self) -> tuple[str, ...]:
        if self.has("key"):
            keys = read_keys(self.text("key"))
        else:
            listed = self._left.pop("keys", None)
            if not isinstance(listed, list) or not all(isinstance(key, str) for key in listed):
                raise self.fail("key='ctrl c'")
            keys = tuple(cast("list[str]", listed))
        if not keys:
            raise self.fail("at least one key")
        return keys

    def one_key(self) -> str:
        keys = self.keys()
        if len(keys) != 1:
            raise self.fail("one key")
        return keys[0]

    def mapping(self, name: str) -> Mapping[str, JsonValue]:
        value = self._left.pop(name, {})
        if not isinstance(value, dict):
            raise self.fail(f"{name}={{…}}")
        return value

    def text_mapping(self, name: str) -> Mapping[str, str]:
        values = self.mapping(name)
        if not all(isinstance(value, str) for value in values.values()):
            raise self.fail(f'{name}={{"name": "text"}}')
        return cast("Mapping[str, str]", values)

    def texts(self, name: str) -> tuple[str, ...]:
        values = self._left.pop(name, None)
        if not isinstance(values, list) or not values or not all(isinstance(v, str) for v in values):
            raise self.fail(f'{name}=["text", …]')
        return tuple(cast("list[str]", values))

    def index(self) -> int | None:
        return self.integer("index", 0) if self.has("index") else None

    def done(self) -> None:
        if self._left:
            raise self.fail(f"no argument named {next(iter(self._left))}")


def _pair(match: re.Match[str]) -> Point:
    x, y = (int(group) for group in match.groups() if group is not None)
    return x, y


_Reader: TypeAlias = Callable[[_Arguments], "Action | tuple[Action, ...]"]


def read_call(call: Call) -> tuple[Action, ...]:
    """What a call means; coordinates as written.

    Raises:
        UnknownAction: no action has this name, or an argument is missing, wrong or unknown.
    """
    reader = _READERS.get(call.name)
    if reader is None:
        near = difflib.get_close_matches(call.name[:40], _READERS, n=3, cutoff=0.5)
        expected = " or ".join(near) if near else "the name of an action"
        raise UnknownAction(
            f"expected {expected} at position {call.position}, found {call.name[:40]!r}",
            position=call.position,
            expected=expected,
        )
    arguments = _Arguments(call)
    read = reader(arguments)
    arguments.done()
    return read if isinstance(read, tuple) else (read,)


def _click(button: Button, count: int) -> _Reader:
    def read(a: _Arguments) -> Action:
        x, y = a.point("point", "start_box")
        return Click(x=x, y=y, button=button, count=a.integer("count", count, least=1))

    return read


def _move(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    return MovePointer(x=x, y=y)


def _pointer(action: type[PointerDown] | type[PointerUp]) -> _Reader:
    def read(a: _Arguments) -> tuple[Action, ...]:
        moves = (_move(a),) if a.has("point") else ()
        return (*moves, action(button=a.button()))

    return read


def _scroll(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    if not a.has("direction") and (a.has("dx") or a.has("dy")):
        return Scroll(x=x, y=y, dx_px=a.integer("dx", 0), dy_px=a.integer("dy", 0))
    offset = DIRECTIONS.get(a.text("direction", "").lower())
    if offset is None:
        raise a.fail("direction='up', 'down', 'left' or 'right', or dx=0, dy=500")
    return Scroll(x=x, y=y, dx_px=offset[0], dy_px=offset[1])


def _touch(hold_ms: int) -> _Reader:
    def read(a: _Arguments) -> Action:
        x, y = a.point("point", "start_box")
        return Touch(x=x, y=y, hold_ms=a.integer("hold_ms", hold_ms, least=0))

    return read


def _history(to: Literal["back", "forward", "reload", "home"]) -> _Reader:
    return lambda a: History(to=to)


def _tab(do: Literal["open", "focus", "close"]) -> _Reader:
    return lambda a: Tab(do=do, index=a.index())


def _upload(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    return Upload(x=x, y=y, paths=a.texts("paths"))


def _fetch(a: _Arguments) -> Action:
    method = a.text("method", "GET").upper()
    if method not in METHODS:
        raise a.fail(f"method={' or '.join(METHODS)}")
    return Fetch(
        url=a.text("url"), method=METHODS[method], headers=a.text_mapping("headers"), body=a.text("body", "")
    )


METHODS: Mapping[str, Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]] = {
    method: method for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD")
}

DIRECTIONS = {
    "up": (0, -DIRECTION_SCROLL_PX),
    "down": (0, DIRECTION_SCROLL_PX),
    "left": (-DIRECTION_SCROLL_PX, 0),
    "right": (DIRECTION_SCROLL_PX, 0),
}

CLICKS: Mapping[str, tuple[Button, int]] = {
    "click": ("left", 1),
    "left_double": ("left", 2),
    "left_triple": ("left", 3),
    "right_single": ("right", 1),
    "middle_single": ("middle", 1),
}

_READERS: Mapping[str, _Reader] = {
    **{name: _click(button, count) for name, (button, count) in CLICKS.items()},
    "left_single": _click("left", 1),
    "move_to": _move,
    "mouse_down": _pointer(PointerDown),
    "mouse_up": _pointer(PointerUp),
    "drag": lambda a: Drag(path=a.path(), button=a.button()),
    "scroll": _scroll,
    "tap": _touch(50),
    "long_press": _touch(LONG_PRESS_MS),
    "swipe": lambda a: Swipe(path=a.path(), duration_ms=a.integer("duration_ms", 300, least=0)),
    "type": lambda a: TypeText(text=a.text("content")),
    "hotkey": lambda a: Press(keys=a.keys()),
    "press": lambda a: KeyDown(key=a.one_key()),
    "release": lambda a: KeyUp(key=a.one_key()),
    "wait": lambda a: Wait(seconds=a.seconds("time", 1.0)),
    "navigate": lambda a: Navigate(url=a.text("url")),
    "go_back": _history("back"),
    "press_back": _history("back"),
    "go_forward": _history("forward"),
    "reload": _history("reload"),
    "press_home": _history("home"),
    "open_tab": _tab("open"),
    "focus_tab": _tab("focus"),
    "close_tab": _tab("close"),
    "upload": _upload,
    "accept_dialog": lambda a: AnswerDialog(accept=True, text=a.text("content", "")),
    "dismiss_dialog": lambda a: AnswerDialog(accept=False),
    "open_app": lambda a: OpenApp(name=a.text("app_name")),
    "run": lambda a: Run(command=a.text("command"), timeout_s=a.seconds("timeout", 60.0)),
    "read_file": lambda a: ReadFile(path=a.text("path")),
    "write_file": lambda a: WriteFile(path=a.text("path"), content=a.text("content")),
    "edit_file": lambda a: EditFile(path=a.text("path"), old=a.text("old"), new=a.text("new")),
    "fetch": _fetch,
    "call_tool": lambda a: CallTool(name=a.text("name"), arguments=a.mapping("arguments")),
    "answer": lambda a: Answer(text=a.text("content")),
    "finished": lambda a: Finish(text=a.text("content", "")),
    "fail": lambda a: Fail(reason=a.text("reason", "")),
    "call_user": lambda a: AskUser(question=a.text("content", "")),
    "zoom": lambda a: Zoom(start=a.point("start_point", "start_box"), end=a.point("end_point", "end_box")),
}

ACTION_NAMES: tuple[str, ...] = tuple(_READERS)
"""Every name a call may have."""
