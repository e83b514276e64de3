"""Requests to an adb server by adbutils, each in a thread, with a deadline, ended when it is cancelled.

Of adbutils three things are changed: a server that does not answer is not replaced by one at the default
port, every socket has a time limit, and closing one does not sleep.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import adbutils
from adbutils import AdbConnection
from adbutils import errors as adb_errors

from deskhand_sandbox.errors import InfrastructureError, SandboxDied, SandboxTimeout

T = TypeVar("T")

REQUEST_S = 10.0


class DeviceError(InfrastructureError):
    """The device or the adb server refused a request; says why."""


class _Connection(AdbConnection):
    """See the module."""

    def __init__(self, host: str, port: int, limit_s: float) -> None:
        self._place = (host, port)
        self._limit_s = limit_s
        super().__init__(host, port)

    def _safe_connect(self) -> socket.socket:
        return socket.create_connection(self._place, timeout=self._limit_s)

    def close(self) -> None:
        if not self.closed:
            self.conn.close()

    def abort(self) -> None:
        """End what waits in it, from another thread."""
        if not self.closed:
            try:
                self.conn.shutdown(socket.SHUT_RDWR)
            except OSError:
                return


class Requests(adbutils.AdbClient):
    """What adbutils asks the server with; all its sockets can be ended at once."""

    def __init__(self, host: str, port: int, limit_s: float) -> None:
        super().__init__(host, port)
        self._limit_s = limit_s
        self._open: list[_Connection] = []
        self._aborted = False

    def make_connection(self, timeout: float | None = None) -> AdbConnection:
        """A connection to the server whose every wait has a limit."""
        connection = _Connection(self.host, self.port, self._limit_s)
        self._open.append(connection)
        if self._aborted:
            connection.abort()
        return connection

    def abort(self) -> None:
        """End every connection: whoever waits in one fails at once."""
        self._aborted = True
        for each in self._open:
            each.abort()

    def hand_over(self, connection: AdbConnection) -> socket.socket:
        """The socket of a connection that goes on after the request; whoever takes it closes it."""
        self._open.remove(connection)  # type: ignore[arg-type]  it was made here
        return connection.conn

    def end(self) -> None:
        """Close what is still open."""
        for each in self._open:
            each.close()


class AdbClient:
    """Asks one server; holds threads until it is closed."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._threads = ThreadPoolExecutor(max_workers=2, thread_name_prefix="adb")

    async def ask(self, work: Callable[[Requests], T], limit_s: float = REQUEST_S) -> T:
        """Do something with adbutils.

        Raises:
            SandboxTimeout: it took longer than `limit_s`.
            SandboxDied: the server or the device is gone.
            DeviceError: it was refused.
        """
        requests = Requests(self._host, self._port, limit_s)
        future = asyncio.get_running_loop().run_in_executor(self._threads, _run, work, requests)
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(future)
        except TimeoutError as error:
            raise SandboxTimeout(f"adb did not answer within {limit_s:g} s") from error
        finally:
            if not future.done():
                requests.abort()
                await asyncio.wait({future})
                future.exception()

    async def version(self) -> int:
        """The server's version."""
        return await self.ask(lambda requests: requests.server_version())

    async def state(self, serial: str) -> str:
        """What the server says of a device: "device", "offline", "unauthorized", … or "absent"."""
        listed = await self.ask(lambda requests: requests.list())
        return next((each.state for each in listed if each.serial == serial), "absent")

    async def connect(self, address: str, limit_s: float) -> str:
        """Have the server connect to a device; what it says."""
        return await self.ask(lambda requests: requests.connect(address), limit_s)

    async def disconnect(self, address: str) -> None:
        """Have the server let go of a device."""
        await self.ask(lambda requests: requests.disconnect(address))

    async def close(self) -> None:
        """Let go of the threads; safe to call twice."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def __aenter__(self) -> AdbClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _run(work: Callable[[Requests], T], requests: Requests) -> T:
    try:
        return work(requests)
    except adb_errors.AdbTimeout as error:
        raise SandboxTimeout(f"adb did not answer in time: {error}") from error
    except (OSError, EOFError, adb_errors.AdbConnectionError) as error:
        raise SandboxDied(f"the connection to adb ended: {error or type(error).__name__}") from error
    except adb_errors.AdbError as error:
        said = " ".join(map(str, error.args)) or "no reason given"
        if "not found" in said or "offline" in said or "closed" in said:
            raise SandboxDied(f"adb says: {said}") from error
        raise DeviceError(f"adb says: {said}") from error
    finally:
        requests.end()
