"""The daemon of a simulated device: what an adb server connects to, and the streams it opens there."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from collections.abc import Awaitable, Callable
from functools import partial

from deskhand_sandbox.backends.android.simulator.adb_key import AdbKey
from deskhand_sandbox.backends.android.simulator.protocol import (
    MAX_DATA,
    VERSION,
    Packet,
    ProtocolError,
    read_packet,
)

log = logging.getLogger(__name__)

AUTH_TOKEN, AUTH_SIGNATURE, AUTH_PUBLIC_KEY = 1, 2, 3
FEATURES = ("shell_v2", "cmd", "stat_v2", "ls_v2", "fixed_push_mkdir")


class StreamClosed(ConnectionError):
    """The other end closed the stream, or the connection ended."""


class Stream:
    """One conversation within a connection. At most one packet each way is unacknowledged."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection = connection
        self.number = number
        self.remote = 0
        """The other end's number of it; 0 until it has answered."""
        self.opened = asyncio.Event()
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._ready = asyncio.Event()
        self._ended = False

    async def read(self) -> bytes:
        """The next data; empty once the stream has ended."""
        if self._ended and self._arrived.empty():
            return b""
        data = await self._arrived.get()
        if data and not self._ended:
            await self.connection.send(Packet(command="OKAY", arg0=self.number, arg1=self.remote))
        return data

    async def write(self, data: bytes) -> None:
        """Send data, waiting until the other end has taken what came before.

        Raises:
            StreamClosed: nobody will take it.
        """
        for at in range(0, len(data), MAX_DATA):
            await self._ready.wait()
            if self._ended:
                raise StreamClosed("the stream has been closed")
            self._ready.clear()
            part = data[at : at + MAX_DATA]
            await self.connection.send(Packet(command="WRTE", arg0=self.number, arg1=self.remote, data=part))

    async def close(self) -> None:
        """End the stream; safe to call twice."""
        if not self._ended:
            self.ended()
            with contextlib.suppress(ConnectionError):
                await self.connection.send(Packet(command="CLSE", arg0=self.number, arg1=self.remote))
        self.connection.forget(self)

    def taken(self, remote: int) -> None:
        """The other end is ready for more."""
        self.remote = remote
        self.opened.set()
        if not self._ended:
            self._ready.set()

    def arrived(self, data: bytes) -> None:
        """Data has come."""
        self._arrived.put_nowait(data)

    def ended(self) -> None:
        """No more data comes or goes."""
        self._ended = True
        self._ready.set()
        self.opened.set()
        self._arrived.put_nowait(b"")

    @property
    def is_open(self) -> bool:
        """Both ends have it open."""
        return not self._ended and self.remote != 0


Service = Callable[[Stream], Awaitable[None]]
"""Serves one stream to its end; the daemon closes it."""
FindService = Callable[["Connection", str], Service | None]
"""The service of a name ("shell:ls"); None: there is no such thing."""


