"""`input` and `ime`: fingers, keys and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.keys import CODES, NAMES
from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError
from deskhand_sandbox.backends.browser.keys import KEYS
from deskhand_sandbox.types import Point

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator

SOURCES = ("touchscreen", "keyboard", "touchpad", "stylus", "mouse", "dpad")
TAP_MS = 20.0
SWIPE_MS = 300.0
LONGEST_MS = 60_000.0
ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"
OTHER_KEYBOARD = "org.deskhand.keyboard/.Keyboard"
KEY_NAMES = {
    "HOME": 3, "BACK": 4, "ENTER": 66, "DEL": 67, "TAB": 61, "SPACE": 62, "FORWARD_DEL": 112, "ESCAPE": 111,
    "APP_SWITCH": 187, "MENU": 82, "POWER": 26, "WAKEUP": 224, "SLEEP": 223, "DPAD_UP": 19, "DPAD_DOWN": 20,
    "DPAD_LEFT": 21, "DPAD_RIGHT": 22, "MOVE_HOME": 122, "MOVE_END": 123, "PAGE_UP": 92, "PAGE_DOWN": 93,
    "VOLUME_UP": 24, "VOLUME_DOWN": 25, "VOLUME_MUTE": 164, "CTRL_LEFT": 113, "SHIFT_LEFT": 59,
    "ALT_LEFT": 57, "META_LEFT": 117, "NUMPAD_ENTER": 160,
}  # fmt: skip
"""KEYCODE_… -> number, of keys that are no letters or digits."""


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""

    async def put(call: Call) -> int:
        words = list(call.words[1:])
        while words and words[0] in (*SOURCES, "-d"):
            del words[: 2 if words[0] == "-d" else 1]
        if not words:
            raise UsageError("usage: input [<source>] <command> [<arg>...]")
        await _put(simulator, words[0], words[1:])
        return 0

    async def ime(call: Call) -> int:
        return await _ime(simulator, call)

    return {"input": put, "ime": ime}


async def _put(simulator: Simulator, verb: str, words: Sequence[str]) -> None:
    screen = simulator.screen
    match verb:
        case "tap":
            numbers = _numbers(words, 2)
            await screen.touch([_point(numbers)], TAP_MS)
        case "swipe" | "draganddrop":
            numbers = _numbers(words[:4], 4)
            duration = _numbers(words[4:5], 1)[0] if len(words) > 4 else SWIPE_MS
            await screen.touch([_point(numbers), _point(numbers[2:])], min(max(0.0, duration), LONGEST_MS))
        case "motionevent":
            if not words or words[0].upper() not in ("DOWN", "UP", "MOVE", "CANCEL"):
                raise UsageError("motionevent needs DOWN, UP, MOVE or CANCEL")
            await screen.finger(words[0].upper(), _point(_numbers(words[1:], 2)))
        case "text":
            if not words:
                raise UsageError("text needs an argument")
            await _type(simulator, " ".join(words).replace("%s", " "))
        case "keyevent":
            codes = [_code(word) for word in words if not word.startswith("--")]
            if not codes:
                raise UsageError("keyevent needs a key code")
            for code in codes:
                await _key(simulator, [code])
        case "keycombination":
            codes = [_code(word) for word in words if not word.startswith("-")]
            if len(codes) < 2:
                raise UsageError("keycombination needs at least two key codes")
            await _key(simulator, codes)
        case _:
            raise UsageError(f"unknown command: {verb}")


async def _type(simulator: Simulator, text: str) -> None:
    for character in text:
        if not " " <= character <= "~":
            # as on a device, whose virtual keyboard has no key for it
            raise UsageError(f"java.lang.NullPointerException: no key types {character!r}")
    await simulator.screen.type(text)


async def _key(simulator: Simulator, codes: list[int]) -> None:
    simulator.note("InputDispatcher", f"keys {codes}")
    match codes:
        case [3]:
            await simulator.screen.call("home")
        case [4] | [111]:
            await simulator.screen.call("back")
        case [160]:
            await simulator.screen.press(["Enter"])
        case _ if all(NAMES.get(code) in KEYS for code in codes):
            await simulator.screen.press([NAMES[code] for code in codes])
        case _:
            return  # a key without effect here, as many are on a device


async def _ime(simulator: Simulator, call: Call) -> int:
    installed = [OTHER_KEYBOARD, *([ADB_KEYBOARD] if simulator.unicode_keyboard else [])]
    match call.words[1:]:
        case ("list", *_):
            for name in installed:
                await call.say(name)
        case ("enable" | "set" as verb, name) if name in installed:
            if verb == "set":
                simulator.tables.set_setting("secure", "default_input_method", name)
            await call.say(f"Input method {name}: now {'selected' if verb == 'set' else 'enabled'}")
        case ("reset",):
            simulator.tables.set_setting("secure", "default_input_method", OTHER_KEYBOARD)
        case ("enable" | "set" | "disable", name):
            return await call.complain(f"Unknown input method {name} cannot be selected for user #0")
        case _:
            raise UsageError("usage: ime list [-a] [-s] | enable ID | set ID | reset")
    return 0


def _code(word: str) -> int:
    if word.isdecimal():
        return int(word)
    name = word.removeprefix("KEYCODE_")
    if name in KEY_NAMES:
        return KEY_NAMES[name]
    if len(name) == 1 and name.lower() in CODES:
        return CODES[name.lower()]
    raise UsageError(f"unknown key code {word}")


def _numbers(words: Sequence[str], count: int) -> list[float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        numbers = []
    if len(numbers) != count:
        raise UsageError(f"invalid arguments: {' '.join(words)!r}, {count} numbers are needed")
    return numbers


def _point(numbers: Sequence[float]) -> Point:
    return round(numbers[0]), round(numbers[1])
