"""The sandbox host's routes: a lease and its channel at once, or leases over HTTP and channels beside them.

    WS     /v1/leases?ask={…}          waits for one, then frames of `frames.py`;        host token
                                       the lease ends with the channel
    POST   /v1/leases                  {kind, owner, wait_s, labels}: waits for one      host token
    POST   /v1/leases/{id}/heartbeat   the holder lives                                  host token
    GET    /v1/leases/{id}/screen      its picture, for an onlooker (304: the one known)  host token
    GET    /v1/leases/{id}/vnc         {host, port, password} of its VNC server          host token
    DELETE /v1/leases/{id}             give the sandbox back                             host token
    GET    /v1/status                  what is lent, waited for, made and lost           host token
    GET    /metrics                    the same and durations, for Prometheus            host token
    GET    /healthz                    answers when the host does
    WS     /v1/leases/{id}/io          a channel to a lease there is                     lease token

Tokens travel as `Authorization: Bearer …`. Errors are JSON: {error, message}.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from contextlib import ExitStack
from dataclasses import asdict

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from deskhand_sandbox import logs
from deskhand_sandbox.errors import (
    BackendMissing,
    InfrastructureError,
    LeaseError,
    LeaseExpired,
    LeaseUnavailable,
    SandboxError,
    UnknownName,
    UnsupportedCapability,
)
from deskhand_sandbox.host import wire
from deskhand_sandbox.host.frames import encode_error
from deskhand_sandbox.host.serving import ChannelServer
from deskhand_sandbox.host.wire import PROTOCOL, Plain, WireError
from deskhand_sandbox.manager import Lease, SandboxManager

log = logging.getLogger(__name__)

LARGEST_BODY = 64 * 1024
CLIENT_GONE = 499
LOOK_S = 0.5
"""An onlooker's picture is looked at anew once it is this old and the holder does nothing."""
BUSY_S = 10.0
"""An onlooker waits so long for the call under way of the holder's."""


class WrongToken(LeaseError):
    """The host token is missing or wrong."""


class HostFailed(InfrastructureError):
    """A bug in the host or in a backend; the host's log has the traceback."""


