"""Ports of the simulated device: those `adb reverse` opens on it, and `adb forward` reaches.

The device has a network of its own with nothing else in it: no port of this machine can be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable

from deskhand_sandbox.backends.android.simulator.daemon import Connection, Service, Stream, StreamClosed

FIRST_PORT = 40000
"""Where ports begin that the device chooses itself (`reverse tcp:0`)."""


class Ports:
    """Port or socket name on the device ("tcp:8080", "localabstract:x") -> where it leads."""

    def __init__(self) -> None:
        self._leads: dict[str, tuple[Connection, str]] = {}
        self._free = itertools.count(FIRST_PORT)

    def clear(self) -> None:
        """Nothing is open afterwards."""
        self._leads.clear()

    def service(self, name: str) -> Service | None:
        """Connects a stream to an open port; None: nothing listens there."""
        if name not in self._leads:
            return None
        connection, target = self._leads[name]

        async def serve(stream: Stream) -> None:
            with contextlib.suppress(StreamClosed):
                await _join(stream, await connection.open(target))

        return serve

    def reverse(self, connection: Connection, request: str) -> Service:
        """Carries out what follows "reverse:"."""

        async def serve(stream: Stream) -> None:
            with contextlib.suppress(StreamClosed):
                await stream.write(self._carry_out(connection, request))

        return serve

    def _carry_out(self, connection: Connection, request: str) -> bytes:
        verb, _, rest = request.partition(":")
        if verb == "list-forward":
            lines = "".join(
                f"host-{index} {name} {lead[1]}\n" for index, (name, lead) in enumerate(self._leads.items())
            )
            return f"{len(lines.encode()):04x}{lines}".encode()
        if verb == "killforward-all":
            self._leads.clear()
            return b"OKAY"
        if verb == "killforward":
            return b"OKAY" if self._leads.pop(rest, None) else _failed(f"listener '{rest}' not found")
        if verb != "forward":
            return _failed(f"unknown request {request!r}")
        fixed = rest.startswith("norebind:")
        name, _, target = rest.removeprefix("norebind:").partition(";")
        if not target:
            return _failed(f"bad request {request!r}")
        chosen = ""
        if name == "tcp:0":
            chosen = str(next(self._free))
            name = f"tcp:{chosen}"
        if fixed and name in self._leads:
            return _failed(f"cannot rebind existing socket {name}")
        self._leads[name] = (connection, target)
        return b"OKAY" + (f"{len(chosen):04x}{chosen}".encode() if chosen else b"")


def _failed(why: str) -> bytes:
    return f"FAIL{len(why.encode()):04x}{why}".encode()


async def _join(one: Stream, two: Stream) -> None:
    """Carry data both ways until either ends."""
    ways: list[Awaitable[None]] = [_carry(one, two), _carry(two, one)]
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await two.close()


async def _carry(source: Stream, target: Stream) -> None:
    while data := await source.read():
        await target.write(data)
