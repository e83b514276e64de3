"""A sandbox with tools beside its screen: `Fetch` and `CallTool`, whatever kind it is.

    backend = with_tools(create_backend("desktop"))

A task's settings name MCP servers and what of the network may be reached (see `tools.settings`). What the
servers offer stands after the instruction of the start state, so that every agent reads of it.
"""

from __future__ import annotations

import asyncio
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import InvalidAction, InvalidTask, UnknownName, UnsupportedCapability
from deskhand_sandbox.tools.offer import Tool, check_arguments, described
from deskhand_sandbox.tools.policy import Policy
from deskhand_sandbox.tools.program import RunsPrograms
from deskhand_sandbox.tools.settings import SERVERS, ToolServer, tool_settings
from deskhand_sandbox.types import (
    CallTool,
    DeviceAction,
    Fetch,
    JsonValue,
    Observation,
    Start,
    Task,
    WriteFile,
)

if TYPE_CHECKING:
    from deskhand_sandbox.tools.client import Connection

NOTHING = Policy(rules=("deny",))
OWN_FETCH = ("browser",)
"""Kinds whose own `Fetch` reaches what their pages do."""


def with_tools(backend: Backend) -> Backend:
    """The backend, whose sandboxes have tools."""
    return ToolBackend(backend)


def without_tools(sandbox: Sandbox) -> Sandbox:
    """The sandbox itself: what it can do beyond the contract is asked of it."""
    return sandbox.inner if isinstance(sandbox, ToolSandbox) else sandbox


class ToolBackend(Backend):
    """See `with_tools`."""

    def __init__(self, inner: Backend) -> None:
        self.inner = inner
        self.kind = inner.kind

    async def create(self) -> Sandbox:
        return ToolSandbox(await self.inner.create())

    def alive(self) -> bool:
        return self.inner.alive()

    async def close(self) -> None:
        await self.inner.close()


class ToolSandbox(Sandbox):
    """Does `Fetch` and `CallTool` itself, and passes everything else on."""

    def __init__(self, inner: Sandbox) -> None:
        self.inner = inner
        """The sandbox itself."""
        self.id, self.kind, self.capabilities = inner.id, inner.kind, inner.capabilities
        self._policy = NOTHING
        self._servers: tuple[ToolServer, ...] = ()
        self._connections: list[Connection] = []
        self._tools: dict[str, tuple[Tool, Connection]] = {}

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the agent may call, until the next reset."""
        return tuple(tool for tool, _ in self._tools.values())

    # ---- the contract

    async def reset(self, task: Task) -> Start:
        settings, bare = tool_settings(task)
        await self._hang_up()
        start = await self.inner.reset(bare)
        self._policy, self._servers = settings.policy, settings.servers
        if not self._servers:
            return start
        for server in self._servers:
            for path, content in server.files.items():
                try:
                    await self.inner.act(WriteFile(path=path, content=content))
                except (InvalidAction, UnsupportedCapability) as error:
                    raise InvalidTask(f"task {task.id}: {SERVERS}: {server.name!r}: {error}") from error
        await self._connect()
        seen = (
            await self.inner.observe() if any(each.program for each in self._servers) else start.observation
        )
        return replace(start, instruction=start.instruction + described(self.tools), observation=seen)

    async def observe(self, *, text_tree: bool = False) -> Observation:
        return await self.inner.observe(text_tree=text_tree)

    async def act(self, action: DeviceAction) -> Observation:
        match action:
            case CallTool():
                output = await self._call(action)
            case Fetch() if self.kind not in OWN_FETCH:
                # httpx takes its time to import
                fetching = await asyncio.to_thread(importlib.import_module, "deskhand_sandbox.tools.fetch")
                output = await fetching.fetch(action, self._policy)
            case _:
                return await self.inner.act(action)
        return replace(await self.inner.observe(), output=output)

    async def evaluate(self, expression: str) -> JsonValue:
        return await self.inner.evaluate(expression)

    async def snapshot(self) -> str:
        return await self.inner.snapshot()

    async def restore(self, snapshot_id: str) -> Observation:
        """See `Sandbox`. Programs of tools are started anew: what they had in mind was said to nobody."""
        await self._hang_up()
        seen = await self.inner.restore(snapshot_id)
        if not self._servers:
            return seen
        await self._connect()
        return await self.inner.observe()

    async def forget(self, snapshot_id: str) -> None:
        await self.inner.forget(snapshot_id)

    async def fork(self, n: int) -> list[Sandbox]:
        """See `Sandbox`. Each copy has connections and programs of tools of its own."""
        copies = [ToolSandbox(each) for each in await self.inner.fork(n)]
        try:
            for copy in copies:
                copy._policy, copy._servers = self._policy, self._servers
            await asyncio.gather(*(copy._connect() for copy in copies))
        except BaseException:
            await asyncio.gather(*(copy.close() for copy in copies))
            raise
        return list(copies)

    def alive(self) -> bool:
        return self.inner.alive()

    async def ping(self) -> None:
        await self.inner.ping()

    async def close(self) -> None:
        try:
            await self._hang_up()
        finally:
            await self.inner.close()

    # ---- tools

    async def _call(self, action: CallTool) -> str:
        if not self._tools:
            raise UnsupportedCapability(f"this task has no tools to call: its settings name no {SERVERS}")
        if action.name not in self._tools:
            raise InvalidAction(str(UnknownName("tool", action.name, self._tools)))
        tool, connection = self._tools[action.name]
        check_arguments(tool, action.arguments)
        return await connection.call(action.name.partition(".")[2], action.arguments)

    async def _connect(self) -> None:
        """Connect to every server, or to none."""
        if not self._servers:
            return
        inside = self.inner if isinstance(self.inner, RunsPrograms) else None
        for server in self._servers:
            if server.program and inside is None:
                raise InvalidTask(
                    f"{SERVERS}: {server.name!r}: no program of a {self.kind} sandbox can be talked to: "
                    "give the url of a server that runs already"
                )
        # the SDK takes its time to import
        client = await asyncio.to_thread(importlib.import_module, "deskhand_sandbox.tools.client")
        self._connections = [client.Connection(server, inside, self._policy) for server in self._servers]
        opening = [asyncio.create_task(each.open()) for each in self._connections]
        try:
            await asyncio.gather(*opening)
        except BaseException:
            for each in opening:
                each.cancel()
            await asyncio.wait(opening)
            await self._hang_up()
            raise
        self._tools = {
            tool.name: (tool, connection)
            for connection in self._connections
            for tool in connection.tools.values()
        }

    async def _hang_up(self) -> None:
        connections, self._connections, self._tools = self._connections, [], {}
        await asyncio.gather(*(each.close() for each in connections))
