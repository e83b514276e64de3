"""Pipes through which programs tell something besides their output."""

from __future__ import annotations

import asyncio
import os


async def read_pipe(descriptor: int, size: int = -1) -> bytes:
    """What is written to a pipe until nobody has its other end, at most `size` bytes; then it is closed."""
    reader = asyncio.StreamReader()
    file = os.fdopen(descriptor, "rb", buffering=0)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), file)
    try:
        return await reader.read(size)
    finally:
        transport.close()
