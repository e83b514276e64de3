"""What a task's shell commands come to: a verdict, for verifiers, or a computer that is prepared."""

from __future__ import annotations

import json
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from deskhand_sandbox.errors import (
    CommandHung,
    InfrastructureError,
    InvalidTask,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.types import JsonValue

T = TypeVar("T")

COMMAND_S = 30.0
"""Longest that a verifier's command may take, whatever a call may: with `ANSWERS_S` it is less than the time
of any verdict."""
ANSWERS_S = 5.0
"""How soon a computer on which one hangs has to have run another."""
COMMAND_BYTES = 128 * 1024 - 1
"""Longest command: Linux gives a program no longer argument."""
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
"""Exit statuses, as Python and as a shell tell them, of what was killed."""


def check_command(command: str, *, longest: int = COMMAND_BYTES) -> None:
    """Refuse what no shell can be given.

    Args:
        longest: bytes that one takes.

    Raises:
        InvalidTask: says why.
    """
    try:
        length = len(command.encode())
    except UnicodeEncodeError as error:
        raise InvalidTask(f"the task's command {command!r:.80} is no proper Unicode text") from error
    if "\0" in command:
        raise InvalidTask(f"the task's command {command!r:.80} holds a NUL, which no command has")
    if length > longest:
        raise InvalidTask(
            f"the task's command {command!r:.80} has {length} bytes, and may have {longest}: have it read a "
            "file, or make several of it"
        )


async def ended(command: Awaitable[T], another: Callable[[], Awaitable[object]]) -> T:
    """What a command comes to.

    Args:
        another: runs a trivial one, within `ANSWERS_S`.

    Raises:
        CommandHung: it did not end in time, and the other did.
        SandboxTimeout: nor did the other: it is the computer that does not answer.
    """
    try:
        return await command
    except SandboxTimeout as error:
        await another()
        raise CommandHung(f"{error}, while another command did") from error


def verdict(code: int, out: bytes, err: bytes) -> JsonValue:
    """False at exit status 1, as `test` and `grep` mean it; else the output, as JSON where it is JSON, as
    text otherwise, and true where there is none.

    Raises:
        VerifierError: another exit status than 0 and 1.
    """
    if code == 1:
        return False
    if code:
        said = (err or out).decode(errors="replace").strip()[-500:]
        raise VerifierError(f"the command ended with exit status {code}: {said}")
    text = out.decode(errors="replace").strip()
    try:
        return cast("JsonValue", json.loads(text)) if text else True
    except (ValueError, RecursionError):  # RecursionError: nested beyond all reason
        return text


def check_prepared(what: str, code: int, out: bytes, err: bytes) -> None:
    """Look at how a task's script has ended that prepares a computer.

    Args:
        what: the computer, in words.

    Raises:
        InvalidTask: it failed; says what it complained of.
        InfrastructureError: it was killed, as by a machine that has no memory left.
    """
    said = (err or out).decode(errors="replace").strip()[-500:]
    if code in _KILLED:
        raise InfrastructureError(f"the script that prepares {what} was killed{f': {said}' if said else ''}")
    if code:
        raise InvalidTask(f"preparing {what} failed with exit status {code}: {said}")
