"""Keys by their W3C `KeyboardEvent.key` names, and Android's key codes (`android.view.KeyEvent`)."""

from __future__ import annotations

from string import ascii_lowercase

from deskhand_sandbox.errors import InvalidAction, UnknownName

MODIFIERS = {"Alt": 57, "Control": 113, "Meta": 117, "Shift": 59}
NAMED = {
    "Enter": 66,
    "Tab": 61,
    "Backspace": 67,
    "Delete": 112,
    "Escape": 111,
    "Insert": 124,
    "Home": 122,
    "End": 123,
    "PageUp": 92,
    "PageDown": 93,
    "ArrowUp": 19,
    "ArrowDown": 20,
    "ArrowLeft": 21,
    "ArrowRight": 22,
    "CapsLock": 115,
    "ContextMenu": 82,
    " ": 62,
    "GoBack": 4,
    "BrowserBack": 4,
    "GoHome": 3,
    "BrowserHome": 3,
    "AppSwitch": 187,
    "Power": 26,
    "WakeUp": 224,
    "AudioVolumeUp": 24,
    "AudioVolumeDown": 25,
    "AudioVolumeMute": 164,
    "BrowserSearch": 84,
    "Camera": 27,
    **MODIFIERS,
    **{f"F{number}": 130 + number for number in range(1, 13)},
}
"""Name -> code, of keys that are no characters, and the space bar."""
PUNCTUATION = {
    "`": 68,
    "-": 69,
    "=": 70,
    "[": 71,
    "]": 72,
    "\\": 73,
    ";": 74,
    "'": 75,
    ",": 55,
    ".": 56,
    "/": 76,
    "@": 77,
    "+": 81,
    "*": 17,
    "#": 18,
}
CHARACTERS = {
    **{letter: 29 + index for index, letter in enumerate(ascii_lowercase)},
    **{digit: 7 + index for index, digit in enumerate("0123456789")},
    **PUNCTUATION,
}
"""Character -> code of the key that types it without Shift."""
SHIFTED = {
    **{letter.upper(): letter for letter in ascii_lowercase},
    **dict(zip('~!$%^&()_{}|:"<>?', "`1456790-[]\\;',./", strict=True)),
}
"""Character -> the one whose key types it with Shift."""
CODES = {**CHARACTERS, **NAMED}
NAMES = {code: name for name, code in reversed(CODES.items())}
"""Code -> the first name of it."""


def key_codes(name: str) -> tuple[int, ...]:
    """The codes of the keys that are pressed together for a key of that name.

    Raises:
        InvalidAction: no such key; says the nearest.
    """
    if name in CODES:
        return (CODES[name],)
    if name in SHIFTED:
        return MODIFIERS["Shift"], CHARACTERS[SHIFTED[name]]
    raise InvalidAction(str(UnknownName("key", name, CODES)))
