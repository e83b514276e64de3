"""`am` and `monkey`: starting and stopping apps, and broadcasts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError
from deskhand_sandbox.backends.android.simulator.commands.fingers import ADB_KEYBOARD
from deskhand_sandbox.backends.android.simulator.screen import APPS

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator

APP_PACKAGES = tuple(f"org.deskhand.{name}" for name in APPS)
DEMO = "com.android.systemui.demo"
_VALUED = ("-a", "-c", "-d", "-f", "-n", "-p", "-t", "--user", "--es", "--ei", "--ez", "-e")


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""

    async def am(call: Call) -> int:
        match call.words[1:]:
            case ("start" | "start-activity", *words):
                return await _start(simulator, call, words)
            case ("force-stop", *words) if words:
                await simulator.screen.call("stop", words[-1])
                return 0
            case ("broadcast", *words):
                return await _broadcast(simulator, call, words)
            case _:
                raise UsageError("usage: am start | force-stop | broadcast")

    async def monkey(call: Call) -> int:
        words = call.words[1:]
        package = words[words.index("-p") + 1] if "-p" in words[:-1] else ""
        if package not in APP_PACKAGES:
            await call.say("** No activities found to run, monkey aborted.")
            return 252
        await simulator.screen.call("open", package)
        await call.say("Events injected: 1")
        return 0

    return {"am": am, "monkey": monkey}


async def _start(simulator: Simulator, call: Call, words: Sequence[str]) -> int:
    options, rest = _intent(words)
    component = options.get("-n") or (rest[-1] if rest and "." in rest[-1] else "")
    package = component.partition("/")[0] or options.get("-p", "")
    wanted = f"cmp={component}" if component else f"act={options.get('-a', '')} dat={options.get('-d', '')}"
    await call.say(f"Starting: Intent {{ {wanted} }}")
    if package == "org.deskhand.launcher" or "android.intent.category.HOME" in options.values():
        await simulator.screen.call("home")
    elif package in APP_PACKAGES:
        simulator.note("ActivityTaskManager", f"START u0 {{cmp={component}}}")
        await simulator.screen.call("open", package)
    elif component:
        await call.write_error(b"Error type 3\n")
        return await call.complain(f"Error: Activity class {{{component}}} does not exist.")
    else:
        return await call.complain(f"Error: Activity not started, unable to resolve Intent {{ {wanted} }}")
    return 0


async def _broadcast(simulator: Simulator, call: Call, words: Sequence[str]) -> int:
    options, _ = _intent(words)
    action = options.get("-a", "")
    await call.say(f"Broadcasting: Intent {{ act={action} }}")
    if action == DEMO:
        _demonstrate(simulator, options)
    elif action.startswith("ADB_"):
        await _keyboard(simulator, action, options)
    await call.say("Broadcast completed: result=0")
    return 0


def _demonstrate(simulator: Simulator, options: Mapping[str, str]) -> None:
    """The status bar's demo mode, as SystemUI knows it: a clock that stands still."""
    if options.get("command") == "exit":
        simulator.demo = None
    elif options.get("command") == "clock" and len(time := options.get("hhmm", "")) == 4:
        simulator.demo = f"{time[:2]}:{time[2:]}"
    simulator.redraw()


async def _keyboard(simulator: Simulator, action: str, options: Mapping[str, str]) -> None:
    """What ADBKeyboard hears, where it is the keyboard in use."""
    if simulator.tables.setting("secure", "default_input_method") != ADB_KEYBOARD:
        return
    if action == "ADB_INPUT_B64":
        try:
            text = base64.b64decode(options.get("msg", "")).decode()
        except (binascii.Error, UnicodeDecodeError):
            return
        await simulator.screen.insert(text)
    elif action == "ADB_INPUT_TEXT":
        await simulator.screen.insert(options.get("msg", ""))
    elif action == "ADB_CLEAR_TEXT":
        await simulator.screen.press(["Control", "a"])
        await simulator.screen.press(["Backspace"])


def _intent(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Options of an intent, its extras among them by their names, and the other words."""
    options: dict[str, str] = {}
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word not in _VALUED:
            if not word.startswith("-"):
                rest.append(word)
        elif not left:
            raise UsageError(f"Argument expected after {word!r}")
        elif word in ("--es", "--ei", "--ez", "-e"):
            name = left.pop(0)
            options[name] = left.pop(0) if left else ""
        else:
            options[word] = left.pop(0)
    return options, rest
