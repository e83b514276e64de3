"""A connection to one MCP server, by the official SDK as client (needs the extra `mcp`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import cast

try:
    import anyio
    import httpx2
    from mcp import Client, MCPError
    from mcp.client import Transport
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.message import SessionMessage
    from mcp_types import CONNECTION_CLOSED, Implementation, jsonrpc_message_adapter
    from pydantic import ValidationError
except ModuleNotFoundError as _missing:
    from deskhand_sandbox.errors import BackendMissing

    raise BackendMissing(
        "tools of MCP servers need the module 'mcp': pip install 'deskhand[mcp]'"
    ) from _missing

from deskhand_sandbox.errors import (
    InfrastructureError,
    InvalidAction,
    InvalidTask,
    SandboxDied,
    SandboxTimeout,
)
from deskhand_sandbox.tools.addresses import on_loopback, places
from deskhand_sandbox.tools.offer import Tool, check_schema, told
from deskhand_sandbox.tools.policy import Policy
from deskhand_sandbox.tools.program import Program, RunsPrograms
from deskhand_sandbox.tools.settings import ToolServer
from deskhand_sandbox.types import JsonValue

log = logging.getLogger(__name__)

START_S = 60.0
"""How long a server may take until it has said what it offers."""
CLOSE_S = 5.0
MOST_TOOLS = 256
US = Implementation(name="deskhand", version="1")
REFUSALS = (MCPError, ValidationError, RuntimeError)
"""What the SDK raises for an answer that is an error, or that is none by the protocol."""
BREAKS = (OSError, httpx2.HTTPError, anyio.BrokenResourceError, anyio.ClosedResourceError)
"""What it raises when nobody answers."""


class Connection:
    """One server, from `open` to `close`. Calls may come from any task: the SDK's own live in one of ours."""

    def __init__(self, server: ToolServer, inside: RunsPrograms | None, policy: Policy | None = None) -> None:
        """
        Args:
            inside: where its program is started; None where it has none.
            policy: what of the network its address may be; None: the internet and this machine's loopback.
        """
        self.server = server
        self.tools: Mapping[str, Tool] = {}
        """What it offers, by the full name."""
        self._inside = inside
        self._policy = policy or Policy(rules=("allow",))
        self._program: Program | None = None
        self._client: Client | None = None
        self._living: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()

    async def open(self) -> None:
        """Start it where it has to be, and ask what it offers.

        Raises:
            InvalidTask: its program ends, or what it offers is no tool.
            InfrastructureError: nobody answers.
        """
        self._closing = asyncio.Event()
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._living = asyncio.create_task(self._live(ready))
        try:
            done, _ = await asyncio.wait(
                [self._living, ready], timeout=START_S, return_when=asyncio.FIRST_COMPLETED
            )
            if ready in done:
                return
            said = await self._last_words()
            if not done:
                raise InfrastructureError(f"{self._what} did not say what it offers in {START_S:g} s{said}")
            raise _reason(self._living, self._what, said, program=bool(self.server.program))
        except BaseException:
            await self.close()
            raise

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> str:
        """Call a tool; a program that has ended is started again.

        Args:
            tool: its name as the server knows it.

        Raises:
            InvalidAction: it refused the call, took too long, or its program has ended.
            InfrastructureError: the server, which is no program of the sandbox, is gone.
        """
        if self._client is None:
            await self._open_again()
        client = self._client
        assert client is not None
        try:
            async with asyncio.timeout(self.server.timeout_s):
                result = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            limit_s = self.server.timeout_s
            raise InvalidAction(f"{self.server.name}.{tool} did not answer within {limit_s:g} s") from None
        except MCPError as error:
            if error.code != CONNECTION_CLOSED:
                raise InvalidAction(f"{self.server.name}.{tool} was refused: {error.message}") from error
            raise await self._gone() from error
        except BREAKS as error:
            raise await self._gone() from error
        except (ValidationError, RuntimeError) as error:
            raise InvalidAction(f"{self.server.name}.{tool} answered what is no answer: {error}") from error
        return told(result.content, result.structured_content, failed=result.is_error)

    async def close(self) -> None:
        """Hang up, and end its program. Safe to call twice."""
        self._client = None
        living, self._living = self._living, None
        if living is None:
            return
        self._closing.set()
        await asyncio.wait([living], timeout=CLOSE_S)
        if not living.done():
            living.cancel()
            await asyncio.wait([living], timeout=CLOSE_S)
        if living.done() and not living.cancelled() and (error := living.exception()) is not None:
            log.debug("%s ended with an error: %s", self._what, error)

    # ---- inside

    @property
    def _what(self) -> str:
        where = f" at {self.server.url}" if self.server.url else ""
        return f"the tool server {self.server.name}{where}"

    async def _live(self, ready: asyncio.Future[None]) -> None:
        """Everything of the SDK's, in one task from beginning to end, as its scopes demand."""
        async with self._transport() as transport, Client(transport, client_info=US, cache=None) as client:
            self.tools = {tool.name: tool for tool in await self._listed(client)}
            self._client = client
            ready.set_result(None)
            await self._closing.wait()

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[Transport]:
        server = self.server
        if not server.program:
            timeout = httpx2.Timeout(START_S, read=None)  # calls have a deadline of their own
            way = _AsFound(self._policy)
            await way.place(httpx2.URL(server.url))
            async with httpx2.AsyncClient(
                headers=dict(server.headers), timeout=timeout, trust_env=False, transport=way
            ) as http:
                yield cast("Transport", streamable_http_client(server.url, http_client=http))
            return
        assert self._inside is not None
        self._program = program = await self._inside.start_program(server.program, server.environment)
        try:
            yield cast("Transport", lines(program))
        finally:
            await program.close()

    async def _listed(self, client: Client) -> list[Tool]:
        listed: list[Tool] = []
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            for each in page.tools:
                schema = cast("dict[str, JsonValue]", each.input_schema)
                name = f"{self.server.name}.{each.name}"
                listed.append(Tool(name=name, description=each.description or "", schema=schema))
                check_schema(listed[-1])
            if len(listed) > MOST_TOOLS:
                raise InvalidTask(f"{self._what} offers more than {MOST_TOOLS} tools")
            cursor = page.next_cursor
            if cursor is None:
                return listed

    async def _open_again(self) -> None:
        try:
            await self.open()
        except (SandboxDied, SandboxTimeout):
            raise
        except (InvalidTask, InfrastructureError) as error:
            if not self.server.program:
                raise
            raise InvalidAction(f"{self._what} cannot be started again: {error}") from error

    async def _gone(self) -> InvalidAction | InfrastructureError:
        """What a call says whose server went away; a program inside the sandbox is the agent's to break."""
        said = await self._last_words()
        await self.close()
        if self.server.program:
            return InvalidAction(f"{self._what} has ended{said}; the next call starts it again")
        return InfrastructureError(f"{self._what} does not answer any more")

    async def _last_words(self) -> str:
        words = "" if self._program is None else await self._program.last_words()
        return f": {words}" if words else ""


