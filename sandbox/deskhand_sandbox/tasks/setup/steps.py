"""The kinds of set-up steps: what each takes, checked when a task is read, and what it does.

Their names and parameters are OSWorld's (`config` and `postconfig` of its task files, arXiv 2404.07972), so
that its files run; `write` is ours.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.tasks.guest import Guest
from deskhand_sandbox.tasks.setup import programs, tabs, windows
from deskhand_sandbox.tasks.setup.downloads import TOTAL_S, Downloads
from deskhand_sandbox.tasks.setup.parameters import COMMAND, FLAG, MAP, NUMBER, TEXT, TEXTS, Kind, files
from deskhand_sandbox.types import JsonValue, Wait

__all__ = ["STEPS", "SetupContext", "Step", "check_steps"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SetupContext:
    """What steps work on."""

    sandbox: Sandbox
    screen_px: tuple[int, int]
    """Width and height, which OSWorld's commands may name."""
    downloads: Downloads = field(default_factory=Downloads)
    kept: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Files that steps leave for the verifier, by name: output of commands."""
    after: bool = False
    """The agent has worked already (`postconfig`): what it closed or removed is no failure of the set-up."""

    @property
    def guest(self) -> Guest:
        """The inside of the sandbox.

        Raises:
            InvalidTask: this kind of sandbox has none.
        """
        return Guest(self.sandbox)


Parameters: TypeAlias = Mapping[str, JsonValue]
Run: TypeAlias = Callable[[SetupContext, Parameters], Awaitable[None]]


def _never(parameters: Parameters) -> bool:
    return False


def _always(parameters: Parameters) -> bool:
    return True


@dataclass(frozen=True, kw_only=True, slots=True)
class StepKind:
    """One kind of step."""

    run: Run
    needed: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict[str, Kind])
    in_browser: Callable[[Parameters], bool] = _never
    """Whether it works in a browser sandbox, which has no guest."""
    asked_s: Callable[[Parameters], float] = lambda _: 0.0
    """Seconds it may take by its own limits; 0 where it is done at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A step that has been checked."""

    type: str
    parameters: Parameters

    async def run(self, context: SetupContext) -> None:
        """Carry it out.

        Raises:
            InvalidTask: a file it needs is not to be had, or the sandbox is of a kind it does not work on.
            InfrastructureError: it failed; says why.
        """
        await STEPS[self.type].run(context, self.parameters)

    @property
    def asked_s(self) -> float:
        """Seconds it may take by its own limits."""
        return STEPS[self.type].asked_s(self.parameters)


def check_steps(value: object, where: str, *, kind: str | None = None) -> tuple[Step, ...]:
    """Steps out of a task.

    Args:
        where: names the list in an error.
        kind: of sandbox they are for; None where nobody knows.

    Raises:
        InvalidTask: something in it is not as steps are; says where, and what there is instead.
    """
    if not isinstance(value, list | tuple):
        raise InvalidTask(f"{where} must be a list of steps, not {_short(value)}")
    items = cast("Sequence[object]", value)
    steps = tuple(_check(item, f"{where}[{number}]") for number, item in enumerate(items))
    for number, step in enumerate(steps):
        if kind == "browser" and not STEPS[step.type].in_browser(step.parameters):
            raise InvalidTask(f"{where}[{number}] ({step.type}): a browser alone has nothing to do this with")
    return steps


def _check(item: object, where: str) -> Step:
    if not isinstance(item, Mapping) or not isinstance(item.get("type"), str):
        raise InvalidTask(f"{where} must be a step, {{type: …, parameters: {{…}}}}, not {_short(item)}")
    step = cast("Mapping[str, JsonValue]", item)
    name, given = str(step["type"]), step.get("parameters", {})
    if name not in STEPS:
        raise InvalidTask(f"{where}: {UnknownName('set-up step', name, STEPS)}; supported: {_names()}")
    if not isinstance(given, Mapping):
        raise InvalidTask(f"{where} ({name}): parameters must be a mapping, not {_short(given)}")
    kind = STEPS[name]
    known = {**kind.needed, **kind.optional}
    for parameter, value in given.items():
        if parameter not in known:
            raise InvalidTask(f"{where} ({name}): {UnknownName('parameter', parameter, known)}")
        if not known[parameter].fits(value):
            wanted = known[parameter].wanted
            raise InvalidTask(f"{where} ({name}): {parameter} must be {wanted}, not {_short(value)}")
    if missing := [parameter for parameter in kind.needed if parameter not in given]:
        raise InvalidTask(f"{where} ({name}): {missing[0]} is missing")
    return Step(type=name, parameters=given)


def _names() -> str:
    return ", ".join(sorted(STEPS))


def _short(value: object) -> str:
    return repr(value)[:60]


# ---- what each does ---------------------------------------------------------------------------------


async def _download(context: SetupContext, parameters: Parameters) -> None:
    for each in _files(parameters):
        await context.guest.put(each["path"], await context.downloads.get(each["url"]))


async def _upload(context: SetupContext, parameters: Parameters) -> None:
    for each in _files(parameters):
        await context.guest.put(each["path"], await context.downloads.read(each["local_path"]))


async def _write(context: SetupContext, parameters: Parameters) -> None:
    await context.guest.put(str(parameters["path"]), str(parameters["content"]).encode())


async def _sleep(context: SetupContext, parameters: Parameters) -> None:
    await context.sandbox.act(Wait(seconds=float(str(parameters["seconds"]))))


async def _activate(context: SetupContext, parameters: Parameters) -> None:
    if context.sandbox.kind == "browser":
        return  # its window is in front
    name, wait_s = str(parameters["window_name"]), 1.0 if context.after else windows.WAIT_S
    found = await windows.activate(context.guest, name, **_which(parameters), wait_s=wait_s)
    if not found and not context.after:
        raise programs.failed(f"no window {name!r} in {wait_s:g} s", await windows.titles(context.guest))


async def _close(context: SetupContext, parameters: Parameters) -> None:
    await windows.close(context.guest, str(parameters["window_name"]), **_which(parameters))


async def _open(context: SetupContext, parameters: Parameters) -> None:
    guest = context.guest
    before = await windows.marks(guest)
    await guest.launch(programs.opening(str(parameters["path"])))
    await windows.wait_for_another(guest, before)


async def _launch(context: SetupContext, parameters: Parameters) -> None:
    command = programs.command_of(parameters, context.screen_px)
    if tabs.forwards_port(command) or (context.sandbox.kind == "browser" and tabs.starts_browser(command)):
        return  # nothing is to be done for it here
    await programs.launch(context.guest, command)


def _launches_browser(parameters: Parameters) -> bool:
    command = programs.command_of(parameters, _ANY_PX)
    return tabs.forwards_port(command) or tabs.starts_browser(command)


def _executes_script(parameters: Parameters) -> bool:
    return programs.script_of(programs.command_of(parameters, _ANY_PX)) is not None


async def _execute(context: SetupContext, parameters: Parameters) -> None:
    command = programs.command_of(parameters, context.screen_px)
    if not await programs.played(context.sandbox, command):
        ran = await programs.execute(context.guest, command, parameters.get("until"), after=context.after)
        for stream, text in (("stdout", ran.out), ("stderr", ran.err)):
            if name := parameters.get(stream):
                context.kept[str(name)] = text.encode()


async def _open_tabs(context: SetupContext, parameters: Parameters) -> None:
    await tabs.open_tabs(context.sandbox, [str(url) for url in _list(parameters["urls_to_open"])])


async def _close_tabs(context: SetupContext, parameters: Parameters) -> None:
    await tabs.close_tabs(context.sandbox, [str(url) for url in _list(parameters["urls_to_close"])])


def _which(parameters: Parameters) -> dict[str, bool]:
    return {"strict": parameters.get("strict") is True, "by_class": parameters.get("by_class") is True}


def _command_s(parameters: Parameters) -> float:
    return programs.TIMEOUT_S + (programs.UNTIL_S if parameters.get("until") else 0.0)


def _files(parameters: Parameters) -> list[dict[str, str]]:
    return cast("list[dict[str, str]]", parameters["files"])


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]


_RUNS: Mapping[str, Kind] = {"stdout": TEXT, "stderr": TEXT, "shell": FLAG, "until": MAP}
_ANY_PX = (1920, 1080)
"""A screen for commands that name it, where only their kind matters."""
_WINDOW: Mapping[str, Kind] = {"strict": FLAG, "by_class": FLAG}

STEPS: Mapping[str, StepKind] = {
    "activate_window": StepKind(
        run=_activate,
        needed={"window_name": TEXT},
        optional=_WINDOW,
        asked_s=lambda _: windows.WAIT_S,
        in_browser=_always,
    ),
    "chrome_close_tabs": StepKind(
        run=_close_tabs,
        needed={"urls_to_close": TEXTS},
        asked_s=lambda p: tabs.WAIT_S * (1 + len(_list(p["urls_to_close"]))),
    ),
    "chrome_open_tabs": StepKind(
        run=_open_tabs,
        needed={"urls_to_open": TEXTS},
        asked_s=lambda p: tabs.WAIT_S * len(_list(p["urls_to_open"])),
        in_browser=_always,
    ),
    "close_window": StepKind(run=_close, needed={"window_name": TEXT}, optional=_WINDOW),
    "command": StepKind(
        run=_execute,
        needed={"command": COMMAND},
        optional=_RUNS,
        asked_s=_command_s,
        in_browser=_executes_script,
    ),
    "download": StepKind(
        run=_download, needed={"files": files("url", "path")}, asked_s=lambda p: TOTAL_S * len(_files(p))
    ),
    "execute": StepKind(
        run=_execute,
        needed={"command": COMMAND},
        optional=_RUNS,
        asked_s=_command_s,
        in_browser=_executes_script,
    ),
    "launch": StepKind(
        run=_launch, needed={"command": COMMAND}, optional={"shell": FLAG}, in_browser=_launches_browser
    ),
    "open": StepKind(run=_open, needed={"path": TEXT}, asked_s=lambda _: windows.WAIT_S),
    "sleep": StepKind(
        run=_sleep, needed={"seconds": NUMBER}, asked_s=lambda p: float(str(p["seconds"])), in_browser=_always
    ),
    "upload_file": StepKind(run=_upload, needed={"files": files("local_path", "path")}),
    "write": StepKind(run=_write, needed={"path": TEXT, "content": TEXT}),
}
"""Every kind of step by its name."""
