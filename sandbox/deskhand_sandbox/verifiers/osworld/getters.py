"""Values got out of a sandbox, or out of what the task brings, by OSWorld's names."""

from __future__ import annotations

import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from deskhand_sandbox.base import Capability
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.tasks.guest import RUN_S, UnreadableFile
from deskhand_sandbox.tasks.setup import programs, tabs
from deskhand_sandbox.tasks.setup.downloads import TOTAL_S
from deskhand_sandbox.tasks.setup.steps import SetupContext
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.values import File, Unusable, Value

Settings: TypeAlias = Mapping[str, JsonValue]
Get: TypeAlias = Callable[[SetupContext, Settings], Awaitable[Value]]


def _any(settings: Settings) -> None:
    """Anything is taken."""


@dataclass(frozen=True, slots=True)
class Getter:
    """One way to get a value."""

    get: Get
    needed: tuple[str, ...] = ()
    """Settings that must be there."""
    check: Callable[[Settings], object] = _any
    """Refuses settings it cannot use (InvalidTask), when the task is read."""
    in_browser: bool = True
    """Whether it works in a browser sandbox, which has no guest."""
    asked_s: Callable[[Settings], float] = lambda _: 0.0
    """Seconds it may take by its own limits; 0 where it is done at once."""


async def _rule(context: SetupContext, settings: Settings) -> Value:
    return settings["rules"]


async def _vm_file(context: SetupContext, settings: Settings) -> Value:
    found: list[File | None] = []
    for path, name in _paths(settings):
        data = await _content_of(context, path)
        if data is not None:
            context.kept[name] = data
        found.append(None if data is None else File(name, data))
    return _given(found, settings)


async def _content_of(context: SetupContext, path: str) -> bytes | None:
    try:
        return await context.guest.get(path)
    except UnreadableFile as error:
        raise Unusable(str(error)) from error


async def _cloud_file(context: SetupContext, settings: Settings) -> Value:
    found: list[File | None] = []
    for url, name in _paths(settings):
        data = await context.downloads.get(url)
        context.kept[name] = data
        found.append(File(name, data))
    return _given(found, settings)


async def _cache_file(context: SetupContext, settings: Settings) -> Value:
    name = str(settings["path"])
    if name not in context.kept:
        raise Unusable(f"no step or getter before has left {name!r}")
    return File(name, context.kept[name])


async def _command_line(context: SetupContext, settings: Settings) -> Value:
    return (await _ran(context, settings))[0]


async def _command_error(context: SetupContext, settings: Settings) -> Value:
    return (await _ran(context, settings))[1]


async def _default_video_player(context: SetupContext, settings: Settings) -> Value:
    return (await context.guest.run("xdg-mime query default video/mp4")).out


async def _ran(context: SetupContext, settings: Settings) -> tuple[str, str]:
    command = programs.command_of(settings, context.screen_px)
    ran = await programs.execute(context.guest, command, None, after=True)
    return ran.out, ran.err


async def _terminal_output(context: SetupContext, settings: Settings) -> Value:
    return (await context.sandbox.observe()).terminal


async def _list_directory(context: SetupContext, settings: Settings) -> Value:
    path = str(settings["path"])
    ran = await context.guest.run(["find", path, "-mindepth", "1", "-printf", "%y\\t%P\\n"])
    if ran.code:
        return None
    tree: dict[str, JsonValue] = {
        "type": "directory",
        "name": posixpath.basename(path.rstrip("/")),
        "children": [],
    }
    places: dict[str, list[JsonValue]] = {"": cast("list[JsonValue]", tree["children"])}
    for line in sorted(ran.out.splitlines(), key=lambda one: one.partition("\t")[2]):
        kind, _, place = line.partition("\t")
        folder, _, name = place.rpartition("/")
        entry: dict[str, JsonValue] = {"type": "directory" if kind == "d" else "file", "name": name}
        if kind == "d":
            places[place] = []
            entry["children"] = places[place]
        places.setdefault(folder, []).append(entry)
    return tree


async def _content(context: SetupContext, settings: Settings) -> Value:
    from deskhand_sandbox.verifiers.osworld.metrics.tables import last_row

    path = str(settings["path"])
    data = await _content_of(context, path)
    if data is None:
        raise Unusable(f"there is no {path}")
    return last_row(File(posixpath.basename(path), data))


def _last_row_of_xlsx(settings: Settings) -> None:
    if settings["file_type"] != "xlsx" or settings["file_content"] != "last_row":
        raise InvalidTask("it gives the last_row of an xlsx file and nothing else")


async def _tree(context: SetupContext, settings: Settings) -> Value:
    if Capability.TEXT_TREE not in context.sandbox.capabilities:
        raise VerifierError(f"a {context.sandbox.kind} sandbox has no accessibility tree")
    return (await context.sandbox.observe(text_tree=True)).text_tree


