"""The client's end of a lease's channel: calls go out, replies are matched by number."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from deskhand_sandbox.errors import HostUnreachable, InvalidAction, SandboxDied, SandboxError, SandboxTimeout
from deskhand_sandbox.host import frames, wire
from deskhand_sandbox.host.address import Address
from deskhand_sandbox.host.frames import HOST_FAILED, LARGEST_FRAME, LEASE_OVER
from deskhand_sandbox.host.wire import PROTOCOL, Plain, WireError
from deskhand_sandbox.types import JsonValue

GRANT_S = 15.0
"""Deadline for the grant to follow the opening of the channel."""


class Channel:
    """One open channel. After a deadline, a cancelled call or a lost connection it is broken for good."""

    def __init__(self, connection: ClientConnection, where: str) -> None:
        self.where = where
        """The host's address."""
        self._connection = connection
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._end: tuple[type[SandboxError], str] | None = None
        self._reader = asyncio.create_task(self._read(), name=f"replies of {where}")

    @classmethod
    async def lend(
        cls, address: Address, token: str, asked: Mapping[str, JsonValue], *, limit_s: float
    ) -> tuple[Channel, Any]:
        """Ask for a lease that lasts as long as its channel; the channel, and the host's plain grant.

        Args:
            token: the host's.
            limit_s: how long the host may take to find a sandbox.

        Raises:
            HostUnreachable: nobody answers at the address, or it is no sandbox host.
            SandboxError: the host refuses; as the class it is there.
        """
        connection = await _connected(
            address, f"/v1/leases?{urlencode({'ask': json.dumps(asked)})}", token, limit_s
        )
        try:
            async with asyncio.timeout(GRANT_S):
                grant = wire.unpack(bytes(await connection.recv(decode=False)))
        except (ConnectionClosed, TimeoutError, WireError) as error:
            connection.transport.abort()
            raise HostUnreachable(f"{address.url} lends, but sends no grant: {error}") from error
        except BaseException:
            connection.transport.abort()
            raise
        return cls(connection, address.url), grant

    @property
    def broken(self) -> bool:
        """No call will succeed any more."""
        return self._end is not None

    async def call(self, method: str, *, target: int, argument: Plain, limit_s: float) -> Any:
        """The plain result of one call.

        Raises:
            SandboxError: what the sandbox raised, as the same class.
            InvalidAction: the call is longer than a frame may be; nothing was sent.
            SandboxTimeout: no answer within `limit_s`.
            SandboxDied: the channel broke, now or before.
        """
        self._refuse_when_broken(method)
        number = next(self._numbers)
        frame = frames.pack_request(number, target, method, argument)
        if len(frame) > LARGEST_FRAME:
            raise InvalidAction(f"{method} takes {LARGEST_FRAME} bytes at most, not {len(frame)}")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(limit_s):
                await self._connection.send(frame)
                return await answer
        except TimeoutError as error:
            self.abandon(SandboxDied, f"an earlier {method} got no answer within {limit_s:g} s")
            raise SandboxTimeout(f"{method}: no answer from {self.where} within {limit_s:g} s") from error
        except ConnectionClosed as error:
            self._note_end(*self._why(error))
            self._refuse_when_broken(method)
            raise
        except asyncio.CancelledError:
            self.abandon(SandboxDied, f"an earlier {method} was cancelled half-way")
            raise
        finally:
            self._waiting.pop(number, None)

    def abandon(self, kind: type[SandboxError], why: str) -> None:
        """Break the channel from this end, without a farewell; the host cuts off what it was doing."""
        self._note_end(kind, why)
        self._connection.transport.abort()

    async def close(self) -> None:
        """Hang up. Safe to call twice."""
        self._note_end(SandboxDied, "the sandbox was given back")
        await self._connection.close()
        await asyncio.wait([self._reader])

    async def _read(self) -> None:
        try:
            while True:
                data = await self._connection.recv(decode=False)
                reply = frames.read_reply(bytes(data))
                answer = self._waiting.get(reply.id)
                if answer is None or answer.done():
                    continue  # its caller gave up
                if reply.error is not None:
                    answer.set_exception(reply.error)
                else:
                    answer.set_result(reply.result)
        except ConnectionClosed as error:
            self._note_end(*self._why(error))
        except WireError as error:
            self.abandon(SandboxDied, f"{self.where} sent {error}")

    def _why(self, error: ConnectionClosed) -> tuple[type[SandboxError], str]:
        received = error.rcvd
        if received is not None and received.code == LEASE_OVER:
            return frames.reason_as_error(received.reason)
        if received is not None and received.code == HOST_FAILED:
            return SandboxDied, received.reason
        how = f"closed the channel ({received.code} {received.reason})" if received is not None else "is gone"
        return SandboxDied, f"the sandbox host at {self.where} {how}"

    def _note_end(self, kind: type[SandboxError], why: str) -> None:
        if self._end is not None:
            return
        self._end = kind, why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(kind(why))

    def _refuse_when_broken(self, method: str) -> None:
        if self._end is not None:
            kind, why = self._end
            raise kind(f"{method}: {why}")


async def _connected(address: Address, path: str, token: str, limit_s: float) -> ClientConnection:
    """
    Raises:
        HostUnreachable: nobody answers at the address, or it is no sandbox host.
        SandboxError: the host refuses; as the class it is there.
    """
    options: dict[str, Any] = {
        "subprotocols": [Subprotocol(PROTOCOL)],
        "additional_headers": {"Authorization": f"Bearer {token}"},
        "compression": None,
        "open_timeout": limit_s,
        "ping_interval": None,  # both ends are on one machine: a dead peer's socket closes by itself
        "close_timeout": 2.0,
        "max_size": LARGEST_FRAME,
        "user_agent_header": None,
    }
    try:
        if address.socket_path is not None:
            return await unix_connect(str(address.socket_path), f"ws://localhost{path}", **options)
        return await connect(f"{address.websocket_base}{path}", proxy=None, **options)
    except InvalidStatus as error:
        raise _refusal(error, address) from error
    except (OSError, TimeoutError, InvalidHandshake) as error:
        why = str(error) or type(error).__name__
        raise HostUnreachable(f"no sandbox host answers at {address.url} ({why}): is it running?") from error


def _refusal(error: InvalidStatus, address: Address) -> SandboxError:
    """What the host said instead of opening a channel."""
    try:
        said = frames.decode_error(json.loads(error.response.body or b""))
    except ValueError:
        return HostUnreachable(f"{address.url} answers, but not as a sandbox host: {error}")
    return said
