"""Key names: the short ones models write ("ctrl", "esc") and the W3C `KeyboardEvent.key` names of actions."""

from __future__ import annotations

from deskhand_agent.grammar.calls import Value
from deskhand_sandbox.dialects.key_names import without_capitals

_SHORT = {
    "ctrl": "Control",
    "shift": "Shift",
    "alt": "Alt",
    "meta": "Meta",
    "enter": "Enter",
    "tab": "Tab",
    "esc": "Escape",
    "space": " ",
    "backspace": "Backspace",
    "delete": "Delete",
    "insert": "Insert",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "capslock": "CapsLock",
    "printscreen": "PrintScreen",
    "menu": "ContextMenu",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
}
_OTHER = {
    "control": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "win": "Meta",
    "super": "Meta",
    "option": "Alt",
    "return": "Enter",
    "escape": "Escape",
    "del": "Delete",
    "page_up": "PageUp",
    "page_down": "PageDown",
    "arrowup": "ArrowUp",
    "arrowdown": "ArrowDown",
    "arrowleft": "ArrowLeft",
    "arrowright": "ArrowRight",
}
_NAMES = _SHORT | _OTHER
_SHORT_OF = {name: short for short, name in _SHORT.items()}


def read_keys(text: str) -> tuple[str, ...]:
    """Keys written "ctrl shift t", "ctrl+shift+t" or "Ctrl+T"; unknown names stay as they are."""
    words = [part for word in text.split() for part in _split_plus(word)]
    return without_capitals(tuple(_NAMES.get(word.lower(), word) for word in words))


def write_keys(keys: tuple[str, ...]) -> dict[str, Value]:
    """The arguments that name these keys: short where that reads back the same, a list of names otherwise."""
    short = " ".join(_SHORT_OF.get(key, key) for key in keys)
    return {"key": short} if read_keys(short) == keys else {"keys": list(keys)}


def _split_plus(word: str) -> list[str]:
    pluses = min(len(word) - len(word.rstrip("+")), len(word) - 1) // 2
    word = word[: len(word) - 2 * pluses]
    names = [word] if len(word) < 3 else [part for part in word.split("+") if part]
    return [*names, *("+" * pluses)]
