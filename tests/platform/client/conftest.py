"""A real server, and a network before it that fails on demand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from deskhand_platform.client import AsyncDeskhand
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api

BUSY = b'{"error": {"type": "busy", "message": "no room", "field": null, "suggestions": []}}'


class Network:
    """A TCP proxy that carries requests to the server; `troubles` befall the next connections' requests.

    "busy": answered 503 and never carried; "lost": carried, and the answer never comes back; a number: so
    many bytes of the answer come back. Once they are used up, everything is carried.
    """

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self.troubles: deque[str | int] = deque()
        self.url = ""
        self._open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def failing(self, *troubles: str | int) -> AsyncIterator[None]:
        """Connections that are open are closed: a trouble befalls a new one."""
        for writer in [*self._open]:
            writer.close()
            await writer.wait_closed()
        self.troubles.extend(troubles)
        yield
        assert not self.troubles

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while request := await reader.read(65536):
                trouble = self.troubles.popleft() if self.troubles else None
                if trouble == "busy":
                    head = f"HTTP/1.1 503 Busy\r\nRetry-After: 0.05\r\nContent-Length: {len(BUSY)}\r\n\r\n"
                    writer.write(head.encode() + BUSY)
                    continue
                await self._carried(request, reader, writer, trouble)
                return
        except ConnectionError:
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _carried(
        self,
        request: bytes,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        trouble: str | int | None,
    ) -> None:
        """All of one connection, whose first request has come."""
        there_reader, there_writer = await asyncio.open_connection(*self._server)
        there_writer.write(request)

        async def onwards() -> None:
            while data := await reader.read(65536):
                there_writer.write(data)

        sending = asyncio.create_task(onwards())
        passed = 0
        try:
            while answer := await there_reader.read(65536):
                if trouble == "lost":
                    return
                if isinstance(trouble, int) and passed + len(answer) > trouble:
                    writer.write(answer[: trouble - passed])
                    await writer.drain()
                    return
                passed += len(answer)
                writer.write(answer)
                await writer.drain()
        finally:
            sending.cancel()
            there_writer.close()


@pytest.fixture
async def network(services: Services) -> AsyncIterator[Network]:
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        made = Network(*listener.getsockname()[:2])
        async with await asyncio.start_server(made.carry, "127.0.0.1", 0) as proxy:
            made.url = address_of(proxy.sockets[0])
            yield made


@pytest.fixture
async def client(network: Network, token: str) -> AsyncIterator[AsyncDeskhand]:
    async with AsyncDeskhand(network.url, token, patience_s=20) as made:
        yield made