class Connection:
    """One adb server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._streams: dict[int, Stream] = {}
        self._numbers = itertools.count(1)
        self._serving: dict[int, asyncio.Task[None]] = {}
        """Number of a stream -> what serves it."""

    async def send(self, packet: Packet) -> None:
        """Send one packet.

        Raises:
            StreamClosed: the connection has ended.
        """
        if self._writer.is_closing():
            raise StreamClosed("the connection has ended")
        try:
            self._writer.write(packet.encode())
            await self._writer.drain()
        except ConnectionError as error:
            raise StreamClosed("the connection has ended") from error

    async def open(self, name: str) -> Stream:
        """Open a stream to the other end, as `adb reverse` asks for.

        Raises:
            StreamClosed: it does not take it.
        """
        stream = self._stream()
        await self.send(Packet(command="OPEN", arg0=stream.number, arg1=0, data=name.encode() + b"\0"))
        await stream.opened.wait()
        if not stream.is_open:
            raise StreamClosed(f"nothing answers at {name}")
        return stream

    async def serve(self, banner: str, key: AdbKey | None, find: FindService) -> None:
        """Talk until the other end is gone.

        Args:
            key: the one key that is let in; None: anybody.
        """
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ProtocolError):
                if await self._greet(banner, key):
                    while True:
                        await self._take(await read_packet(self._reader), find)
        finally:
            for stream in list(self._streams.values()):
                stream.ended()
            serving = list(self._serving.values())
            for task in serving:
                task.cancel()
            await asyncio.gather(*serving, return_exceptions=True)
            self._writer.close()

    async def _greet(self, banner: str, key: AdbKey | None) -> bool:
        """Answer the other end's CNXN once it has shown the key; False: it has not."""
        token = secrets.token_bytes(20)
        while True:
            packet = await read_packet(self._reader)
            match packet.command:
                case "CNXN" if key is not None:
                    await self.send(Packet(command="AUTH", arg0=AUTH_TOKEN, arg1=0, data=token))
                    continue
                case "CNXN":
                    pass
                case "AUTH" if packet.arg0 == AUTH_SIGNATURE and key is not None:
                    if not key.signed(token, packet.data):
                        # the other end may have more keys
                        await self.send(Packet(command="AUTH", arg0=AUTH_TOKEN, arg1=0, data=token))
                        continue
                case _:
                    return False
            greeting = f"{banner};features={','.join(FEATURES)}".encode()
            await self.send(Packet(command="CNXN", arg0=VERSION, arg1=MAX_DATA, data=greeting))
            return True

    async def _take(self, packet: Packet, find: FindService) -> None:
        if packet.command == "OPEN":
            await self._opened(packet, find)
            return
        stream = self._streams.get(packet.arg1)
        if stream is None:
            # late news of a stream that has ended here
            if packet.command == "WRTE":
                await self.send(Packet(command="CLSE", arg0=packet.arg1, arg1=packet.arg0))
        elif packet.command == "OKAY":
            stream.taken(packet.arg0)
        elif packet.command == "WRTE":
            stream.arrived(packet.data)
        elif packet.command == "CLSE":
            stream.ended()
            self.forget(stream)
            # as a hang-up ends a program
            if (task := self._serving.get(stream.number)) is not None:
                task.cancel()

    async def _opened(self, packet: Packet, find: FindService) -> None:
        name = packet.data.rstrip(b"\0").decode(errors="replace")
        service = find(self, name)
        if service is None:
            await self.send(Packet(command="CLSE", arg0=0, arg1=packet.arg0))
            return
        stream = self._stream()
        stream.taken(packet.arg0)
        await self.send(Packet(command="OKAY", arg0=stream.number, arg1=packet.arg0))
        task = asyncio.create_task(self._run(service, stream), name=f"adb {name[:60]}")
        self._serving[stream.number] = task
        task.add_done_callback(partial(self._served, stream.number))

    async def _run(self, service: Service, stream: Stream) -> None:
        try:
            with contextlib.suppress(ConnectionError):
                await service(stream)
        finally:
            await stream.close()

    def _served(self, number: int, task: asyncio.Task[None]) -> None:
        self._serving.pop(number, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the simulated device failed in %s", task.get_name(), exc_info=error)

    def _stream(self) -> Stream:
        stream = Stream(self, next(self._numbers))
        self._streams[stream.number] = stream
        return stream

    def forget(self, stream: Stream) -> None:
        """The stream has ended."""
        self._streams.pop(stream.number, None)


class Daemon:
    """Listens on loopback."""

    def __init__(self, banner: str, key: AdbKey | None, find: FindService) -> None:
        self._banner, self._key, self._find = banner, key, find
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def start(self, port: int = 0) -> int:
        """Begin to listen; the port, which the kernel chooses where none is given."""
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """End every connection; safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in list(self._talks):
            task.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            await Connection(reader, writer).serve(self._banner, self._key, self._find)
        except asyncio.CancelledError:
            # asyncio's streams report a cancelled handler as a failure
            writer.close()
        finally:
            self._talks.discard(task)
