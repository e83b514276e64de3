"""From UI-TARS's replies to actions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from deskhand_sandbox.dialects.calls import Call, CallSyntaxError, scan_calls
from deskhand_sandbox.dialects.coordinates import Position
from deskhand_sandbox.dialects.dialect import View
from deskhand_sandbox.dialects.fields import Fields
from deskhand_sandbox.dialects.key_names import split_chord, to_w3c, without_capitals
from deskhand_sandbox.dialects.pointing import click, known, pointer_after
from deskhand_sandbox.dialects.wheel import DIRECTIONS
from deskhand_sandbox.errors import InvalidAction, UnknownName
from deskhand_sandbox.types import (
    SCROLL_NOTCH_PX,
    Action,
    AskUser,
    Button,
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

SCROLL_PX = 5 * SCROLL_NOTCH_PX
WAIT_S = 5.0
LONG_PRESS_MS = 800
EOS = "[EOS]"
"""The models' end token, where it came as text."""

_NUMBER = r"-?\d{1,9}(?:\.\d{1,9})?"
_NUMBERS = re.compile(_NUMBER)
_PLACE = re.compile(
    r"\s*(?:(?:<\|box_start\|>|<point>|<bbox>)\s*)?(?:[(\[]\s*)?"
    rf"{_NUMBER}[\s,]+{_NUMBER}(?:[\s,]+{_NUMBER}[\s,]+{_NUMBER})?"
    r"(?:\s*[)\]])?(?:\s*(?:<\|box_end\|>|</point>|</bbox>))?\s*"
)
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
_LABEL = re.compile(r"^[ \t]*Action:", re.MULTILINE)
_BARE = re.compile(r"\s*[a-z_]+\(")
_ONE_TEXT = re.compile(r"(\s*(?:type|finished|call_user)\(content=)(['\"])(.*)\2(\s*\)\s*)", re.DOTALL)
_BUTTONS: Mapping[str, Button] = {"left": "left", "middle": "middle", "right": "right"}


def read_reply(reply: object, view: View, *, touch: bool) -> tuple[Action, ...]:
    """The actions a reply asks for.

    Args:
        touch: it is in the grammar for touch screens.

    Raises:
        InvalidAction: it holds no calls of the grammar; says what is wrong.
    """
    if not isinstance(reply, str):
        raise InvalidAction(f"a reply of UI-TARS is text, not {type(reply).__name__}")
    readers = _TOUCH if touch else _COMPUTER
    actions: list[Action] = []
    pointer = view.pointer
    for call in scan_calls(thought_and_calls(escaped(reply))[1]):
        if call.name not in readers:
            raise InvalidAction(str(UnknownName("action of UI-TARS", call.name[:40], readers)))
        arguments = _Arguments(call, view, pointer)
        found = readers[call.name](arguments)
        arguments.done()
        actions += found if isinstance(found, tuple) else (found,)
        pointer = pointer_after(actions, view.pointer)
    return tuple(actions)


def thought_and_calls(reply: str) -> tuple[str, str]:
    """What stands before and what after the last `Action:` that begins a line, or the last at all where no
    call comes first; nothing before it where there is none."""
    reply = reply.replace(EOS, "")
    labels = list(_LABEL.finditer(reply))
    if labels:
        return reply[: labels[-1].start()], reply[labels[-1].end() :]
    if _BARE.match(reply):
        return "", reply
    before, label, calls = reply.rpartition("Action:")
    return (before, calls) if label else ("", reply)


def escaped(reply: str) -> str:
    """The reply with the quotes in the text of its only call escaped: the models do not always do so, and the
    outermost ones are the text's. The reply itself where it can be scanned as it is, or not even so."""
    calls = thought_and_calls(reply)[1]
    try:
        scan_calls(calls)
        return reply
    except CallSyntaxError:
        single = _ONE_TEXT.fullmatch(calls)
    if single is None:
        return reply
    head, quote, content, tail = single.groups()
    told = re.sub(rf"(?<!\\){quote}", rf"\\{quote}", cast("str", content))
    if told == content:
        return reply
    return f"{reply.replace(EOS, '').removesuffix(calls)}{head}{quote}{told}{quote}{tail}"


