"""What an agent of gymnasium sees and may do, as its spaces."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from PIL import Image as Picture

from deskhand_sandbox.errors import InvalidAction, SandboxError
from deskhand_sandbox.types import (
    SCROLL_NOTCH_PX,
    Action,
    Click,
    Drag,
    Fail,
    Finish,
    History,
    MovePointer,
    Observation,
    Point,
    Press,
    Scroll,
    Swipe,
    Touch,
    TypeText,
    Wait,
)

Sample: TypeAlias = Mapping[str, Any]
"""An action of `action_space`."""
Screen: TypeAlias = NDArray[np.uint8]

MAX_TEXT = 200
"""Characters one action can type."""
MAX_INSTRUCTION = 4000
MAX_REPLY = 10_000
"""Characters of an action in a dialect."""
WAIT_S = 0.5
UNKNOWN = "\N{REPLACEMENT CHARACTER}"
"""Stands for a character of an instruction that the space does not have."""

KEYS: tuple[tuple[str, ...], ...] = (
    *((key,) for key in ("Enter", "Tab", "Backspace", "Delete", "Escape", " ", "Home", "End")),
    *((key,) for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "PageUp", "PageDown")),
    ("Shift", "Tab"),
    *(("Control", letter) for letter in "acvxzslft"),
    ("Alt", "Tab"),
    ("Alt", "F4"),
)
"""What `press` presses, by number."""

_TYPED = frozenset([*map(chr, range(32, 127)), "\n", "\t"])
_WRITTEN = frozenset([*(each for each in map(chr, range(0x2600)) if each.isprintable()), "\n", "\t", UNKNOWN])
_ACTIONS: Mapping[str, Callable[[Point, Point, Sample], Action]] = {
    "click": lambda at, to, more: Click(x=at[0], y=at[1]),
    "double_click": lambda at, to, more: Click(x=at[0], y=at[1], count=2),
    "right_click": lambda at, to, more: Click(x=at[0], y=at[1], button="right"),
    "move": lambda at, to, more: MovePointer(x=at[0], y=at[1]),
    "drag": lambda at, to, more: Drag(path=(at, to)),
    "scroll_up": lambda at, to, more: Scroll(x=at[0], y=at[1], dy_px=-3 * SCROLL_NOTCH_PX),
    "scroll_down": lambda at, to, more: Scroll(x=at[0], y=at[1], dy_px=3 * SCROLL_NOTCH_PX),
    "press": lambda at, to, more: Press(keys=KEYS[int(more["key"])]),
    "tap": lambda at, to, more: Touch(x=at[0], y=at[1]),
    "long_press": lambda at, to, more: Touch(x=at[0], y=at[1], hold_ms=800),
    "swipe": lambda at, to, more: Swipe(path=(at, to)),
    "back": lambda at, to, more: History(to="back"),
    "home": lambda at, to, more: History(to="home"),
    "type": lambda at, to, more: TypeText(text=str(more["text"])),
    "wait": lambda at, to, more: Wait(seconds=WAIT_S),
    "finish": lambda at, to, more: Finish(),
    "fail": lambda at, to, more: Fail(),
}
_BOTH = ("type", "wait", "finish", "fail")
_TOUCH = ("tap", "long_press", "swipe", "back", "home")


def kinds_for(sandbox_kind: str) -> tuple[str, ...]:
    """What an agent can do in a kind of sandbox; `Sample["kind"]` counts these."""
    if sandbox_kind == "android":
        return (*_TOUCH, *_BOTH)
    return tuple(name for name in _ACTIONS if name not in _TOUCH)


def action_space(size_px: tuple[int, int], kinds: tuple[str, ...]) -> spaces.Dict:
    """What to do, where (`point`, and `end` for drags), which of `KEYS`, and which text."""
    return spaces.Dict(
        {
            "kind": spaces.Discrete(len(kinds)),
            "point": spaces.MultiDiscrete(list(size_px)),
            "end": spaces.MultiDiscrete(list(size_px)),
            "key": spaces.Discrete(len(KEYS)),
            "text": spaces.Text(MAX_TEXT, min_length=0, charset=_TYPED),
        }
    )


def reply_space() -> spaces.Text:
    """Actions in a dialect."""
    return spaces.Text(MAX_REPLY, min_length=0, charset=_WRITTEN)


def observation_space(size_px: tuple[int, int]) -> spaces.Dict:
    """The screenshot (height, width, RGB) and the instruction."""
    width, height = size_px
    return spaces.Dict(
        {
            "screenshot": spaces.Box(0, 255, (height, width, 3), np.uint8),
            "instruction": spaces.Text(MAX_INSTRUCTION, min_length=0, charset=_WRITTEN),
        }
    )


def action_of(sample: Sample, kinds: tuple[str, ...]) -> Action:
    """The action a sample of `action_space` stands for.

    Raises:
        InvalidAction: it is none.
    """
    try:
        kind = kinds[int(sample["kind"])]
        at, to = (cast("Point", tuple(int(each) for each in sample[name])) for name in ("point", "end"))
        return _ACTIONS[kind](at, to, sample)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidAction(f"{sample!r:.200} is no action of the action space: {error}") from None


def screen_of(observation: Observation) -> Screen:
    """The screenshot as an array (height, width, RGB).

    Raises:
        SandboxError: it came without its bytes.
    """
    data = observation.screenshot.data
    if data is None:
        raise SandboxError("the observation's screenshot came without its bytes")
    with Picture.open(io.BytesIO(data)) as picture:
        return np.array(picture.convert("RGB"))


def shown_instruction(text: str) -> str:
    """The instruction as the space has it: cut, and with a stand-in for characters it does not have."""
    return "".join(each if each in _WRITTEN else UNKNOWN for each in text[:MAX_INSTRUCTION])
