"""pyautogui scripts, as OSWorld's agents write them (arXiv 2404.07972): read, never run.

    import pyautogui, time
    pyautogui.click(320, 240, clicks=2)
    time.sleep(0.5)
    pyautogui.hotkey('ctrl', 'c')

What is read: calls of pyautogui's pointer and keyboard functions and of `time.sleep`, with literal arguments,
arithmetic on them, names they were assigned to, `for` over a range or a list, and `with pyautogui.hold(…)`.
`WAIT`, `FAIL` and `DONE` stand alone. Anything else is refused with its line. Lengths of the wheel are whole
notches.
"""

from __future__ import annotations

from collections.abc import Iterable

from deskhand_sandbox.dialects.coordinates import pixels
from deskhand_sandbox.dialects.dialect import Dialect, View
from deskhand_sandbox.dialects.pyautogui.calls import CallReader
from deskhand_sandbox.dialects.pyautogui.script import Script
from deskhand_sandbox.dialects.pyautogui.writing import lines_of
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.types import Action, Fail, Finish, Point, Wait

OSWORLD_WAIT_S = 2.0
"""What `WAIT` waits."""


def read_script(script: str, *, pointer: Point | None = None) -> tuple[Action, ...]:
    """The actions a script asks for.

    Args:
        script: Python, or WAIT, FAIL or DONE.
        pointer: where the pointer is, for calls that do not say where; None: not known.

    Raises:
        InvalidAction: it is no Python, or asks for more than pointer, keys and time; says what and where.
    """
    if (word := script.strip()) in ("WAIT", "FAIL", "DONE"):
        return (Wait(seconds=OSWORLD_WAIT_S) if word == "WAIT" else Fail() if word == "FAIL" else Finish(),)
    reader = CallReader(pointer)
    Script(reader.take, reader.hold).walk(script)
    return tuple(reader.actions)


def write_script(actions: Iterable[Action]) -> str:
    """A script that asks for these actions; `read_script` reads it back.

    Raises:
        InvalidAction: an action pyautogui has no call for.
    """
    lines = ["import pyautogui", "import time"]
    for action in actions:
        lines += lines_of(action)
    return "\n".join(lines)


def _read(source: object, view: View) -> tuple[Action, ...]:
    if not isinstance(source, str):
        raise InvalidAction(f"a pyautogui script is text, not {type(source).__name__}")
    pointer = None if view.pointer is None else view.frame.to_model(view.pointer)
    return tuple(view.frame.action_to_screen(action) for action in read_script(source, pointer=pointer))


def _write(action: Action, view: View) -> tuple[str, ...]:
    match action:
        case Finish():
            return ("DONE",)
        case Fail():
            return ("FAIL",)
        case _:
            return ("\n".join(lines_of(view.frame.action_to_model(action))),)


DIALECT = Dialect(read=_read, write=_write, frame=pixels)
