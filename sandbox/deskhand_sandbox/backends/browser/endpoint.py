"""A DevTools endpoint of one leased browser: for Playwright's `connect_over_cdp` and its like, with a token.

It stands before the browser that other sandboxes may share, and passes on what concerns the lease's own
context: which commands that are is in `endpoint_rules`, whose pages they are is kept here. A context of its
own needs no second browser, and a stranger gets no more of a browser of its own than of a shared one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import secrets
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from deskhand_sandbox.backends.browser.cdp import CdpClosed, Payload
from deskhand_sandbox.backends.browser.endpoint_rules import IGNORED, Refused, check

VERSION = "/json/version"
THEIRS = frozenset({"page", "iframe", "worker", "shared_worker", "service_worker"})
"""Kinds of targets; a whole Chromium has its own tabs and menus in a context too."""
OWN_NUMBERS = 2**30
"""Commands of our own are numbered from here, out of the way of the stranger's."""
REFUSAL = -32000
GOODBYE_S = 1.0
"""How long a stranger may take to answer that a connection ends: a reset waits for it."""


class Endpoint:
    """Made by `open`. Serves until it is closed, or the context it is for is dropped."""

    def __init__(self, browser_url: str, context_id: Callable[[], str], token: str) -> None:
        self._browser_url = browser_url
        self._context_id = context_id
        self._token = token
        self._server: Server | None = None
        self._connections: set[ServerConnection] = set()

    @classmethod
    async def open(cls, browser_url: str, context_id: Callable[[], str], token: str) -> Endpoint:
        """Listen on a loopback port of its own.

        Args:
            browser_url: the browser's own websocket.
            context_id: the context of the task under way, asked at every connection.
            token: what a stranger must know.
        """
        endpoint = cls(browser_url, context_id, token)
        endpoint._server = await serve(
            endpoint._serve,
            "127.0.0.1",
            0,
            process_request=endpoint._admit,
            max_size=None,
            compression=None,
            ping_interval=None,
            close_timeout=GOODBYE_S,
        )
        return endpoint

    @property
    def url(self) -> str:
        """For `connect_over_cdp`: http://127.0.0.1:PORT/TOKEN."""
        return f"http://{self._place}/{self._token}"

    async def renew(self, token: str) -> None:
        """Let nobody in who knows another token, and end the connections of those who came with one."""
        if token != self._token:
            self._token = token
            await self.drop()

    async def drop(self) -> None:
        """End the connections there are."""
        await asyncio.gather(*(each.close() for each in self._connections))

    async def close(self) -> None:
        """End every connection and give the port back; safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            await server.wait_closed()

    @property
    def _place(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse who does not know the token; answer the question where the websocket is."""
        path = request.path.partition("?")[0].rstrip("/")
        said = request.headers.get("Authorization", "").removeprefix("Bearer ")
        own = f"/{self._token}"
        known = secrets.compare_digest(said.encode(), self._token.encode()) or secrets.compare_digest(
            path[: len(own)].encode(), own.encode()
        )
        if not known:
            return connection.respond(HTTPStatus.FORBIDDEN, "the token of the lease is wrong or missing\n")
        if path.endswith(VERSION):
            told = {
                "Browser": "Deskhand lease",
                "Protocol-Version": "1.3",
                "webSocketDebuggerUrl": f"ws://{self._place}/{self._token}",
            }
            response = connection.respond(HTTPStatus.OK, json.dumps(told))
            del response.headers["Content-Type"]
            response.headers["Content-Type"] = "application/json"
            return response
        return None

    async def _serve(self, near: ServerConnection) -> None:
        self._connections.add(near)
        try:
            context_id = self._context_id()
            async with connect(self._browser_url, max_size=None, compression=None, ping_interval=None) as far:
                await _Conversation(near, far, context_id).hold()
        except (CdpClosed, OSError):
            await near.close(code=1011, reason="the browser is gone, or has no task yet")
        finally:
            self._connections.discard(near)


