"""Keys by their W3C `KeyboardEvent.key` names, as QEMU's monitor names them (QKeyCode, a US keyboard)."""

from __future__ import annotations

from string import ascii_lowercase, digits

from deskhand_sandbox.errors import InvalidAction, UnknownName

_PUNCTUATION = (
    ("grave_accent", "`~"),
    ("minus", "-_"),
    ("equal", "=+"),
    ("bracket_left", "[{"),
    ("bracket_right", "]}"),
    ("backslash", "\\|"),
    ("semicolon", ";:"),
    ("apostrophe", "'\""),
    ("comma", ",<"),
    ("dot", ".>"),
    ("slash", "/?"),
    *zip(digits, ("0)", "1!", "2@", "3#", "4$", "5%", "6^", "7&", "8*", "9("), strict=True),
)
NAMED = {
    "Enter": "ret",
    "Tab": "tab",
    "Backspace": "backspace",
    "Delete": "delete",
    "Escape": "esc",
    "Insert": "insert",
    "Home": "home",
    "End": "end",
    "PageUp": "pgup",
    "PageDown": "pgdn",
    "ArrowLeft": "left",
    "ArrowUp": "up",
    "ArrowRight": "right",
    "ArrowDown": "down",
    "Shift": "shift",
    "Control": "ctrl",
    "Alt": "alt",
    "AltGraph": "alt_r",
    "Meta": "meta_l",
    "CapsLock": "caps_lock",
    "NumLock": "num_lock",
    "ScrollLock": "scroll_lock",
    "PrintScreen": "print",
    "Pause": "pause",
    "ContextMenu": "compose",
    **{f"F{number}": f"f{number}" for number in range(1, 13)},
}
"""Keys that type nothing -> QEMU's name."""
CHARACTERS = {
    " ": ("spc", False),
    "\n": ("ret", False),
    "\t": ("tab", False),
    **{letter: (letter, False) for letter in ascii_lowercase},
    **{letter.upper(): (letter, True) for letter in ascii_lowercase},
    **{pair[shifted]: (name, bool(shifted)) for name, pair in _PUNCTUATION for shifted in (0, 1)},
}
"""Character -> QEMU's name of its key, and whether Shift goes with it."""


def qemu_keys(name: str) -> tuple[str, ...] | None:
    """The keys that mean a name, to be held in that order; None for a character no US keyboard has.

    Raises:
        InvalidAction: no such key; says the nearest names.
    """
    if name in NAMED:
        return (NAMED[name],)
    if name in CHARACTERS:
        key, shifted = CHARACTERS[name]
        return ("shift", key) if shifted else (key,)
    if len(name) == 1 and name.isprintable():
        return None
    raise InvalidAction(str(UnknownName("key", name, NAMED)))
