"""The host's end of the channel to the agent in a guest."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout
from deskhand_sandbox.types import JsonValue

READ_BYTES = 256 * 1024
AGAIN_S = 0.25
"""Between two questions whether the agent answers: what was sent while a state was loaded may be lost."""
ANSWER_S = 30.0
"""Longest an answer may take, the time a request asks for not counted."""
SEED_BYTES = 32

Told = dict[str, JsonValue]
OnData = Callable[[bytes | None], None]
"""Takes what a terminal prints; None once it has ended."""


class Channel:
    """Made by `Channel.connect`. Requests may overlap."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        # from anywhere: a copy of a guest may still answer what its original was asked
        self._numbers = itertools.count(secrets.randbits(48))
        self._waiting: dict[int, asyncio.Future[Told]] = {}
        self._token: str | None = None
        self.terminals: dict[str, OnData] = {}
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, path: Path, *, deadline_s: float = 5.0) -> Channel:
        """Connect to the socket QEMU listens on.

        Raises:
            SandboxDied: nobody listens there.
        """
        try:
            async with asyncio.timeout(deadline_s):
                return cls(*await asyncio.open_unix_connection(path))
        except (OSError, TimeoutError) as error:
            raise SandboxDied(f"the VM's channel does not open: {error}") from error

    async def ready(self, deadline_s: float) -> None:
        """Wait until the agent answers.

        Raises:
            SandboxTimeout: it did not.
            SandboxDied: the VM has ended.
        """
        deadline = time.monotonic() + deadline_s
        while (left := deadline - time.monotonic()) > 0:
            try:
                await self._ask("sync", {}, min(AGAIN_S, left))
            except SandboxTimeout:
                continue
            return
        raise SandboxTimeout(f"the guest's agent did not answer in {deadline_s:g} s")

    async def claim(self, *, machine_id: str | None) -> None:
        """Make the guest this lease's own: a new token, the time of day, fresh randomness.

        Args:
            machine_id: a new one for a clone; None where it is to stay.
        """
        new = secrets.token_hex(16)
        seed = secrets.token_hex(SEED_BYTES)
        await self.ask("claim", new=new, clock_s=time.time(), seed=seed, machine_id=machine_id)
        self._token = new

    def trust(self, token: str | None) -> None:
        """Speak with a token from now on: a guest gone back to an earlier state knows an earlier one.

        What it was asked before then, it does not know of: that has failed.
        """
        self._token = token
        self._fail(InfrastructureError("the guest has gone to another state"))

    @property
    def token(self) -> str | None:
        """What the guest was last claimed with."""
        return self._token

    async def ask(self, do: str, *, takes_s: float = 0.0, **arguments: JsonValue) -> Told:
        """Have the agent do something (see `Agent` in the guest); what it told.

        Args:
            takes_s: what it may take by its own nature.

        Raises:
            InfrastructureError: it could not be done; says why.
            SandboxTimeout: no answer came.
            SandboxDied: the VM has ended.
        """
        return await self._ask(do, {**arguments, "token": self._token}, ANSWER_S + takes_s)

    @property
    def lost(self) -> bool:
        """The VM has ended, or the channel was closed."""
        return self._reading.done()

    async def close(self) -> None:
        """Let go; whoever waits for an answer is told that the VM has ended."""
        self._reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reading
        self._end()
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def _ask(self, do: str, arguments: Told, timeout_s: float) -> Told:
        if self._reading.done():
            raise SandboxDied("the VM has ended")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": number, "do": do, **arguments})
        try:
            self._writer.write(b"\n" + line.encode() + b"\n")
            async with asyncio.timeout(timeout_s):
                await self._writer.drain()
                told = await answer
        except ConnectionError as error:
            raise SandboxDied("the VM has ended") from error
        except TimeoutError as error:
            raise SandboxTimeout(f"the guest did not answer {do!r} in {timeout_s:g} s") from error
        finally:
            self._waiting.pop(number, None)
        return told

    async def _read(self) -> None:
        waiting = bytearray()
        try:
            while data := await self._reader.read(READ_BYTES):
                waiting += data
                if b"\n" in data:
                    *whole, rest = bytes(waiting).split(b"\n")
                    waiting = bytearray(rest)
                    for line in whole:
                        self._take(line)
        except ConnectionError:
            pass
        finally:
            self._end()

    def _take(self, line: bytes) -> None:
        try:
            message: dict[str, Any] = json.loads(line)
        except ValueError:
            return  # the rest of something cut off when a state was loaded
        if "terminal" in message:
            on_data = self.terminals.get(message["terminal"])
            if on_data is not None:
                data = message["data"]
                on_data(None if data is None else base64.b64decode(data))
            return
        answer = self._waiting.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(InfrastructureError(f"in the guest: {message['error']}"))
        else:
            answer.set_result(cast("Told", message["told"]))

    def _fail(self, error: InfrastructureError) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(error)

    def _end(self) -> None:
        self._fail(SandboxDied("the VM has ended"))
        for on_data in list(self.terminals.values()):
            on_data(None)
        self.terminals.clear()
