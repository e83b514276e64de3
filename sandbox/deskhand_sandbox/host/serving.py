"""The host's end of a lease's channel: carries out what frames ask, one call at a time per sandbox."""

from __future__ import annotations

import asyncio
import itertools
import logging
import typing
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction, InvalidTask, SandboxError, UnsupportedCapability
from deskhand_sandbox.host import frames, wire
from deskhand_sandbox.host.frames import BAD_FRAME, HOST_FAILED, LEASE_OVER, Handle, Request
from deskhand_sandbox.host.wire import Plain, WireError
from deskhand_sandbox.manager.extras import EXTRAS, PassesOn
from deskhand_sandbox.types import DeviceAction, Task

log = logging.getLogger(__name__)

DEVICE_ACTIONS = typing.get_args(DeviceAction)
LONGEST_REASON = 120
"""Bytes of a close reason, by the WebSocket standard."""


class ChannelServer:
    """One open channel."""

    def __init__(
        self, websocket: WebSocket, sandbox: Sandbox, *, over: Callable[[], Awaitable[SandboxError]]
    ) -> None:
        """
        Args:
            over: returns when the lease is over, and why it is.
        """
        self._websocket = websocket
        self._sandboxes: dict[int, Sandbox] = {0: sandbox}
        self._targets = itertools.count(1)
        self._over = over
        self._calls: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Answer until the client hangs up or the lease ends; then cut off what still runs."""
        watching = asyncio.create_task(self._close_when_over())
        try:
            while (message := await self._websocket.receive())["type"] != "websocket.disconnect":
                call = asyncio.create_task(self._answer(message.get("bytes") or b""))
                self._calls.add(call)
                call.add_done_callback(self._answered)
        finally:
            watching.cancel()
            for call in self._calls:
                call.cancel()
            await asyncio.wait([watching, *self._calls, *self._closing])

    async def _close_when_over(self) -> None:
        end = await self._over()
        if self._calls:
            await asyncio.wait(self._calls)  # each is told itself that the lease is over
        await self._close(LEASE_OVER, frames.error_as_reason(end))

    async def _answer(self, data: bytes) -> None:
        try:
            request = frames.read_request(data)
        except WireError as error:
            await self._close(BAD_FRAME, str(error))
            return
        try:
            frame = frames.pack_reply(request.id, await self._run(request))
        except SandboxError as error:
            frame = frames.pack_error(request.id, error)
        await self._send(frame)

    async def _run(self, request: Request) -> Plain:
        sandbox = self._sandboxes.get(request.target)
        if sandbox is None:
            raise WireError(f"this channel has no sandbox {request.target}")
        argument = request.argument
        match request.method:
            case "reset":
                return wire.encode(await sandbox.reset(_decode(argument, InvalidTask, Task)))
            case "observe":
                return wire.encode(await sandbox.observe(text_tree=argument is True))
            case "act":
                return wire.encode(await sandbox.act(_decode(argument, InvalidAction, *DEVICE_ACTIONS)))
            case "evaluate":
                return wire.encode_json(await sandbox.evaluate(_text(argument)))
            case "snapshot":
                return await sandbox.snapshot()
            case "restore":
                return wire.encode(await sandbox.restore(_text(argument)))
            case "forget":
                await sandbox.forget(_text(argument))
                return None
            case "fork":
                return [frames.encode_handle(handle) for handle in await self._fork(sandbox, argument)]
            case "extra":
                return await _extra(sandbox, argument)
            case "close":
                await sandbox.close()
                if request.target:
                    self._sandboxes.pop(request.target, None)
                return None
            case _:
                raise WireError(f"a sandbox has no method {request.method!r:.60}")

    async def _fork(self, sandbox: Sandbox, n: object) -> list[Handle]:
        if not isinstance(n, int) or n < 0:
            raise WireError(f"fork takes a count, not {n!r:.60}")
        handles: list[Handle] = []
        for fork in await sandbox.fork(n):
            target = next(self._targets)
            self._sandboxes[target] = fork
            handles.append(
                Handle(target=target, sandbox_id=fork.id, kind=fork.kind, capabilities=fork.capabilities)
            )
        return handles

    async def _send(self, frame: bytes) -> None:
        try:
            await self._websocket.send_bytes(frame)
        except (WebSocketDisconnect, RuntimeError) as error:
            log.debug("the client left before its answer: %s", error)

    async def _close(self, code: int, reason: str) -> None:
        short = reason.encode()[:LONGEST_REASON].decode(errors="ignore")
        try:
            await self._websocket.close(code, short)
        except (WebSocketDisconnect, RuntimeError) as error:
            log.debug("the channel was closed before: %s", error)

    def _answered(self, call: asyncio.Task[None]) -> None:
        self._calls.discard(call)
        error = None if call.cancelled() else call.exception()
        if error is not None:
            log.error("a call failed in a way no sandbox may fail", exc_info=error)
            text = f"the sandbox host failed: {type(error).__name__}: {error}"
            closing = asyncio.create_task(self._close(HOST_FAILED, text))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


async def _extra(sandbox: Sandbox, argument: object) -> Plain:
    call = wire.decode(argument, *EXTRAS)
    if not isinstance(sandbox, PassesOn):
        raise UnsupportedCapability(f"a {sandbox.kind} sandbox has no {call.name}")
    return wire.encode_value(await sandbox.extra(call))


def _decode(plain: object, refusal: type[SandboxError], *expected: type[Any]) -> Any:
    try:
        return wire.decode(plain, *expected)
    except WireError as error:
        raise refusal(str(error)) from error


def _text(plain: object) -> str:
    if not isinstance(plain, str):
        raise WireError(f"expected text, not {type(plain).__name__}")
    return plain