async def _screen_size(context: SetupContext, settings: Settings) -> Value:
    width, height = context.screen_px
    return {"width": width, "height": height}


async def _front_url(context: SetupContext) -> str | None:
    """The address in front."""
    if context.sandbox.kind == "browser":
        return (await context.sandbox.observe()).url
    found = await tabs.listed(context.guest, wait_s=3.0)
    return found[0].url if found else None


async def _active_url(context: SetupContext, settings: Settings) -> Value:
    url = await _front_url(context)
    prefix = settings.get("goto_prefix", "https://")
    if url is None or "//" in url:
        return url
    return f"{prefix}{url}"


async def _active_tab(context: SetupContext, settings: Settings) -> Value:
    url = await _front_url(context)
    return None if url is None else {"url": url}


async def _open_tabs(context: SetupContext, settings: Settings) -> Value:
    if context.sandbox.kind == "browser":
        raise VerifierError(
            "open_tabs_info needs a browser on a desktop: this kind tells of the tab in front only"
        )
    found = await tabs.listed(context.guest, wait_s=3.0)
    return [{"url": each.url, "title": each.title} for each in found]


async def _url_dash_part(context: SetupContext, settings: Settings) -> Value:
    url = await _front_url(context)
    if url is None:
        return None
    parts, index = url.split("/"), _part_index(settings)
    if not -len(parts) <= index < len(parts):
        raise Unusable(f"{url} has no part {index}")
    part = parts[index]
    if settings.get("needDeleteId") is True:
        part = part.partition("?")[0]
    if settings.get("returnType") == "json":
        return {str(settings.get("key", "expected")): part}
    return part


def _part_index(settings: Settings) -> int:
    try:
        return int(str(settings["partIndex"]))
    except ValueError as error:
        raise InvalidTask(f"partIndex must be a whole number, not {settings['partIndex']!r}") from error


def _command_s(settings: Settings) -> float:
    return programs.TIMEOUT_S


def _paths(settings: Settings) -> list[tuple[str, str]]:
    """Paths and the names they are kept under."""
    paths, names = settings["path"], settings["dest"]
    many = isinstance(paths, list) and isinstance(names, list)
    pairs = (
        list(zip(cast("Sequence[JsonValue]", paths), cast("Sequence[JsonValue]", names), strict=False))
        if many
        else [(paths, names)]
    )
    if not all(isinstance(path, str) and isinstance(name, str) for path, name in pairs):
        raise InvalidTask("path and dest must be texts, or lists of texts as long as each other")
    return [(str(path), str(name)) for path, name in pairs]


def _given(found: list[File | None], settings: Settings) -> Value:
    """Which of several files the metric gets: those `gives` names, the first where it names none."""
    if settings.get("multi") is not True:
        return found[0]
    gives = settings.get("gives", [0])
    chosen = (
        [found[number] for number in gives if isinstance(number, int)] if isinstance(gives, list) else found
    )
    if len(chosen) == 1:
        # sheets as they are shown lie beside the workbook as CSV: tables need both
        return [chosen[0], *(each for each in found if each is not chosen[0])]
    return cast("Value", chosen)


GETTERS: Mapping[str, Getter] = {
    "accessibility_tree": Getter(_tree),
    "active_tab_info": Getter(_active_tab),
    "active_url_from_accessTree": Getter(_active_url),
    "cache_file": Getter(_cache_file, ("path",)),
    "cloud_file": Getter(_cloud_file, ("path", "dest"), _paths, asked_s=lambda s: TOTAL_S * len(_paths(s))),
    "content_from_vm_file": Getter(
        _content, ("path", "file_type", "file_content"), _last_row_of_xlsx, in_browser=False
    ),
    "default_video_player": Getter(_default_video_player, in_browser=False, asked_s=lambda _: RUN_S),
    "list_directory": Getter(_list_directory, ("path",), in_browser=False, asked_s=lambda _: RUN_S),
    "open_tabs_info": Getter(_open_tabs, in_browser=False),
    "rule": Getter(_rule, ("rules",)),
    "url_dashPart": Getter(_url_dash_part, ("partIndex",), _part_index),
    "vm_command_error": Getter(_command_error, ("command",), in_browser=False, asked_s=_command_s),
    "vm_command_line": Getter(_command_line, ("command",), in_browser=False, asked_s=_command_s),
    "vm_file": Getter(_vm_file, ("path", "dest"), _paths, in_browser=False),
    "vm_screen_size": Getter(_screen_size),
    "vm_terminal_output": Getter(_terminal_output),
}
"""Every getter by OSWorld's name."""
