"""The Chrome DevTools Protocol over one direct websocket: several times faster than by a driver."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from deskhand_sandbox.errors import InfrastructureError

Payload: TypeAlias = dict[str, Any]
"""What a command returns or an event carries: JSON of Chromium's making."""
Listener: TypeAlias = Callable[[Payload], None]


class CdpClosed(InfrastructureError):
    """The session ended: its page was closed, or the browser died."""


class CdpError(InfrastructureError):
    """Chromium refused a command."""


class DialogOpened(InfrastructureError):
    """The page opened a dialog and answers nothing until that is answered."""


class CdpSession:
    """Commands in flight by number, events by name. Sending never waits for earlier answers."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Payload]] = {}
        self._listeners: dict[str, Listener] = {}
        self._sending: set[asyncio.Task[None]] = set()
        self.on_closed: Callable[[], None] | None = None
        self.closed = asyncio.Event()
        """Set once the session has ended, from whichever side."""
        self._reader = asyncio.create_task(self._read(), name="cdp-reader")

    @classmethod
    async def connect(cls, url: str) -> CdpSession:
        """Open a session.

        Raises:
            CdpClosed: nobody answers there.
        """
        try:
            # screenshots are compressed already, and pings would only tell what the commands tell anyway
            socket = await connect(url, max_size=None, compression=None, ping_interval=None)
        except (OSError, WebSocketException) as error:
            raise CdpClosed(f"Chromium does not answer at {url}: {error}") from error
        return cls(socket)

    def on(self, event: str, listener: Listener) -> None:
        """Call `listener` with the payload of every such event."""
        self._listeners[event] = listener

    def send(self, method: str, parameters: Mapping[str, object] | None = None) -> asyncio.Future[Payload]:
        """Send a command at once; the future has its answer.

        Raises (when awaited):
            CdpClosed: the session ended before the answer.
            CdpError: Chromium refused.
            DialogOpened: a dialog came before the answer, where somebody is to answer it.
        """
        future: asyncio.Future[Payload] = asyncio.get_running_loop().create_future()
        if self.closed.is_set():
            future.set_exception(CdpClosed("the session has ended"))
            return future
        self._number += 1
        self._waiting[self._number] = future
        message = json.dumps({"id": self._number, "method": method, "params": parameters or {}})
        task = asyncio.create_task(self._socket.send(message))
        self._sending.add(task)
        task.add_done_callback(self._sent)
        return future

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled():
            # a closed socket is told to every waiting caller by the reader
            task.exception()

    def abandon(self, why: InfrastructureError) -> None:
        """Fail every command in flight: nobody is to wait for its answer any more."""
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(why)
                # whoever sent it may have gone already: an unread answer is no news
                future.exception()

    async def close(self) -> None:
        """End the session; safe to call twice."""
        await self._socket.close()
        await self._reader

    async def _read(self) -> None:
        try:
            with contextlib.suppress(ConnectionClosed):
                async for message in self._socket:
                    self._take(json.loads(message))
        finally:
            self.closed.set()
            if self.on_closed is not None:
                self.on_closed()
            self.abandon(CdpClosed("the session ended before the answer"))

    def _take(self, message: Payload) -> None:
        number = message.get("id")
        if number is None:
            listener = self._listeners.get(message.get("method", ""))
            if listener is not None:
                listener(message["params"])
            elif "error" in message:  # Chromium could not read a command, and does not know which
                self.abandon(CdpError(f"a command was not understood: {_said(message)}"))
            return
        future = self._waiting.pop(number, None)
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(CdpError(_said(message)))
            future.exception()
        else:
            future.set_result(message["result"])


def _said(message: Payload) -> str:
    """What an error of Chromium's says."""
    return str(message["error"].get("message", message["error"]))
