"""A loopback port before the socket on which QEMU serves a VM's screen; QEMU asks for the password."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from deskhand_sandbox.backends.vm.machine import Machine
from deskhand_sandbox.vnc import VncAddress, new_password

HOST = "127.0.0.1"
READ_BYTES = 64 * 1024


class VncDoor:
    """Made by `open`. Serves until it is closed."""

    def __init__(self, socket: Path, password: str) -> None:
        self._socket = socket
        self._password = password
        self._server: asyncio.Server | None = None
        self._links: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @classmethod
    async def open(cls, machine: Machine) -> VncDoor:
        """Give the screen a password of its own and a port to be reached at.

        Raises:
            SandboxDied: the machine is gone.
        """
        door = cls(machine.vnc, new_password())
        await machine.admit(door._password)
        door._server = await asyncio.start_server(door._serve, HOST, 0)
        return door

    @property
    def address(self) -> VncAddress:
        """For a viewer."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return VncAddress(host=HOST, port=port, password=self._password)

    async def close(self) -> None:
        """End all connections and give the port back; safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        links = dict(self._links)
        for near in links.values():
            near.transport.abort()
        if links:
            await asyncio.wait(links)
        if server is not None:  # newer Pythons wait for the end of every connection here
            await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._links[task] = near
        try:
            if self._server is not None:  # else it was closed in this very moment
                await self._link(reader, near)
        except (OSError, asyncio.CancelledError):  # one of the two has gone, or the event loop ends
            pass
        finally:
            near.close()
            del self._links[task]

    async def _link(self, reader: asyncio.StreamReader, near: asyncio.StreamWriter) -> None:
        far_reader, far = await asyncio.open_unix_connection(self._socket)
        try:
            both = [asyncio.ensure_future(_pass(*way)) for way in ((reader, far), (far_reader, near))]
            try:
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in both:
                    way.cancel()
                await asyncio.gather(*both, return_exceptions=True)
        finally:
            far.close()
            with suppress(OSError):
                await far.wait_closed()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(READ_BYTES):
        writer.write(data)
        await writer.drain()
