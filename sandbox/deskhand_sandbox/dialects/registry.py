"""Dialects by name; nothing of one is imported before it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping, Sequence
from typing import cast

from deskhand_sandbox.dialects.coordinates import Frame
from deskhand_sandbox.dialects.dialect import Box, Choice, Dialect, View, Written
from deskhand_sandbox.dialects.pointing import pointer_after
from deskhand_sandbox.errors import UnknownName
from deskhand_sandbox.types import Action, KeyDown, KeyUp, Point

_HOME = "deskhand_sandbox.dialects"
DIALECTS: Mapping[str, str] = {
    "android_world": f"{_HOME}.android_world:DIALECT",
    "anthropic": f"{_HOME}.anthropic:V20260801",
    "anthropic_20241022": f"{_HOME}.anthropic:V20241022",
    "anthropic_20250124": f"{_HOME}.anthropic:V20250124",
    "anthropic_20251124": f"{_HOME}.anthropic:V20251124",
    "browsergym": f"{_HOME}.browsergym:DIALECT",
    "computer_13": f"{_HOME}.computer_13:DIALECT",
    "openai": f"{_HOME}.openai:DIALECT",
    "pyautogui": f"{_HOME}.pyautogui:DIALECT",
    "ui_tars": f"{_HOME}.ui_tars:COMPUTER",
    "ui_tars_1_0": f"{_HOME}.ui_tars:COMPUTER_1_0",
    "ui_tars_mobile": f"{_HOME}.ui_tars:MOBILE",
    "ui_tars_mobile_1_0": f"{_HOME}.ui_tars:MOBILE_1_0",
}
"""Name -> module and dialect; a name without a version is the latest."""


def dialect_names() -> tuple[str, ...]:
    """Every dialect there is, sorted."""
    return tuple(sorted(DIALECTS))


def find_dialect(name: str) -> Dialect:
    """The dialect of that name.

    Raises:
        UnknownName: there is none; carries the nearest names.
    """
    try:
        module, _, attribute = DIALECTS[name].partition(":")
    except KeyError:
        raise UnknownName("dialect", name, DIALECTS) from None
    return cast("Dialect", getattr(importlib.import_module(module), attribute))


def usual_frame(dialect: str, screen_px: tuple[int, int]) -> Frame:
    """The frame a dialect's coordinates are in for screenshots of this size, unless something else was shown.

    Raises:
        UnknownName: no such dialect.
    """
    return find_dialect(dialect).frame(screen_px)


def read(
    dialect: str,
    source: object,
    frame: Frame,
    *,
    pointer: Point | None = None,
    boxes: Mapping[str, Box] | None = None,
    checked: Collection[str] = (),
    choices: Mapping[str, Choice] | None = None,
) -> tuple[Action, ...]:
    """What somebody wrote in a dialect, as actions in pixels of the screenshot.

    Args:
        source: text, or an object as it came from JSON.
        frame: what its coordinates are in; `usual_frame` has the dialect's own.
        pointer: where the pointer is, in pixels, for actions that do not say where; None: not known.
        boxes: elements that may be named (BrowserGym, AndroidWorld), in `frame`.
        checked: those of them that are ticked.
        choices: those of them in which something is chosen.

    Raises:
        UnknownName: no such dialect.
        InvalidAction: it is nothing of this dialect; says what is wrong.
    """
    view = View(frame=frame, pointer=pointer, boxes=boxes or {}, checked=checked, choices=choices or {})
    return find_dialect(dialect).read(source, view)


def write(dialect: str, action: Action, frame: Frame, *, pointer: Point | None = None) -> tuple[Written, ...]:
    """An action as a dialect writes it: one of theirs, or several in order.

    Args:
        frame: what coordinates are to be in.
        pointer: where the pointer is, in pixels, for dialects that say it with every button; None: not known.

    Raises:
        UnknownName: no such dialect.
        InvalidAction: the dialect has nothing for it.
    """
    return find_dialect(dialect).write(action, View(frame=frame, pointer=pointer))


def write_all(
    dialect: str, actions: Sequence[Action], frame: Frame, *, pointer: Point | None = None
) -> tuple[Written, ...]:
    """Actions as a dialect writes them, in order; keys held for one action are said with it, where it can.

    Args:
        frame: what coordinates are to be in.
        pointer: where the pointer is at first; it is followed from there.

    Raises:
        UnknownName: no such dialect.
        InvalidAction: the dialect has nothing for one of them.
    """
    found = find_dialect(dialect)
    written: list[Written] = []
    done = 0
    while done < len(actions):
        view = View(frame=frame, pointer=pointer_after(actions[:done], pointer))
        keys = _held(actions[done:])
        if keys and found.hold is not None:
            written += found.hold(keys, actions[done + len(keys)], view)
            done += 2 * len(keys) + 1
        else:
            written += found.write(actions[done], view)
            done += 1
    return tuple(written)


def _held(actions: Sequence[Action]) -> tuple[str, ...]:
    """The keys that go down before the first action of another kind, and up right after; mostly none."""
    keys: list[str] = []
    for action in actions:
        if not isinstance(action, KeyDown):
            break
        keys.append(action.key)
    after = actions[len(keys) + 1 : 2 * len(keys) + 1]
    return tuple(keys) if list(after) == [KeyUp(key=key) for key in reversed(keys)] else ()
