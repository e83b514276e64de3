"""Keys by their W3C `KeyboardEvent.key` names, as the DevTools protocol wants them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase

from deskhand_sandbox.errors import InvalidAction, UnknownName

MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
"""Key -> its bit in the protocol's `modifiers`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """One key of a US keyboard, with or without Shift."""

    key: str
    code: str
    number: int
    """Windows virtual key code, which pages read as `keyCode`."""
    text: str = ""
    """What it types; empty for keys that type nothing."""
    shifted: bool = False


_PUNCTUATION = (
    ("Backquote", 192, "`~"),
    ("Minus", 189, "-_"),
    ("Equal", 187, "=+"),
    ("BracketLeft", 219, "[{"),
    ("BracketRight", 221, "]}"),
    ("Backslash", 220, "\\|"),
    ("Semicolon", 186, ";:"),
    ("Quote", 222, "'\""),
    ("Comma", 188, ",<"),
    ("Period", 190, ".>"),
    ("Slash", 191, "/?"),
)
_NAMED = {
    "Enter": ("Enter", 13, "\r"),
    "Tab": ("Tab", 9, ""),
    "Backspace": ("Backspace", 8, ""),
    "Delete": ("Delete", 46, ""),
    "Escape": ("Escape", 27, ""),
    "Insert": ("Insert", 45, ""),
    "Home": ("Home", 36, ""),
    "End": ("End", 35, ""),
    "PageUp": ("PageUp", 33, ""),
    "PageDown": ("PageDown", 34, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Shift": ("ShiftLeft", 16, ""),
    "Control": ("ControlLeft", 17, ""),
    "Alt": ("AltLeft", 18, ""),
    "Meta": ("MetaLeft", 91, ""),
    "CapsLock": ("CapsLock", 20, ""),
    "ContextMenu": ("ContextMenu", 93, ""),
}


def _layout() -> Iterator[Key]:
    for letter in ascii_lowercase:
        code, number = f"Key{letter.upper()}", ord(letter.upper())
        yield Key(key=letter, code=code, number=number, text=letter)
        yield Key(key=letter.upper(), code=code, number=number, text=letter.upper(), shifted=True)
    for digit, symbol in zip("0123456789", ")!@#$%^&*(", strict=True):
        code, number = f"Digit{digit}", ord(digit)
        yield Key(key=digit, code=code, number=number, text=digit)
        yield Key(key=symbol, code=code, number=number, text=symbol, shifted=True)
    for code, number, (plain, shifted) in _PUNCTUATION:
        yield Key(key=plain, code=code, number=number, text=plain)
        yield Key(key=shifted, code=code, number=number, text=shifted, shifted=True)
    yield Key(key=" ", code="Space", number=32, text=" ")
    for name, (code, number, text) in _NAMED.items():
        yield Key(key=name, code=code, number=number, text=text)
    for index in range(1, 13):
        yield Key(key=f"F{index}", code=f"F{index}", number=111 + index)


KEYS = {each.key: each for each in _layout()}
"""Every key by name; a character's name is the character."""

_ALIASES = {"\n": "Enter", "\r": "Enter", "\t": "Tab"}


def find_key(name: str) -> Key:
    """The key of that name.

    Raises:
        InvalidAction: no such key; says the nearest names.
    """
    found = KEYS.get(_ALIASES.get(name, name))
    if found is not None:
        return found
    if len(name) == 1 and name.isprintable():
        # a character of no key here: it types itself
        return Key(key=name, code="", number=0, text=name)
    raise InvalidAction(str(UnknownName("key", name, KEYS)))