class _Arguments(Fields):
    """The arguments of one call."""

    def __init__(self, call: Call, view: View, pointer: Point | None) -> None:
        super().__init__(f"{call.name}(…)", call.arguments)
        self._view = view
        self.pointer = pointer

    def place(self, *names: str) -> Point | None:
        """The first of these arguments that is there, as a pixel; None where none is."""
        name = next((name for name in names if self.has(name)), None)
        return None if name is None else self._view.frame.read(self._middle(name))

    def point(self, *names: str) -> Point:
        """As `place`, and it must be there."""
        place = self.place(*names)
        if place is None:
            raise self.fail(names[0], "a place such as '<point>x y</point>'", None)
        return place

    def path(self) -> tuple[Point, Point]:
        return self.point("start_point", "start_box"), self.point("end_point", "end_box")

    def keys(self) -> tuple[str, ...]:
        name = next((name for name in ("hotkey", "press", "release") if self.has(name)), "key")
        text = self.text(name)
        keys = tuple(to_w3c(key) for word in text.split() for key in split_chord(word))
        if not keys:
            raise self.fail(name, "names of keys such as 'ctrl c'", text)
        return without_capitals(keys)

    def key(self) -> str:
        keys = self.keys()
        if len(keys) != 1:
            raise self.fail("key", "one key", " ".join(keys))
        return keys[0]

    def seconds(self, default: float) -> float:
        """`time`, written as a number or in quotes, which may be empty."""
        value = self.take("time")
        text = "" if value is None else str(value).strip()
        if text and not _SECONDS.fullmatch(text):
            raise self.fail("time", "seconds", value)
        return float(text) if text else default

    def _middle(self, name: str) -> Position:
        value = self.take(name)
        text = str(value) if isinstance(value, str | list) else ""
        if _PLACE.fullmatch(text) is None:
            raise self.fail(name, "a place such as '<point>x y</point>'", value)
        numbers = [float(number) for number in _NUMBERS.findall(text)]
        return (numbers[0] + numbers[-2]) / 2, (numbers[1] + numbers[-1]) / 2


_Reader: TypeAlias = Callable[[_Arguments], "Action | tuple[Action, ...]"]


def _click(button: Button, count: int) -> _Reader:
    return lambda a: click(a.point("point", "start_box"), button=button, count=count)


def _move(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    return MovePointer(x=x, y=y)


def _button(action: type[PointerDown] | type[PointerUp]) -> _Reader:
    def read(a: _Arguments) -> tuple[Action, ...]:
        place = a.place("point", "start_box")
        moves = () if place is None else (MovePointer(x=place[0], y=place[1]),)
        return (*moves, action(button=a.choice("button", _BUTTONS, "left")))

    return read


def _scroll(gesture: type[Drag] | type[Swipe]) -> _Reader:
    """A turn of the wheel; with an end, the gesture from here to there."""

    def read(a: _Arguments) -> Action:
        start = a.place("point", "start_point", "start_box")
        end = a.place("end_point", "end_box")
        x, y = known("scroll(…)", a.pointer if start is None else start)
        if end is not None:
            return gesture(path=((x, y), end))
        right, down = a.choice("direction", DIRECTIONS)
        return Scroll(x=x, y=y, dx_px=right * SCROLL_PX, dy_px=down * SCROLL_PX)

    return read


def _touch(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    return Touch(x=x, y=y)


def _long_press(a: _Arguments) -> Action:
    x, y = a.point("point", "start_box")
    return Touch(x=x, y=y, hold_ms=round(a.seconds(LONG_PRESS_MS / 1000) * 1000))


_BOTH: Mapping[str, _Reader] = {
    "type": lambda a: TypeText(text=a.text("content")),
    "wait": lambda a: Wait(seconds=a.seconds(WAIT_S)),
    "take_screenshot": lambda a: Wait(seconds=0.0),
    "finished": lambda a: Finish(text=a.text("content", "")),
    "call_user": lambda a: AskUser(question=a.text("content", "")),
}
_COMPUTER: Mapping[str, _Reader] = {
    **_BOTH,
    "scroll": _scroll(Drag),
    "click": _click("left", 1),
    "left_single": _click("left", 1),
    "left_double": _click("left", 2),
    "right_single": _click("right", 1),
    "hover": _move,
    "move_to": _move,
    "mouse_down": _button(PointerDown),
    "mouse_up": _button(PointerUp),
    "drag": lambda a: Drag(path=a.path()),
    "select": lambda a: Drag(path=a.path()),
    "hotkey": lambda a: Press(keys=a.keys()),
    "press": lambda a: KeyDown(key=a.key()),
    "keydown": lambda a: KeyDown(key=a.key()),
    "release": lambda a: KeyUp(key=a.key()),
    "keyup": lambda a: KeyUp(key=a.key()),
}
_TOUCH: Mapping[str, _Reader] = {
    **_BOTH,
    "scroll": _scroll(Swipe),
    "click": _touch,
    "long_press": _long_press,
    "drag": lambda a: Swipe(path=a.path()),
    "open_app": lambda a: OpenApp(name=a.text("app_name")),
    "press_home": lambda a: History(to="home"),
    "press_back": lambda a: History(to="back"),
    "press_enter": lambda a: Press(keys=("Enter",)),
}
