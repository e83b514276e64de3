"""HTTP with as little work as can be, so that the servers are measured and not who asks them."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from deskhand_platform.bench.api.servers import Served


def request(served: Served, method: str, path: str, body: Any = None) -> bytes:
    """A request as it goes over the wire."""
    content = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {urlsplit(served.url).netloc}\r\n"
        f"Authorization: Bearer {served.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class Connection:
    """One connection that is kept open."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, served: Served) -> Connection:
        """Connect."""
        address = urlsplit(served.url)
        return cls(*await asyncio.open_connection(address.hostname, address.port))

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:")[1].split("\r\n")[0])
        return int(head.split(" ", 2)[1]), await self._reader.readexactly(length)

    async def close(self) -> None:
        """Disconnect."""
        self._writer.close()
        await self._writer.wait_closed()
