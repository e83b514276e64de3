"""Key names as X11 and xdotool write them ("ctrl+s", "Page_Up", "KP_0"), and W3C `KeyboardEvent.key` names.

Sources: X11's keysymdef.h for the names, xdotool(1) for the short ones ("ctrl", "alt", "super"). Names of
several letters are read in any case, as Anthropic's tools take them.
"""

from __future__ import annotations

import re

from deskhand_sandbox.dialects.key_names import split_chord
from deskhand_sandbox.errors import InvalidAction

_NAMED = {
    "Return": "Enter",
    "Tab": "Tab",
    "BackSpace": "Backspace",
    "Delete": "Delete",
    "Escape": "Escape",
    "Insert": "Insert",
    "Home": "Home",
    "End": "End",
    "Page_Up": "PageUp",
    "Page_Down": "PageDown",
    "Left": "ArrowLeft",
    "Up": "ArrowUp",
    "Right": "ArrowRight",
    "Down": "ArrowDown",
    "shift": "Shift",
    "ctrl": "Control",
    "alt": "Alt",
    "super": "Meta",
    "Caps_Lock": "CapsLock",
    "Num_Lock": "NumLock",
    "Scroll_Lock": "ScrollLock",
    "Print": "PrintScreen",
    "Pause": "Pause",
    "Menu": "ContextMenu",
    **{f"F{number}": f"F{number}" for number in range(1, 25)},
}
"""The name to write -> ours."""
_CHARACTERS = {
    "space": " ",
    "exclam": "!",
    "quotedbl": '"',
    "numbersign": "#",
    "dollar": "$",
    "percent": "%",
    "ampersand": "&",
    "apostrophe": "'",
    "parenleft": "(",
    "parenright": ")",
    "asterisk": "*",
    "plus": "+",
    "comma": ",",
    "minus": "-",
    "period": ".",
    "slash": "/",
    "colon": ":",
    "semicolon": ";",
    "less": "<",
    "equal": "=",
    "greater": ">",
    "question": "?",
    "at": "@",
    "bracketleft": "[",
    "backslash": "\\",
    "bracketright": "]",
    "asciicircum": "^",
    "underscore": "_",
    "grave": "`",
    "braceleft": "{",
    "bar": "|",
    "braceright": "}",
    "asciitilde": "~",
}
"""The name of a character that is no letter or digit -> the character."""
_OTHER = {
    "Enter": "Enter",
    "KP_Enter": "Enter",
    "Esc": "Escape",
    "Del": "Delete",
    "KP_Delete": "Delete",
    "Prior": "PageUp",
    "PageUp": "PageUp",
    "Next": "PageDown",
    "PageDown": "PageDown",
    **{f"Arrow{way}": f"Arrow{way}" for way in ("Left", "Right", "Up", "Down")},
    **{f"KP_{way}": f"Arrow{way}" for way in ("Left", "Right", "Up", "Down")},
    **{f"{name}_{side}": key for name, key in (("Shift", "Shift"), ("Alt", "Alt")) for side in "LR"},
    **{f"{name}_{side}": "Control" for name in ("Control", "Ctrl") for side in "LR"},
    **{f"{name}_{side}": "Meta" for name in ("Super", "Meta", "Win") for side in "LR"},
    **dict.fromkeys(("Control",), "Control"),
    **dict.fromkeys(("Meta", "Win", "Windows", "Cmd", "Command"), "Meta"),
    "Option": "Alt",
    "CapsLock": "CapsLock",
    **{f"KP_{digit}": digit for digit in "0123456789"},
    "KP_Add": "+",
    "KP_Subtract": "-",
    "KP_Multiply": "*",
    "KP_Divide": "/",
    "KP_Decimal": ".",
    "KP_Equal": "=",
    "quoteright": "'",
    "quoteleft": "`",
}
_READ = {theirs.lower(): ours for theirs, ours in (_NAMED | _CHARACTERS | _OTHER).items()}
_WRITTEN = {ours: theirs for theirs, ours in (_NAMED | _CHARACTERS).items()}
_CODE_POINT = re.compile(r"[Uu]\+?([0-9A-Fa-f]{4,6})")


def read_chord(text: str) -> tuple[str, ...]:
    """Our names of keys written "ctrl+shift+t"; a name nobody knows stays, for the sandbox to refuse.

    Raises:
        InvalidAction: there is no key in it.
    """
    keys = tuple(_read_key(name) for name in split_chord(text.strip()))
    if not all(keys):
        raise InvalidAction(f"{text!r} names no keys: write them like ctrl+s or Return")
    return keys


def write_chord(keys: tuple[str, ...]) -> str:
    """The keys as xdotool takes them."""
    return "+".join(_write_key(key) for key in keys)


def _read_key(name: str) -> str:
    if len(name) == 1:
        return name
    point = _CODE_POINT.fullmatch(name)
    if point is not None and (character := _character(int(point.group(1), 16))):
        return character
    return _READ.get(name.lower(), name)


def _write_key(key: str) -> str:
    if key in _WRITTEN:
        return _WRITTEN[key]
    return f"U{ord(key):04X}" if len(key) == 1 and not key.isascii() else key


def _character(code_point: int) -> str:
    """The character; nothing where there is none, or half a surrogate pair."""
    return chr(code_point) if code_point <= 0x10FFFF and not 0xD800 <= code_point <= 0xDFFF else ""
