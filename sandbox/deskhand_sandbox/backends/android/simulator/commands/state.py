"""`getprop`, `settings`, `content` and `logcat`: what the device knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from deskhand_sandbox.backends.android.simulator.calls import Call, Program, UsageError
from deskhand_sandbox.backends.android.simulator.tables import QueryError, Value, table_at

if TYPE_CHECKING:
    from deskhand_sandbox.backends.android.simulator.simulator import Simulator

NAMESPACES = ("system", "secure", "global")


def programs(simulator: Simulator) -> Mapping[str, Program]:
    """Name -> program."""

    async def getprop(call: Call) -> int:
        if len(call.words) > 1:
            default = call.words[2] if len(call.words) > 2 else ""
            await call.say(simulator.properties.get(call.words[1], default))
        else:
            for name, value in sorted(simulator.properties.items()):
                await call.say(f"[{name}]: [{value}]")
        return 0

    async def setprop(call: Call) -> int:
        if len(call.words) != 3:
            raise UsageError("usage: setprop NAME VALUE")
        name, value = call.words[1:]
        if name.startswith("ro."):
            return await call.complain(f"Failed to set property '{name}' to '{value}'.")
        simulator.properties[name] = value
        return 0

    async def settings(call: Call) -> int:
        return await _settings(simulator, call)

    async def content(call: Call) -> int:
        try:
            return await _content(simulator, call)
        except QueryError as error:
            return await call.complain(f"Error while accessing provider: {error}")

    async def logcat(call: Call) -> int:
        return await _logcat(simulator, call)

    async def log(call: Call) -> int:
        words = list(call.words[1:])
        tag = "log"
        if words[:1] == ["-t"] and len(words) > 1:
            tag, words = words[1], words[2:]
        simulator.note(tag, " ".join(words))
        return 0

    names = (getprop, setprop, settings, content, logcat, log)
    return {program.__name__: program for program in names}


async def _settings(simulator: Simulator, call: Call) -> int:
    tables = simulator.tables
    match call.words[1:]:
        case ("get", space, name) if space in NAMESPACES:
            await call.say(tables.setting(space, name) or "null")
        case ("put", space, name, value) if space in NAMESPACES:
            tables.set_setting(space, name, value)
            if (space, name) == ("system", "user_rotation") and value.isdecimal():
                await simulator.turn(int(value))
        case ("delete", space, name) if space in NAMESPACES:
            found = tables.setting(space, name) is not None
            tables.set_setting(space, name, None)
            await call.say(f"Deleted {int(found)} rows")
        case ("list", space) if space in NAMESPACES:
            for row in tables.select("settings", where=f"namespace = '{space}'"):
                await call.say(f"{row['name']}={row['value']}")
        case _:
            raise UsageError("usage: settings get|put|delete|list system|secure|global [NAME [VALUE]]")
    await simulator.shown()
    return 0


async def _content(simulator: Simulator, call: Call) -> int:
    verb = call.words[1] if len(call.words) > 1 else ""
    options = _options(call.words[2:])
    if "--uri" not in options:
        raise UsageError("usage: content query|insert|update|delete --uri URI …")
    table, one = table_at(options["--uri"][0])
    asked = options.get("--where", [""])[0]
    where = " AND ".join(f"({part})" for part in (one, asked) if part)
    tables = simulator.tables
    match verb:
        case "query":
            columns = [name for each in options.get("--projection", []) for name in each.split(":")]
            found = tables.select(table, columns=columns, where=where, sort=_sort(options))
            for index, row in enumerate(found):
                told = ", ".join(
                    f"{name}={'NULL' if value is None else value}" for name, value in row.items()
                )
                await call.say(f"Row: {index} {told}")
            if not found:
                await call.say("No result found.")
        case "insert":
            tables.insert(table, _values(options))
        case "update":
            tables.update(table, _values(options), where=where)
        case "delete":
            tables.delete(table, where=where)
        case _:
            raise UsageError(f"unknown command {verb!r}")
    await simulator.shown()
    return 0


async def _logcat(simulator: Simulator, call: Call) -> int:
    words = call.words[1:]
    if "-c" in words:
        simulator.log.clear()
        return 0
    told = 0
    while True:
        logged, new = simulator.logged, simulator.noted - told
        told = simulator.noted
        for line in list(simulator.log)[-new:] if new else []:
            await call.say(line)
        if "-d" in words or "-t" in words:
            return 0
        if simulator.noted == told:
            await logged.wait()


def _options(words: Sequence[str]) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    left = list(words)
    while left:
        name = left.pop(0)
        if not name.startswith("--") or not left:
            raise UsageError(f"[ERROR] Unsupported argument: {name}")
        options.setdefault(name, []).append(left.pop(0))
    return options


def _sort(options: Mapping[str, list[str]]) -> str:
    return options.get("--sort", [""])[0]


def _values(options: Mapping[str, list[str]]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for bound in options.get("--bind", []):
        name, kind, text = (*bound.split(":", 2), "", "")[:3]
        try:
            match kind:
                case "s":
                    values[name] = text
                case "i" | "l":
                    values[name] = int(text)
                case "f" | "d":
                    values[name] = float(text)
                case "b":
                    values[name] = int(text == "true")
                case "n":
                    values[name] = None
                case _:
                    raise UsageError(f"Unsupported type: {kind!r} in {bound!r}")
        except ValueError:
            raise UsageError(f"not a number: {bound!r}") from None
    return values
