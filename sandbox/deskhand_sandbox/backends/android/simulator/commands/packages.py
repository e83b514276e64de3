"""`pm`, `cmd` and `svc`: installed packages, and the odd jobs of system services."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.simulator import first_state
from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError
from deskhand_sandbox.backends.android.simulator.commands.activities import APP_PACKAGES

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator

ROWS_OF = {
    "org.deskhand.contacts": ("contacts",),
    "org.deskhand.notes": ("notes",),
    "org.deskhand.messages": ("sms",),
    "org.deskhand.clock": ("alarms",),
    "org.deskhand.gallery": ("images",),
}
LONGEST_APK = 1 << 30
REFUSED = "Failure [INSTALL_FAILED_NO_MATCHING_ABIS: a simulator runs no Android code]"
NO_APK = "Failure [INSTALL_PARSE_FAILED_NOT_APK: Failed to parse the package]"


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""

    async def pm(call: Call) -> int:
        return await _packages(simulator, call, call.words[1:])

    async def cmd(call: Call) -> int:
        match call.words[1:]:
            case ("package", *words):
                return await _packages(simulator, call, words)
            case ("uimode", "night", value) if value in ("yes", "no"):
                simulator.tables.set_setting("secure", "ui_night_mode", "2" if value == "yes" else "1")
                await call.say(f"Night mode: {value}")
                return 0
            case _:
                return await call.complain(f"cmd: Can't find service: {' '.join(call.words[1:2])}")

    async def svc(call: Call) -> int:
        match call.words[1:]:
            case ("wifi" | "bluetooth" as what, "enable" | "disable" as do):
                value = "1" if do == "enable" else "0"
                simulator.tables.set_setting("global", f"{what}_on", value)
                return 0
            case _:
                raise UsageError("usage: svc wifi|bluetooth enable|disable")

    return {"pm": pm, "cmd": cmd, "svc": svc}


async def _packages(simulator: Simulator, call: Call, words: Sequence[str]) -> int:
    installed = sorted([*APP_PACKAGES, *(p for p in first_state.PACKAGES if _is_there(simulator, p))])
    match tuple(words):
        case ("list", "packages", *options):
            wanted = [word for word in options if not word.startswith("-")]
            for name in installed:
                if not wanted or wanted[0] in name:
                    await call.say(f"package:{name}")
        case ("list", "features" | "libraries", *_):
            await call.say("feature:android.hardware.touchscreen")
        case ("path", name):
            if name not in installed:
                return 1
            await call.say(f"package:/system/app/{name.rpartition('.')[2]}/base.apk")
        case ("query-activities", *options):
            await _query(call, options)
        case ("clear", *options) if options:
            return await _clear(simulator, call, options[-1])
        case ("install" | "install-create", *options):
            return await _install(simulator, call, options)
        case ("uninstall", *_):
            await call.say("Failure [DELETE_FAILED_INTERNAL_ERROR]")
            return 1
        case _:
            raise UsageError("usage: pm list packages | path | clear | install")
    return 0


def _is_there(simulator: Simulator, package: str) -> bool:
    return package != "com.android.adbkeyboard" or simulator.unicode_keyboard


async def _query(call: Call, options: Sequence[str]) -> None:
    components = [f"{package}/.Main" for package in APP_PACKAGES]
    if "--components" in options:
        for component in components:
            await call.say(component)
        return
    await call.say(f"{len(components)} activities found:")
    for index, component in enumerate(components):
        await call.say(
            f"  Activity #{index}:\n    priority=0 preferredOrder=0 match=0x108000\n    {component}"
        )


async def _clear(simulator: Simulator, call: Call, package: str) -> int:
    if package not in APP_PACKAGES:
        await call.say("Failed")
        return 1
    for table in ROWS_OF.get(package, ()):
        simulator.tables.delete(table, where="")
    if package == "org.deskhand.clock":
        simulator.tables.update("timers", {"seconds": 0, "state": "reset", "since": 0}, where="")
    await simulator.screen.call("stop", package)
    await call.say("Success")
    return 0


async def _install(simulator: Simulator, call: Call, options: Sequence[str]) -> int:
    """Takes the file, and says why it cannot be installed: an APK holds Android code."""
    beginning = b""
    if "-S" in options[:-1]:
        size = int(number) if (number := options[options.index("-S") + 1]).isdecimal() else 0
        taken = 0
        while taken < min(size, LONGEST_APK) and (part := await call.read()):
            beginning = beginning or part[:4]
            taken += len(part)
    elif options:
        try:
            beginning = simulator.files.read(options[-1])[:4]
        except OSError as error:
            await call.say(f"Error: Unable to open file: {options[-1]} ({error.strerror})")
            return 1
    await call.say(REFUSED if beginning == b"PK\3\4" else NO_APK)
    return 1
