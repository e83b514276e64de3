"""Programs, files and windows behind the screen of a sandbox whose `evaluate` takes shell commands.

For set-up and verifiers. Nothing of it is seen by the agent: its own terminal stays as it was.
"""

from __future__ import annotations

import base64
import binascii
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import CommandHung, InfrastructureError, InvalidTask
from deskhand_sandbox.types import JsonValue

KINDS = ("desktop", "vm")
"""Kinds of sandbox whose `evaluate` takes shell commands."""
RUN_S = 60.0
"""Longest that a command may take, unless told otherwise."""
LOOK_S = 3.0
"""How long one look at a running command waits for its end; well below a sandbox's own deadline."""
OUTPUT_BYTES = 1024 * 1024
PIECE_BYTES = 60_000
"""Of a file that is written, at a time: a command line holds 128 KiB."""
READ_BYTES = 1024 * 1024
"""Of a file that is read, at a time."""
FILE_BYTES = 64 * 1024 * 1024
"""The longest file that is read."""

_START = """d=$(mktemp -d)
printf %%s %s | base64 -d >"$d/command"
( cd; setsid -w bash -c 'echo $$ >"$0/group"; exec bash "$0/command"' "$d" >"$d/out" 2>"$d/err"
  echo $? >"$d/status"; mv "$d/status" "$d/code" ) >/dev/null 2>&1 </dev/null &
"""
_LOOK = """for i in $(seq %d); do [ -e "$d/code" ] && break; sleep 0.02; done
if [ -e "$d/code" ]; then
  printf '{"code": %%d, "out": "%%s", "err": "%%s"}' "$(cat "$d/code")" \\
    "$(head -c %d "$d/out" | base64 -w0)" "$(head -c %d "$d/err" | base64 -w0)"
  rm -rf "$d"
else
  printf '{"at": "%%s"}' "$d"
fi
"""
_STOP = 'd=%s; kill -KILL -- -"$(cat "$d/group")" 2>/dev/null; rm -rf "$d"; true'


class UnreadableFile(InfrastructureError):
    """A file may not be read, or is too long. After the agent's work that is the agent's doing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """A command that has ended."""

    code: int
    """Exit status."""
    out: str
    """Standard output, of a very long one the beginning."""
    err: str


class Guest:
    """The inside of a sandbox that has been reset."""

    def __init__(self, sandbox: Sandbox) -> None:
        """
        Raises:
            InvalidTask: the sandbox is of a kind that runs no shell commands behind the screen.
        """
        if sandbox.kind not in KINDS:
            raise InvalidTask(
                f"this needs a sandbox that runs shell commands behind the screen ({' or '.join(KINDS)}), "
                f"not a {sandbox.kind}"
            )
        self.sandbox = sandbox

    async def run(self, command: str | Sequence[str], *, timeout_s: float = RUN_S) -> Ran:
        """Run a command in the home to its end.

        Args:
            command: for the shell, or a program and its arguments.

        Raises:
            CommandHung: it did not end in time, and was stopped.
            InfrastructureError: the sandbox failed.
        """
        line = command if isinstance(command, str) else shlex.join(command)
        deadline = time.monotonic() + timeout_s
        start = _START % _base64(line.encode())
        told = await self._told(start + self._look(timeout_s))
        while "at" in told:
            place = f"d={shlex.quote(str(told['at']))}\n"
            if (left := deadline - time.monotonic()) <= 0:
                await self.sandbox.evaluate(_STOP % shlex.quote(str(told["at"])))
                raise CommandHung(f"{line[:80]!r} did not end in {timeout_s:g} s")
            told = await self._told(place + self._look(left))
        return Ran(code=int(str(told["code"])), out=_text(told["out"]), err=_text(told["err"]))

    async def launch(self, command: str | Sequence[str]) -> None:
        """Start a program and leave it running."""
        line = command if isinstance(command, str) else shlex.join(command)
        quoted = shlex.quote(line)
        await self.sandbox.evaluate(f"cd; setsid bash -c {quoted} >/dev/null 2>&1 </dev/null & true")

    async def put(self, path: str, data: bytes) -> None:
        """Create or replace a file; folders on the way are made.

        Raises:
            InfrastructureError: it cannot be written; says why.
        """
        place = _place(path)
        first, *others = [data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES)] or [b""]
        begun = f'mkdir -p -- "$(dirname -- {place})" && printf %s {_base64(first)} | base64 -d >{place}'
        if (done := await self.run(begun)).code:
            raise InfrastructureError(f"{path} cannot be written: {_reason(done)}")
        for piece in others:
            if await self.sandbox.evaluate(f"cd; printf %s {_base64(piece)} | base64 -d >>{place}") is False:
                raise InfrastructureError(f"{path} cannot be written: the disk is full")

    async def get(self, path: str) -> bytes | None:
        """The content of a file; None where there is none.

        Raises:
            UnreadableFile: it is there and may not be read, or is longer than `FILE_BYTES`.
            InfrastructureError: the sandbox failed.
        """
        place = _place(path)
        data = bytearray()
        while True:
            piece = f"tail -c +{len(data) + 1} {place} | head -c {READ_BYTES} | base64 -w0"
            value = await self._told(
                f"cd; [ -f {place} ] || {{ echo '{{\"missing\": true}}'; exit 0; }}; "
                f"[ -r {place} ] || {{ echo '{{\"locked\": true}}'; exit 0; }}; "
                f'printf \'{{"data": "%s"}}\' "$({piece})"'
            )
            if "missing" in value:
                return None
            if "locked" in value:
                raise UnreadableFile(f"{path} may not be read in the sandbox")
            found = base64.b64decode(str(value["data"]))
            data += found
            if len(data) > FILE_BYTES:
                raise UnreadableFile(f"{path} is longer than {FILE_BYTES} bytes")
            if len(found) < READ_BYTES:
                return bytes(data)

    def _look(self, left_s: float) -> str:
        return _LOOK % (max(1, int(min(left_s, LOOK_S) / 0.02)), OUTPUT_BYTES, OUTPUT_BYTES)

    async def _told(self, script: str) -> dict[str, JsonValue]:
        value = await self.sandbox.evaluate(script)
        if not isinstance(value, dict):
            raise InfrastructureError(f"the sandbox's shell answered {str(value)[:80]!r}, not what was asked")
        return value


def _place(path: str) -> str:
    """A path as the shell takes it, "~" meaning the home."""
    if path == "~" or path.startswith("~/"):
        return '"$HOME"' + shlex.quote(path[1:])
    return shlex.quote(path)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode() or "''"


def _text(value: JsonValue) -> str:
    try:
        return base64.b64decode(str(value)).decode(errors="replace")
    except binascii.Error as error:
        raise InfrastructureError("the sandbox's shell answered what is no base64") from error


def _reason(ran: Ran) -> str:
    lines = ran.err.strip().splitlines() or [f"exit status {ran.code}"]
    return lines[-1].rpartition(": ")[2]
