"""Sandboxes of another process, as if they were here."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import (
    HostUnreachable,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    SandboxError,
)
from deskhand_sandbox.host import frames, wire
from deskhand_sandbox.host.address import Address
from deskhand_sandbox.host.channel import Channel
from deskhand_sandbox.host.frames import Handle
from deskhand_sandbox.host.wire import Plain, WireError
from deskhand_sandbox.manager.extras import Extra, PassesOn
from deskhand_sandbox.manager.records import MOST_CREATE_S, LeaseStatus, Lost, ManagerStatus, PoolStatus
from deskhand_sandbox.types import DeviceAction, JsonValue, Observation, Start, Task
from deskhand_sandbox.vnc import VncAddress

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)

Result = TypeVar("Result")

GRACE_S = 5.0
"""How much later than the host this end gives a call up: the host's own words are the better ones."""
REQUEST_S = 15.0
"""Deadline of an HTTP request, and of giving a sandbox back: the host waits for nothing then."""


class RemoteSandbox(Sandbox, PassesOn):
    """A sandbox at the other end of a channel."""

    def __init__(self, channel: Channel, handle: Handle, deadlines: Deadlines) -> None:
        self._channel = channel
        self._target = handle.target
        self._deadlines = deadlines
        self._closed = False
        self.id = handle.sandbox_id
        self.kind = handle.kind
        self.capabilities: frozenset[Capability] = handle.capabilities

    async def reset(self, task: Task) -> Start:
        try:
            argument = wire.encode(task)
        except WireError as error:
            raise InvalidTask(str(error)) from error
        return wire.decode(await self._call("reset", argument, self._deadlines.reset_s), Start)

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return wire.decode(await self._call("observe", text_tree, self._deadlines.call_s), Observation)

    async def act(self, action: DeviceAction) -> Observation:
        try:
            argument = wire.encode(action)
        except WireError as error:
            raise InvalidAction(str(error)) from error
        result = await self._call("act", argument, self._deadlines.of_action(action))
        return wire.decode(result, Observation)

    async def evaluate(self, expression: str) -> JsonValue:
        return wire.decode_json(await self._call("evaluate", expression, self._deadlines.call_s))

    async def snapshot(self) -> str:
        return str(await self._call("snapshot", None, self._deadlines.reset_s))

    async def restore(self, snapshot_id: str) -> Observation:
        return wire.decode(await self._call("restore", snapshot_id, self._deadlines.reset_s), Observation)

    async def forget(self, snapshot_id: str) -> None:
        await self._call("forget", snapshot_id, self._deadlines.reset_s)

    async def fork(self, n: int) -> list[Sandbox]:
        """`n` copies under the same lease, which ends them too; each works at its own pace."""
        handles = await self._call("fork", n, self._deadlines.reset_s)
        return [
            RemoteSandbox(self._channel, frames.decode_handle(handle), self._deadlines) for handle in handles
        ]

    async def extra(self, call: Extra[Result]) -> Result:
        said = wire.decode_value(await self._call("extra", wire.encode(call), self._deadlines.reset_s))
        if not call.fits(said):
            raise WireError(f"{call.name} gave a {type(said).__name__}")
        return cast("Result", said)

    def alive(self) -> bool:
        return not self._closed and not self._channel.broken

    async def close(self) -> None:
        """Give the sandbox back before the lease's block ends; a fork is closed."""
        if self._closed or self._channel.broken:
            return
        self._closed = True
        try:
            limit_s = self._deadlines.call_s if self._target else REQUEST_S
            await self._call("close", None, limit_s)
        except SandboxError as error:
            log.debug("sandbox %s was gone when it was closed: %s", self.id, error)

    async def _call(self, method: str, argument: Plain, limit_s: float) -> Any:
        if self._closed and method != "close":
            raise SandboxDied(f"{method}: {self.kind} sandbox {self.id} was given back")
        return await self._channel.call(
            method, target=self._target, argument=argument, limit_s=limit_s + GRACE_S
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Screen:
    """A picture of a leased sandbox."""

    digest: str
    data: bytes | None = field(repr=False)
    """Encoded; None: it is the one that is known."""


class SandboxClient:
    """Leases sandboxes of a host: a `SandboxSource`. An async context manager, for one event loop."""

    def __init__(self, url: str, token: str) -> None:
        """
        Raises:
            ValueError: the address is none of a sandbox host.
        """
        self._address = Address.of(url)
        self._token = token
        self._http: httpx.AsyncClient | None = None

    async def __aenter__(self) -> SandboxClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection; leases are given back by their own blocks."""
        http, self._http = self._http, None
        if http is not None:
            await http.aclose()

    async def status(self) -> ManagerStatus:
        """What the host has lent, made and lost.

        Raises:
            HostUnreachable, LeaseError: as for `lease`.
        """
        said = await self._ask("/v1/status")
        try:
            said["pools"] = tuple(_pool(each) for each in said["pools"])
            said["leases"] = tuple(LeaseStatus(**each) for each in said["leases"])
            return ManagerStatus(**said)
        except (KeyError, TypeError, ValueError) as error:
            raise HostUnreachable(f"{self._address.url} tells no proper status: {error}") from error

    async def screen(self, lease_id: str, *, known: str | None = None) -> Screen | None:
        """What somebody who looks on sees of a leased sandbox; None before its first reset.

        Args:
            known: digest of the picture they have: it comes without its bytes while it is still that one.

        Raises:
            LeaseExpired: there is no such lease any more.
            HostUnreachable, SandboxError: the host, or the computer, failed.
        """
        headers = {} if known is None else {"If-None-Match": known}
        response = await self._get(f"/v1/leases/{lease_id}/screen", headers)
        if response.status_code == 204:
            return None
        if response.status_code == 304:
            return Screen(digest=response.headers["etag"], data=None)
        if response.is_success:
            return Screen(digest=response.headers["etag"], data=response.content)
        raise frames.decode_error(response.json())

    async def vnc(self, lease_id: str) -> VncAddress | None:
        """Where somebody who looks on reaches the screen of a leased sandbox by VNC, on the host's machine.

        None where it is not there yet: before the first reset, or while a call of the holder's lasts.

        Raises:
            LeaseExpired: there is no such lease any more.
            UnsupportedCapability, BackendMissing: its kind serves no VNC, or not there.
            HostUnreachable, SandboxError: the host, or the computer, failed.
        """
        response = await self._get(f"/v1/leases/{lease_id}/vnc")
        if response.status_code == 204:
            return None
        if response.is_success:
            return VncAddress(**response.json())
        raise frames.decode_error(response.json())

    @asynccontextmanager
    async def lease(
        self, kind: str, *, owner: str, wait_s: float = 60.0, labels: Mapping[str, str] | None = None
    ) -> AsyncGenerator[Sandbox, None]:
        """A sandbox of the host for the length of the block; see `SandboxSource`.

        The lease ends with its channel: a holder that dies, or loses the host, frees its sandbox at once.

        Raises (on entering):
            LeaseError: the host refuses the token.
        """
        asked: dict[str, JsonValue] = {
            "kind": kind,
            "owner": owner,
            "wait_s": wait_s,
            "labels": dict(labels or {}),
        }
        channel, said = await Channel.lend(
            self._address, self._token, asked, limit_s=max(wait_s, 0) + MOST_CREATE_S + GRACE_S
        )
        try:
            sandbox = _granted(channel, said)
            try:
                yield sandbox
            finally:
                await sandbox.close()
        finally:
            await channel.close()

    async def _ask(self, path: str) -> dict[str, Any]:
        response = await self._get(path)
        try:
            said = response.json()
        except ValueError as error:
            raise HostUnreachable(f"{self._address.url} answers, but not as a sandbox host") from error
        if response.is_success:
            return said
        raise frames.decode_error(said)

    async def _get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        import httpx  # it takes its time, and leases do without

        if self._http is None:
            socket = self._address.socket_path
            self._http = httpx.AsyncClient(
                base_url=self._address.http_base,
                headers={"Authorization": f"Bearer {self._token}"},
                transport=httpx.AsyncHTTPTransport(
                    uds=str(socket) if socket is not None else None,
                    trust_env=False,  # a proxy has no business between us and loopback
                ),
                timeout=REQUEST_S,
            )
        try:
            return await self._http.get(path, headers=headers)
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            raise HostUnreachable(
                f"no sandbox host answers at {self._address.url} ({why}): is it running?"
            ) from error


def _granted(channel: Channel, said: Any) -> RemoteSandbox:
    """
    Raises:
        HostUnreachable: what the host said is no grant.
    """
    try:
        handle = frames.decode_handle({**said, "target": 0})
        return RemoteSandbox(channel, handle, Deadlines(**said["deadlines"]))
    except (KeyError, TypeError, ValueError, WireError) as error:
        raise HostUnreachable(f"{channel.where} grants no proper lease: {error}") from error


def _pool(said: Any) -> PoolStatus:
    """
    Raises:
        KeyError, TypeError, ValueError: what the host said is none.
    """
    told: dict[str, Any] = dict(said)
    lost = {Lost(reason): number for reason, number in told.pop("lost").items()}
    return PoolStatus(**told, lost=lost)
