"""What a shell command says as a verdict, for verifiers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

from deskhand_sandbox.errors import CommandHung, SandboxTimeout, VerifierError
from deskhand_sandbox.types import JsonValue

T = TypeVar("T")

COMMAND_S = 30.0
"""Longest that a verifier's command may take, whatever a call may: with `ANSWERS_S` it is less than the time
of any verdict."""
ANSWERS_S = 5.0
"""How soon a computer on which one hangs has to have run another."""


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