class _Conversation:
    """One stranger, one connection to the browser, and what of it is theirs."""

    def __init__(self, near: ServerConnection, far: ClientConnection, context_id: str) -> None:
        self._near = near
        self._far = far
        self._context_id = context_id
        self._targets: dict[str, Payload] = {}
        self._sessions: set[str] = set()
        self._attaching: dict[str, asyncio.Future[Payload]] = {}
        self._auto = False
        self._discovering = False
        self._numbers = itertools.count(OWN_NUMBERS)
        self._asked: dict[int, asyncio.Future[Payload]] = {}
        self._own: set[asyncio.Task[None]] = set()
        self._hearing = asyncio.create_task(self._hear())

    async def hold(self) -> None:
        """Pass messages on until one side ends."""
        try:
            await self._ask("Target.setDiscoverTargets", {"discover": True})
            async for text in self._near:
                await self._said(_read(text))
        except (ConnectionClosed, Refused):
            pass
        finally:
            for task in (self._hearing, *self._own):
                task.cancel()
            await asyncio.wait([self._hearing, *self._own])
            await self._near.close()

    # ---- from the stranger

    async def _said(self, message: Payload) -> None:
        try:
            method, parameters, session = _parts(message)
            if session is not None and session not in self._sessions:
                raise Refused("there is no such session")
            if method in IGNORED:
                return await self._answer(message, {})
            if session is None and await self._answered(message, method, parameters):
                return None
            message["params"] = check(
                method,
                parameters,
                in_page=session is not None,
                context_id=self._context_id,
                targets=self._targets.keys(),
                sessions=self._sessions,
            )
            if method == "Target.createTarget":
                made = await self._ask(method, message["params"])
                # as by Chromium itself: whoever attaches by itself has the page before it hears of the target
                await self._attach(made["targetId"])
                return await self._answer(message, made)
        except Refused as refusal:
            error = {"code": REFUSAL, "message": str(refusal)}
            return await self._tell({**_to(message), "error": error})
        await self._far.send(json.dumps(message))
        return None

    async def _answered(self, message: Payload, method: str, parameters: Payload) -> bool:
        """Commands to the browser as a whole that are answered here: not all they would tell is theirs."""
        match method:
            case "Target.setAutoAttach":
                self._auto = bool(parameters.get("autoAttach"))
                await asyncio.gather(*(self._attach(each) for each in list(self._targets)))
            case "Target.setDiscoverTargets":
                self._discovering = bool(parameters.get("discover"))
                for info in self._targets.values() if self._discovering else ():
                    await self._tell({"method": "Target.targetCreated", "params": {"targetInfo": info}})
            case "Target.getTargets":
                await self._answer(message, {"targetInfos": list(self._targets.values())})
                return True
            case "Target.getBrowserContexts":
                await self._answer(message, {"browserContextIds": []})
                return True
            case "Browser.close":
                await self._answer(message, {})
                await self._near.close()
                return True
            case _:
                return False
        await self._answer(message, {})
        return True

    async def _attach(self, target_id: str) -> None:
        info = self._targets.get(target_id)
        if not self._auto or info is None or info["type"] != "page":
            return
        if target_id not in self._attaching:
            parameters = {"targetId": target_id, "flatten": True}
            self._attaching[target_id] = self._ask("Target.attachToTarget", parameters)
        with contextlib.suppress(Refused):  # it went away in between
            await asyncio.shield(self._attaching[target_id])

    # ---- from the browser

    async def _hear(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for text in self._far:
                message: Payload = json.loads(text)
                asked = self._asked.pop(message.get("id", 0), None)
                if asked is None:
                    if self._is_theirs(message):
                        await self._near.send(text)
                elif "error" in message:
                    asked.set_exception(Refused(str(message["error"].get("message"))))
                else:
                    asked.set_result(message["result"])
        await self._near.close()

    def _is_theirs(self, message: Payload) -> bool:
        """Whether a message is the stranger's; keeps the book of targets and sessions."""
        if "id" in message:
            return True
        method, parameters = str(message["method"]), message.get("params", {})
        session = message.get("sessionId")
        if session is not None and session not in self._sessions:
            return False
        match method:
            case "Target.attachedToTarget":
                if session is None and not self._is_own(parameters["targetInfo"]):
                    return False
                self._sessions.add(parameters["sessionId"])
                return True
            case "Target.detachedFromTarget":
                theirs = parameters["sessionId"] in self._sessions
                self._sessions.discard(parameters["sessionId"])
                self._attaching.pop(parameters.get("targetId", ""), None)
                return theirs
            case "Target.targetCreated" | "Target.targetInfoChanged":
                return session is None and self._is_own(parameters["targetInfo"]) and self._met(parameters)
            case "Target.targetDestroyed" | "Target.targetCrashed":
                known = parameters["targetId"] in self._targets
                if method.endswith("Destroyed"):
                    self._targets.pop(parameters["targetId"], None)
                return known and self._discovering
            case _:
                return session is not None

    def _is_own(self, info: Payload) -> bool:
        return info.get("browserContextId") == self._context_id and info["type"] in THEIRS

    def _met(self, parameters: Payload) -> bool:
        info = parameters["targetInfo"]
        new = info["targetId"] not in self._targets
        self._targets[info["targetId"]] = info
        if new and self._auto:
            task = asyncio.create_task(self._attach(info["targetId"]))
            self._own.add(task)
            task.add_done_callback(self._own.discard)
        return self._discovering

    # ---- both ways

    def _ask(self, method: str, parameters: Payload) -> asyncio.Future[Payload]:
        """A command of our own to the browser; Refused where it ends before the answer."""
        number = next(self._numbers)
        future: asyncio.Future[Payload] = asyncio.get_running_loop().create_future()
        self._asked[number] = future

        async def ask() -> Payload:
            with contextlib.suppress(ConnectionClosed):
                await self._far.send(json.dumps({"id": number, "method": method, "params": parameters}))
                await asyncio.wait([future, self._hearing], return_when=asyncio.FIRST_COMPLETED)
            if not future.done():
                raise Refused("the browser is gone")
            return future.result()

        return asyncio.ensure_future(ask())

    async def _answer(self, message: Payload, result: Payload) -> None:
        await self._tell({**_to(message), "result": result})

    async def _tell(self, message: Payload) -> None:
        await self._near.send(json.dumps(message))


def _read(text: str | bytes) -> Payload:
    """A stranger's message; empty where it is no object of JSON."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Payload", message) if isinstance(message, dict) else {}


def _parts(message: Payload) -> tuple[str, Payload, str | None]:
    """Method, parameters and session of a command.

    Raises:
        Refused: it is none.
    """
    number, method = message.get("id"), message.get("method")
    parameters, session = message.get("params") or {}, message.get("sessionId")
    if not isinstance(number, int) or not 0 <= number < OWN_NUMBERS:
        raise Refused(f"a command has an id, a whole number below {OWN_NUMBERS}")
    if not isinstance(method, str) or not isinstance(parameters, dict):
        raise Refused("a command has a method, and its params are an object")
    if session is not None and not isinstance(session, str):
        raise Refused("there is no such session")
    return method, dict(cast("Payload", parameters)), session


def _to(message: Payload) -> Payload:
    """What an answer carries of its question."""
    return {name: message[name] for name in ("id", "sessionId") if name in message}
