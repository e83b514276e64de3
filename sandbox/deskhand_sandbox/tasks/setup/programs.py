"""Programs that set-up steps run inside a sandbox."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.dialects.pyautogui import read_script
from deskhand_sandbox.errors import InfrastructureError, InvalidAction
from deskhand_sandbox.tasks.guest import Guest, Ran
from deskhand_sandbox.types import ControlAction, DeviceAction, JsonValue

PASSWORD = "password"
"""What OSWorld's commands get for {CLIENT_PASSWORD}."""
TIMEOUT_S = 120.0
UNTIL_S = 60.0
"""How long a command is repeated `until` something."""
NOT_THERE = (126, 127)
"""Exit status of a shell that did not find the program, or may not run it."""
CHROMES = ("google-chrome", "google-chrome-stable")
CHROMIUMS = ("/usr/lib/chromium/chromium", "chromium", "chromium-browser")
"""What takes their place; the program itself before the script that starts it."""
CHROMIUM_FLAGS = ("--no-sandbox", "--no-first-run", "--disable-gpu", "--user-data-dir=/tmp/chromium-profile")
"""A folder of its own: DevTools ports are refused for the usual one."""
PYTHONS = ("python", "python3")


def command_of(parameters: Mapping[str, JsonValue], screen_px: tuple[int, int]) -> str | list[str]:
    """The command a step means: text for the shell, or a program and its words."""
    width, height = screen_px
    names = {
        "{CLIENT_PASSWORD}": PASSWORD,
        "{SCREEN_WIDTH_HALF}": str(width // 2),
        "{SCREEN_HEIGHT_HALF}": str(height // 2),
        "{SCREEN_WIDTH}": str(width),
        "{SCREEN_HEIGHT}": str(height),
    }

    def filled(text: str) -> str:
        for name, value in names.items():
            text = text.replace(name, value)
        return text

    command = parameters["command"]
    if isinstance(command, list):
        words = [filled(str(word)) for word in command]
        return words[0] if parameters.get("shell") is True else words
    text = filled(str(command))
    return text if parameters.get("shell") is True or not _splits(text) else shlex.split(text)


def _splits(text: str) -> bool:
    try:
        return bool(shlex.split(text))
    except ValueError:
        return False


def script_of(command: str | Sequence[str]) -> tuple[DeviceAction, ...] | None:
    """The actions of a pyautogui script; None where the command is something else, or does more than that."""
    if isinstance(command, str) or len(command) != 3 or command[0] not in PYTHONS or command[1] != "-c":
        return None
    if "pyautogui" not in command[2]:
        return None
    try:
        actions = read_script(command[2])
    except InvalidAction:
        return None
    device = tuple(each for each in actions if not isinstance(each, ControlAction))
    return device if len(device) == len(actions) else None


async def played(sandbox: Sandbox, command: str | Sequence[str]) -> bool:
    """Carry out a pyautogui script as our own actions, where the command is one that can be read as such."""
    actions = script_of(command)
    if actions is None:
        return False  # the guest's own Python may know how
    for action in actions:
        try:
            await sandbox.act(action)
        except InvalidAction as error:
            raise InfrastructureError(f"its pyautogui script does not fit the screen: {error}") from error
    return True


async def execute(
    guest: Guest, command: str | Sequence[str], until: JsonValue | Mapping[str, JsonValue], *, after: bool
) -> Ran:
    """Run a command to its end, again and again where it waits for something.

    Args:
        until: any of `returncode`, `stdout` and `stderr`, as OSWorld means them; once where there is none.
        after: after the agent's work: then a program that is not there is no failure.

    Raises:
        InfrastructureError: the program is not there, or what was waited for did not come.
    """
    deadline = time.monotonic() + UNTIL_S
    while True:
        ran = await guest.run(_runnable(command), timeout_s=TIMEOUT_S)
        if ran.code in NOT_THERE and not after:
            raise failed("the sandbox cannot run it", [ran.err.strip()[-300:] or f"exit status {ran.code}"])
        if not isinstance(until, Mapping) or _holds(until, ran):
            return ran
        if time.monotonic() > deadline:
            raise failed(f"what it waits for did not come in {UNTIL_S:g} s", [repr(dict(until))])


async def launch(guest: Guest, command: str | Sequence[str]) -> None:
    """Start a program and leave it running.

    Raises:
        InfrastructureError: it is not there.
    """
    runnable = _runnable(command)
    if not isinstance(runnable, str) and not await _there(guest, runnable[0]):
        if runnable[0] not in CHROMES:
            raise failed("the sandbox has no such program", [runnable[0]])
        runnable = [await _chromium(guest), *CHROMIUM_FLAGS, *runnable[1:]]
    await guest.launch(runnable)


async def _there(guest: Guest, program: str) -> bool:
    return (await guest.run(["bash", "-c", 'command -v -- "$0"', program])).code == 0


async def _chromium(guest: Guest) -> str:
    """What stands in for Google's Chrome."""
    for program in CHROMIUMS:
        if await _there(guest, program):
            return program
    raise failed("the sandbox has no such program", [*CHROMES, *CHROMIUMS])


def opening(path: str) -> str:
    """The command that opens a file with the program it belongs to."""
    quoted = shlex.quote(path)
    return f"if [ -d {quoted} ]; then xdg-open {quoted}; else xdg-open {quoted} || mousepad {quoted}; fi"


def failed(what: str, details: Sequence[str]) -> InfrastructureError:
    """A step's failure with what there was instead."""
    return InfrastructureError(f"{what} ({', '.join(details) or 'nothing'})")


def _runnable(command: str | Sequence[str]) -> str | list[str]:
    """OSWorld's machine calls Python `python`."""
    if isinstance(command, str):
        return command
    words = list(command)
    return ["python3", *words[1:]] if words[0] == "python" else words


def _holds(until: Mapping[str, JsonValue], ran: Ran) -> bool:
    return (
        ("returncode" in until and ran.code == until["returncode"])
        or ("stdout" in until and str(until["stdout"]) in ran.out)
        or ("stderr" in until and str(until["stderr"]) in ran.err)
    )
