"""Keys by their W3C `KeyboardEvent.key` names, as pyautogui calls them."""

from __future__ import annotations

from deskhand_sandbox.dialects.key_names import PYAUTOGUI
from deskhand_sandbox.errors import InvalidAction, UnknownName

KEYS = {ours: theirs for ours, theirs in PYAUTOGUI.items() if ours not in {f"F{n}" for n in range(13, 25)}}
"""Keys that are no characters; the keyboard of an X server ends at F12."""


def desktop_key(name: str) -> str:
    """What the hand calls a key; any single character is a key.

    Raises:
        InvalidAction: there is no such key; says the nearest.
    """
    if name in KEYS:
        return KEYS[name]
    if len(name) == 1 and name.isprintable():
        return name
    raise InvalidAction(str(UnknownName("key", name, KEYS)))
