"""Calls of pyautogui's functions and of `time.sleep`, as actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from deskhand_sandbox.dialects.fields import MAX_NUMBER, shown
from deskhand_sandbox.dialects.key_names import to_w3c
from deskhand_sandbox.dialects.pyautogui.script import Call
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    SCROLL_NOTCH_PX,
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
    Press,
    Scroll,
    TypeText,
    Wait,
)

MAX_ACTIONS = 2000
"""Of one script, loops unrolled."""

_BUTTONS: dict[str, Button] = {
    "left": "left",
    "primary": "left",
    "middle": "middle",
    "right": "right",
    "secondary": "right",
}
_COUNTED = {"doubleClick": 2, "tripleClick": 3}
_SIDES: dict[str, Button] = {"rightClick": "right", "middleClick": "middle", "leftClick": "left"}


class CallReader:
    """Gathers the actions that calls ask for, and knows where they left the pointer."""

    def __init__(self, pointer: Point | None) -> None:
        self.actions: list[Action] = []
        self._pointer = pointer
        self._readers: dict[str, Callable[[Call], None]] = {"time.sleep": self._sleep}
        for names, read in (
            (("sleep",), self._sleep),
            (("click", *_COUNTED, *_SIDES), self._clicks),
            (("moveTo",), self._move),
            (("moveRel", "move"), self._move_by),
            (("dragTo",), self._drag),
            (("dragRel", "drag"), self._drag_by),
            (("mouseDown", "mouseUp"), self._mouse),
            (("scroll", "vscroll", "hscroll"), self._wheel),
            (("write", "typewrite"), self._write),
            (("press",), self._press),
            (("hotkey",), self._hotkey),
            (("keyDown", "keyUp"), self._key),
        ):
            self._readers |= {f"pyautogui.{name}": read for name in names}

    def take(self, call: Call) -> None:
        """Add what a call asks for.

        Raises:
            InvalidAction: it is no call of pointer, keys or time, or its arguments are wrong.
        """
        read = self._readers.get(call.name)
        if read is None:
            raise InvalidAction(f"line {call.line}: cannot read a call of {call.name}")
        read(call)

    def hold(self, call: Call, block: Callable[[], None]) -> None:
        """`with pyautogui.hold(…)`: keys are down while the block is read."""
        if call.name != "pyautogui.hold":
            raise InvalidAction(f"line {call.line}: cannot read with {call.name}(…)")
        keys = self._keys(call, call.bind("keys").get("keys"))
        for key in keys:
            self._add(KeyDown(key=key))
        block()
        for key in reversed(keys):
            self._add(KeyUp(key=key))

    def _sleep(self, call: Call) -> None:
        self._add(Wait(seconds=self._number(call, "seconds", call.bind("seconds").get("seconds"))))

    def _clicks(self, call: Call) -> None:
        name = call.name.partition(".")[2]
        if name == "click":
            found = call.bind("x", "y", "clicks", "interval", "button")
            count, button = found.get("clicks", 1), found.get("button", "left")
        elif name in _COUNTED:
            found = call.bind("x", "y", "interval", "button")
            count, button = _COUNTED[name], found.get("button", "left")
        else:
            found = call.bind("x", "y", "interval")
            count, button = 1, _SIDES[name]
        side, times = self._button(call, button), self._whole(call, "clicks", count)
        place = self._place(call, found)
        if place is None:
            # where the pointer is, wherever that is
            for _ in range(self._bounded(call, times)):
                self._add(PointerDown(button=side))
                self._add(PointerUp(button=side))
        else:
            self._pointer = place
            self._add(Click(x=place[0], y=place[1], button=side, count=times))

    def _move(self, call: Call) -> None:
        found = call.bind("x", "y", "duration", "tween")
        place = self._place(call, found) or self._known(call)
        self._go(place)

    def _move_by(self, call: Call) -> None:
        self._go(self._offset(call, call.bind("xOffset", "yOffset", "duration", "tween")))

    def _drag(self, call: Call) -> None:
        found = call.bind("x", "y", "duration", "tween", "button")
        self._pull(call, self._place(call, found) or self._known(call), found)

    def _drag_by(self, call: Call) -> None:
        found = call.bind("xOffset", "yOffset", "duration", "tween", "button")
        self._pull(call, self._offset(call, found), found)

    def _mouse(self, call: Call) -> None:
        found = call.bind("x", "y", "button")
        place = self._place(call, found)
        if place is not None:
            self._go(place)
        button = self._button(call, found.get("button", "left"))
        down = call.name == "pyautogui.mouseDown"
        self._add(PointerDown(button=button) if down else PointerUp(button=button))

    def _wheel(self, call: Call) -> None:
        found = call.bind("clicks", "x", "y")
        turns = self._whole(call, "clicks", found.get("clicks"))
        place = self._place(call, found) or self._known(call)
        self._pointer = place
        if call.name == "pyautogui.hscroll":
            self._add(Scroll(x=place[0], y=place[1], dx_px=turns * SCROLL_NOTCH_PX))
        else:
            self._add(Scroll(x=place[0], y=place[1], dy_px=-turns * SCROLL_NOTCH_PX))

    def _write(self, call: Call) -> None:
        message = call.bind("message", "interval").get("message")
        if isinstance(message, list):
            for key in self._keys(call, cast("object", message)):
                self._add(Press(keys=(key,)))
        elif isinstance(message, str):
            self._add(TypeText(text=message))
        else:
            raise InvalidAction(f"line {call.line}: {call.name} needs a text or a list of keys")

    def _press(self, call: Call) -> None:
        found = call.bind("keys", "presses", "interval")
        for _ in range(self._bounded(call, self._whole(call, "presses", found.get("presses", 1)))):
            for key in self._keys(call, found.get("keys")):
                self._add(Press(keys=(key,)))

    def _hotkey(self, call: Call) -> None:
        names: list[Any] = []
        for each in call.positional:
            names += cast("list[Any]", each) if isinstance(each, list) else [each]
        if not names:
            raise InvalidAction(f"line {call.line}: {call.name} needs keys")
        self._add(Press(keys=self._keys(call, names)))

    def _key(self, call: Call) -> None:
        keys = self._keys(call, call.bind("key").get("key"))
        down = call.name == "pyautogui.keyDown"
        for key in keys:
            self._add(KeyDown(key=key) if down else KeyUp(key=key))

    # ---- arguments

    def _place(self, call: Call, found: dict[str, Any]) -> Point | None:
        """The point a call names; None where it names none."""
        x, y = found.get("x"), found.get("y")
        if isinstance(x, list) and y is None:
            pair = cast("list[Any]", x)
            if len(pair) != 2:
                raise InvalidAction(f"line {call.line}: a point has two numbers, not {len(pair)}")
            x, y = pair
        if x is None and y is None:
            return None
        if isinstance(x, str):
            raise InvalidAction(f"line {call.line}: {call.name} needs numbers: pictures are not looked for")
        if x is None or y is None:
            known = self._known(call)
            x, y = (known[0] if x is None else x), (known[1] if y is None else y)
        return self._pixel(call, "x", x), self._pixel(call, "y", y)

    def _offset(self, call: Call, found: dict[str, Any]) -> Point:
        x, y = self._known(call)
        return (
            x + self._pixel(call, "xOffset", found.get("xOffset") or 0),
            y + self._pixel(call, "yOffset", found.get("yOffset") or 0),
        )

    def _known(self, call: Call) -> Point:
        if self._pointer is None:
            raise InvalidAction(
                f"line {call.line}: {call.name} does not say where, and the pointer has not been moved"
            )
        return self._pointer

    def _go(self, place: Point) -> None:
        self._pointer = place
        self._add(MovePointer(x=place[0], y=place[1]))

    def _pull(self, call: Call, to: Point, found: dict[str, Any]) -> None:
        button = self._button(call, found.get("button", "left"))
        if self._pointer is None:
            self._add(PointerDown(button=button))
            self._go(to)
            self._add(PointerUp(button=button))
        else:
            self._add(Drag(path=(self._pointer, to), button=button))
            self._pointer = to

    def _keys(self, call: Call, names: Any) -> tuple[str, ...]:
        several = cast("list[Any]", names) if isinstance(names, list) else [names]
        if not all(isinstance(name, str) and name for name in several):
            raise InvalidAction(f"line {call.line}: {call.name} needs names of keys, not {shown(names)}")
        return tuple(to_w3c(name) for name in cast("list[str]", several))

    def _button(self, call: Call, name: Any) -> Button:
        if not isinstance(name, str) or name.lower() not in _BUTTONS:
            raise InvalidAction(f"line {call.line}: {shown(name)} is no button: left, middle or right")
        return _BUTTONS[name.lower()]

    def _number(self, call: Call, what: str, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidAction(
                f"line {call.line}: {what} of {call.name} must be a number, not {shown(value)}"
            )
        if not -MAX_NUMBER <= value <= MAX_NUMBER:
            raise InvalidAction(
                f"line {call.line}: {what} of {call.name} must be a number up to {MAX_NUMBER}"
            )
        return float(value)

    def _whole(self, call: Call, what: str, value: Any) -> int:
        number = self._number(call, what, value)
        if number != int(number):
            raise InvalidAction(
                f"line {call.line}: {what} of {call.name} must be a whole number, not {shown(value)}"
            )
        return int(number)

    def _pixel(self, call: Call, what: str, value: Any) -> int:
        """pyautogui cuts fractions off."""
        return int(self._number(call, what, value))

    def _bounded(self, call: Call, times: int) -> int:
        if times > MAX_ACTIONS:
            raise InvalidAction(f"line {call.line}: {times} times is more than {MAX_ACTIONS}")
        return times

    def _add(self, action: Action) -> None:
        if len(self.actions) >= MAX_ACTIONS:
            raise InvalidAction(f"the script asks for more than {MAX_ACTIONS} actions")
        self.actions.append(action)