class LeaseRequest(BaseModel):
    """What is asked for: the body of POST /v1/leases, or `ask` of a channel."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(min_length=1, max_length=100)
    owner: str = Field(min_length=1, max_length=200)
    wait_s: float = Field(default=60.0, ge=0, le=86400, allow_inf_nan=False)
    labels: dict[str, str] = Field(default_factory=dict, max_length=20)


STATUS: dict[type[Exception], int] = {
    WrongToken: 401,
    HostFailed: 500,
    WireError: 400,
    UnknownName: 404,
    LeaseExpired: 410,
    LeaseUnavailable: 503,
    BackendMissing: 501,
    UnsupportedCapability: 501,
    InfrastructureError: 502,
    SandboxError: 500,
}
"""HTTP status by error, the most special first."""


class Host:
    """The routes over one manager."""

    def __init__(self, manager: SandboxManager, token: str) -> None:
        self._manager = manager
        self._token = token

    def app(self) -> Starlette:
        """The ASGI application; the manager is opened and closed by whoever serves it."""
        return Starlette(
            routes=[
                Route("/healthz", self.health),
                Route("/v1/status", self.status),
                Route("/metrics", self.metrics),
                Route("/v1/leases", self.grant, methods=["POST"]),
                Route("/v1/leases/{lease_id}/heartbeat", self.heartbeat, methods=["POST"]),
                Route("/v1/leases/{lease_id}/screen", self.screen),
                Route("/v1/leases/{lease_id}/vnc", self.vnc),
                Route("/v1/leases/{lease_id}", self.release, methods=["DELETE"]),
                WebSocketRoute("/v1/leases", self.lend),
                WebSocketRoute("/v1/leases/{lease_id}/io", self.io),
            ],
            exception_handlers={SandboxError: sandbox_error, HTTPException: http_error, Exception: bug},
        )

    async def health(self, _: Request) -> Response:
        return JSONResponse({"ok": True, "protocol": PROTOCOL})

    async def status(self, request: Request) -> Response:
        self._check(request)
        return JSONResponse(asdict(self._manager.status()))

    async def metrics(self, request: Request) -> Response:
        self._check(request)
        return Response(self._manager.metrics(), media_type="text/plain; version=0.0.4")

    async def grant(self, request: Request) -> Response:
        self._check(request)
        asked = read_lease_request(await read_body(request))
        lease = await self._acquire(asked, left(request))
        if lease is None:
            return Response(status_code=CLIENT_GONE)
        return JSONResponse(self._granted(lease), status_code=201)

    async def heartbeat(self, request: Request) -> Response:
        self._check(request)
        self._manager.heartbeat(request.path_params["lease_id"])
        return JSONResponse({"heartbeat_s": self._manager.terms.heartbeat_s})

    async def screen(self, request: Request) -> Response:
        self._check(request)
        seen = await self._manager.look(request.path_params["lease_id"], older_s=LOOK_S)
        if seen is None or seen.screenshot.data is None:
            return Response(status_code=204)
        picture = seen.screenshot
        headers = {"ETag": picture.digest, "Cache-Control": "no-store"}
        if request.headers.get("if-none-match") == picture.digest:
            return Response(status_code=304, headers=headers)
        return Response(seen.screenshot.data, media_type=f"image/{picture.format}", headers=headers)

    async def vnc(self, request: Request) -> Response:
        self._check(request)
        address = await self._manager.show(request.path_params["lease_id"], wait_s=BUSY_S)
        if address is None:
            return Response(status_code=204)
        return JSONResponse(asdict(address), headers={"Cache-Control": "no-store"})

    async def release(self, request: Request) -> Response:
        self._check(request)
        lease_id = request.path_params["lease_id"]
        if not self._manager.release(lease_id):
            raise LeaseExpired(f"there is no live lease {lease_id!r}: it was given back or it lapsed")
        return JSONResponse({"released": lease_id})

    async def lend(self, websocket: WebSocket) -> None:
        """A lease for as long as the channel lasts that it is asked for on; its first frame is the grant."""
        try:
            check_protocol(websocket)
            self._check(websocket)
            asked = read_lease_request(websocket.query_params.get("ask", ""))
            await websocket.receive()  # its opening; what comes next before the answer is its end
            lease = await self._acquire(asked, left(websocket))
        except SandboxError as error:
            await websocket.send_denial_response(error_response(error))
            return
        if lease is None:
            return
        try:
            with (
                self._manager.connect(lease.id, lease.token) as sandbox,
                logs.about(lease=lease.id, sandbox=lease.sandbox_id),
            ):
                await websocket.accept(subprotocol=PROTOCOL)
                await websocket.send_bytes(wire.pack(self._granted(lease)))
                await ChannelServer(websocket, sandbox, over=lambda: self._manager.ended(lease.id)).serve()
        except (WebSocketDisconnect, OSError) as error:
            log.debug("the client left before its lease: %s", error)
        finally:
            self._manager.release(lease.id)

    async def io(self, websocket: WebSocket) -> None:
        lease_id = websocket.path_params["lease_id"]
        with ExitStack() as stack:
            try:
                check_protocol(websocket)
                sandbox = stack.enter_context(self._manager.connect(lease_id, bearer(websocket.headers)))
                stack.enter_context(logs.about(lease=lease_id, sandbox=sandbox.id))
            except (WireError, LeaseExpired) as error:
                await websocket.send_denial_response(error_response(error))
                return
            await websocket.accept(subprotocol=PROTOCOL)
            await ChannelServer(websocket, sandbox, over=lambda: self._manager.ended(lease_id)).serve()

    def _check(self, asking: HTTPConnection) -> None:
        if not secrets.compare_digest(bearer(asking.headers).encode(), self._token.encode()):
            raise WrongToken("the sandbox host's token is missing or wrong: send it as Authorization: Bearer")

    async def _acquire(self, asked: LeaseRequest, leaving: Coroutine[None, None, None]) -> Lease | None:
        """A lease; None when the client hung up while it queued: its place goes to the next.

        Raises:
            SandboxError: as `SandboxManager.acquire`; a bug is told as an `InfrastructureError`.
        """
        taking = asyncio.create_task(
            self._manager.acquire(asked.kind, owner=asked.owner, wait_s=asked.wait_s, labels=asked.labels)
        )
        going = asyncio.create_task(leaving)
        try:
            await asyncio.wait({taking, going}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if taking.done() and not taking.cancelled() and taking.exception() is None:
                self._manager.release(taking.result().id)
            raise
        finally:
            going.cancel()
            taking.cancel()  # changes nothing once it is done
        if not taking.done():
            return None
        error = taking.exception()
        if error is None or isinstance(error, SandboxError):
            return taking.result()
        log.error("a lease could not be granted in a way that nobody foresaw", exc_info=error)
        raise HostFailed(failed(error)) from error

    def _granted(self, lease: Lease) -> dict[str, Plain]:
        return {
            "id": lease.id,
            "kind": lease.kind,
            "sandbox_id": lease.sandbox_id,
            "capabilities": [str(each) for each in sorted(self._manager.capabilities(lease.id))],
            "token": lease.token,
            "endpoint": lease.endpoint,
            "heartbeat_s": self._manager.terms.heartbeat_s,
            "ttl_s": self._manager.terms.ttl_s,
            "deadlines": asdict(self._manager.deadlines),
        }


async def read_body(request: Request) -> bytes:
    """
    Raises:
        WireError: too large.
    """
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST_BODY:
            raise WireError(f"the body is larger than {LARGEST_BODY} bytes")
    return body


def read_lease_request(text: bytes | str) -> LeaseRequest:
    """
    Raises:
        WireError: no JSON, or a field is wrong; says which.
    """
    try:
        return LeaseRequest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "body"
        raise WireError(f"{where}: {first['msg']}") from error


def check_protocol(websocket: WebSocket) -> None:
    """
    Raises:
        WireError: the client speaks another version.
    """
    offered: list[str] = websocket.scope["subprotocols"]
    if PROTOCOL not in offered:
        said = ", ".join(offered) or "none"
        raise WireError(f"this host speaks {PROTOCOL}, the client offers {said}: update the older one")


async def left(client: Request | WebSocket) -> None:
    """Return when a client has hung up that has said all it has to say for now."""
    while not (await client.receive())["type"].endswith(".disconnect"):
        pass


def bearer(headers: Headers) -> str:
    """The bearer token; empty when there is none."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def error_response(error: SandboxError) -> JSONResponse:
    """An error as the client is told it."""
    status = next(code for kind, code in STATUS.items() if isinstance(error, kind))
    return JSONResponse(encode_error(error), status_code=status)


async def sandbox_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, SandboxError)
    return error_response(error)


async def http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse({"error": "SandboxError", "message": message}, status_code=error.status_code)


async def bug(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": "InfrastructureError", "message": failed(error)}, status_code=500)


def failed(error: BaseException) -> str:
    """What a client is told of a bug here or in a backend."""
    return f"the sandbox host failed: {type(error).__name__}: {error}; its log has more"
