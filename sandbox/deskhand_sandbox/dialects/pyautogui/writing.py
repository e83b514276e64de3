"""Actions as calls of pyautogui."""

from __future__ import annotations

from typing import Literal

from deskhand_sandbox.dialects.key_names import from_w3c
from deskhand_sandbox.dialects.wheel import notches
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import (
    Action,
    Click,
    Drag,
    KeyDown,
    KeyUp,
    MovePointer,
    PointerDown,
    PointerUp,
    Press,
    Scroll,
    TypeText,
    Wait,
)


def lines_of(action: Action) -> list[str]:
    """The calls that carry out one action.

    Raises:
        InvalidAction: pyautogui has no call for it.
    """
    match action:
        case Click(x=x, y=y, button=button, count=count):
            return [f"pyautogui.click({x}, {y}, clicks={count}, button={button!r})"]
        case MovePointer(x=x, y=y):
            return [f"pyautogui.moveTo({x}, {y})"]
        case PointerDown(button=button):
            return [f"pyautogui.mouseDown(button={button!r})"]
        case PointerUp(button=button):
            return [f"pyautogui.mouseUp(button={button!r})"]
        case Drag(path=path, button=button):
            (x, y), *others = path
            lines = [f"pyautogui.moveTo({x}, {y})", f"pyautogui.mouseDown(button={button!r})"]
            return [
                *lines,
                *(f"pyautogui.moveTo({x}, {y})" for x, y in others),
                f"pyautogui.mouseUp(button={button!r})",
            ]
        case Scroll(x=x, y=y, dx_px=right, dy_px=down):
            turns: tuple[tuple[Literal["scroll", "hscroll"], int], ...] = (
                ("scroll", -down),
                ("hscroll", right),
            )
            lines = [
                f"pyautogui.{name}({notches(distance)}, {x}, {y})" for name, distance in turns if distance
            ]
            return lines or [f"pyautogui.moveTo({x}, {y})"]
        case TypeText(text=text):
            return [f"pyautogui.write({text!r})"]
        case Press(keys=keys):
            return [f"pyautogui.hotkey({', '.join(repr(from_w3c(key)) for key in keys)})"]
        case KeyDown(key=key):
            return [f"pyautogui.keyDown({from_w3c(key)!r})"]
        case KeyUp(key=key):
            return [f"pyautogui.keyUp({from_w3c(key)!r})"]
        case Wait(seconds=seconds):
            return [f"time.sleep({seconds!r})"]
        case _:
            raise InvalidAction(f"pyautogui has no call for {type(action).__name__}")