class _AsFound(httpx2.AsyncHTTPTransport):
    """Connects to hosts as they were found and may be, each time anew: what a name says later is looked at
    again, and so is where a server leads."""

    def __init__(self, policy: Policy) -> None:
        super().__init__()
        self._policy = policy

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        address, port = await self.place(request.url)
        request.extensions = {**request.extensions, "sni_hostname": host}
        request.url = request.url.copy_with(host=address, port=port)
        return await super().handle_async_request(request)

    async def place(self, url: httpx2.URL) -> tuple[str, int]:
        """
        Raises:
            InvalidAction: it may not be reached.
            OSError: nobody knows the host.
        """
        host, port = url.host, url.port or (443 if url.scheme == "https" else 80)
        policy = replace(self._policy, trusted=(host,)) if on_loopback(host) else self._policy
        if not on_loopback(host) and not policy.allows(host, port):
            raise InvalidAction(f"the network policy does not allow {host}:{port}")
        return (await places(host, port, policy))[0]


@asynccontextmanager
async def lines(program: Program) -> AsyncGenerator[object]:
    """MCP's stdio transport over a program, which is neither started nor ended here."""
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_us:
            while line := await program.read_line():
                try:
                    message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                except ValidationError as error:  # something it printed for a person
                    await to_us.send(error)
                else:
                    await to_us.send(message)

    async def write() -> None:
        async with from_us:
            async for each in from_us:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                await program.write(text.encode() + b"\n")

    async with incoming, outgoing, anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            group.cancel_scope.cancel()


def _reason(living: asyncio.Task[None], what: str, said: str, *, program: bool) -> BaseException:
    """Why a server could not be connected to, as one of our errors; a bug as it is."""
    error = asyncio.CancelledError() if living.cancelled() else living.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, (*REFUSALS, *BREAKS)):
        why = str(error) or type(error).__name__
        if program:
            return InvalidTask(f"{what} did not start{said or f': {why}'}")
        return InfrastructureError(f"{what} does not answer: {why}")
    if isinstance(error, InvalidAction):  # of an address that may not be asked
        return InvalidTask(f"{what} may not be asked: {error}")
    assert error is not None
    return error
