"""Key names as pyautogui and the systems built on it write them, and W3C `KeyboardEvent.key` names.

W3C names are read in any case: OpenAI's model writes "ARROWLEFT", UI-TARS "arrowleft".
"""

from __future__ import annotations

_W3C = {
    "enter": "Enter",
    "tab": "Tab",
    "backspace": "Backspace",
    "delete": "Delete",
    "esc": "Escape",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "left": "ArrowLeft",
    "up": "ArrowUp",
    "right": "ArrowRight",
    "down": "ArrowDown",
    "shift": "Shift",
    "ctrl": "Control",
    "alt": "Alt",
    "win": "Meta",
    "capslock": "CapsLock",
    "numlock": "NumLock",
    "scrolllock": "ScrollLock",
    "printscreen": "PrintScreen",
    "pause": "Pause",
    "apps": "ContextMenu",
    "space": " ",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}
"""The name pyautogui prefers -> ours."""
_OTHER = {
    "return": "Enter",
    "\n": "Enter",
    "\r": "Enter",
    "\t": "Tab",
    "\b": "Backspace",
    "del": "Delete",
    "escape": "Escape",
    "pgup": "PageUp",
    "pgdn": "PageDown",
    "page_up": "PageUp",
    "page_down": "PageDown",
    "shiftleft": "Shift",
    "shiftright": "Shift",
    "ctrlleft": "Control",
    "ctrlright": "Control",
    "control": "Control",
    "altleft": "Alt",
    "altright": "Alt",
    "option": "Alt",
    "optionleft": "Alt",
    "optionright": "Alt",
    "winleft": "Meta",
    "winright": "Meta",
    "command": "Meta",
    "cmd": "Meta",
    "super": "Meta",
    "prtsc": "PrintScreen",
    "prtscr": "PrintScreen",
    "prntscrn": "PrintScreen",
    "print": "PrintScreen",
    "menu": "ContextMenu",
}
_NAMES = {ours.lower(): ours for ours in _W3C.values()} | _W3C | _OTHER
PYAUTOGUI = {ours: theirs for theirs, ours in _W3C.items()}
"""Our name -> the one pyautogui prefers, of keys that are no characters, and the space bar."""
_COMMANDS = frozenset({"Control", "Alt", "Meta"})
"""With these held, a key is a command and types nothing."""


def to_w3c(name: str) -> str:
    """Our name of a key; a name nobody knows stays as it is, for the sandbox to refuse."""
    return name if len(name) == 1 and name.isprintable() else _NAMES.get(name.lower(), name)


def from_w3c(name: str) -> str:
    """The name pyautogui gives a key; a name it does not know stays as it is."""
    return PYAUTOGUI.get(name, name)


def split_chord(word: str) -> list[str]:
    """The names in "ctrl+shift+t"; a plus where a name should begin is the plus key, as Playwright has it."""
    names = [""]
    for character in word:
        if character == "+" and names[-1]:
            names.append("")
        else:
            names[-1] += character
    return [name for name in names if name] or [word]


def without_capitals(keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys of a chord in which a capital names a key ("Ctrl+C"), and Shift is held where it stands."""
    return tuple(key.lower() if _capital(key) else key for key in keys) if _plain_command(keys) else keys


def with_shift(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Keys that do the same where they are read `without_capitals`."""
    if not _plain_command(keys):
        return keys
    return tuple(name for key in keys for name in (("Shift", key.lower()) if _capital(key) else (key,)))


def _plain_command(keys: tuple[str, ...]) -> bool:
    return "Shift" not in keys and not _COMMANDS.isdisjoint(keys)


def _capital(key: str) -> bool:
    return len(key) == 1 and "A" <= key <= "Z"
