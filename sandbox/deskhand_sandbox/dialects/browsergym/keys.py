"""Key names as Playwright takes them: W3C `KeyboardEvent.key` names, and places on a US keyboard ("KeyA")."""

from __future__ import annotations

from string import ascii_lowercase, digits

from deskhand_sandbox.dialects.key_names import split_chord, with_shift, without_capitals
from deskhand_sandbox.errors import InvalidAction

_PLACES = {
    **{f"Key{letter.upper()}": letter for letter in ascii_lowercase},
    **{f"{row}{digit}": digit for digit in digits for row in ("Digit", "Numpad")},
    **{f"{name}{side}": name for name in ("Shift", "Control", "Alt", "Meta") for side in ("Left", "Right")},
    "ControlOrMeta": "Control",
    "Space": " ",
    "NumpadEnter": "Enter",
    "Backquote": "`",
    "Minus": "-",
    "Equal": "=",
    "BracketLeft": "[",
    "BracketRight": "]",
    "Backslash": "\\",
    "Semicolon": ";",
    "Quote": "'",
    "Comma": ",",
    "Period": ".",
    "Slash": "/",
}


def read_keys(chord: str) -> tuple[str, ...]:
    """Our names of keys written "Control+a".

    Raises:
        InvalidAction: there is no key in it.
    """
    keys = tuple(read_key(name) for name in split_chord(chord))
    if not all(keys):
        raise InvalidAction(f"{chord!r:.60} names no keys: write them like Control+a or Enter")
    return without_capitals(keys)


def read_key(name: str) -> str:
    """Our name of one key; a name nobody knows stays, for the sandbox to refuse."""
    return _PLACES.get(name, name)


def write_keys(keys: tuple[str, ...]) -> str:
    """The keys as Playwright takes them."""
    return "+".join("Space" if key == " " else key for key in with_shift(keys))
