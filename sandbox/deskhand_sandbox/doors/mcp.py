"""A sandbox as an MCP server: each action a tool, each answer the screen after it.

One server holds one sandbox; calls from several clients go one after another. Where it has ended, the next
task is opened in another. The tools are made from the records of `types.py`, so that they take what every
agent's actions take.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
import secrets
import typing
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.server.auth import AccessToken, TokenVerifier
from fastmcp.tools import Tool
from fastmcp.utilities.types import Image
from pydantic import JsonValue

from deskhand_sandbox import types as words
from deskhand_sandbox.base import Capability, Sandbox
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import DeviceAction, Observation

NEEDS: Mapping[str, Capability] = dict.fromkeys(("Run", "ReadFile", "WriteFile", "EditFile"), Capability.RUN)
"""Actions that only some kinds carry out -> what they must be able to."""
INSTRUCTIONS = (
    "A computer to work at. Every tool answers with the screen as it is afterwards; coordinates are pixels "
    "of that picture, from its top left corner."
)

Answer = list[Any]
"""A picture, and text about it where there is any."""


class OneToken(TokenVerifier):
    """Lets in whoever has the token."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self._token = token

    async def verify_token(self, token: str) -> AccessToken | None:
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return None
        return AccessToken(token=token, client_id="holder", scopes=[])


def mcp_server(
    sandbox: Sandbox, *, another: Callable[[], Awaitable[Sandbox]] | None = None, token: str | None = None
) -> FastMCP:
    """A server over a sandbox that has been reset to a task.

    Args:
        another: lends one of the same kind, in the place of one that has ended; None: there is none.
        token: what a client over HTTP has to send as a bearer token; None where only one process can ask.
    """
    tools = _Tools(sandbox, another)
    server = FastMCP(
        "deskhand", instructions=INSTRUCTIONS, auth=OneToken(token) if token is not None else None
    )
    for action in typing.get_args(DeviceAction):
        needed = NEEDS.get(action.__name__)
        if needed is None or needed in sandbox.capabilities:
            server.add_tool(_action_tool(action, tools))
    for tool in (tools.screenshot, tools.open_task):
        server.add_tool(Tool.from_function(tool))
    return server


class _Tools:
    def __init__(self, sandbox: Sandbox, another: Callable[[], Awaitable[Sandbox]] | None) -> None:
        self._sandbox = sandbox
        self._another = another
        self._lock = asyncio.Lock()

    async def screenshot(self, text_tree: bool = False) -> Answer:
        """Look at the screen; with text_tree also what is on it as text, where this computer has that."""
        return await self._told(lambda: self._sandbox.observe(text_tree=text_tree))

    async def open_task(self, task: str, seed: int = 0) -> Answer:
        """Start over at the start state of a task of this kind of computer; answers with its instruction."""

        async def begin() -> Observation:
            if self._another is not None and not self._sandbox.alive():
                self._sandbox = await self._another()
            start = await set_up(self._sandbox, make_task(task, seed))
            return dataclasses.replace(start.observation, output=start.instruction)

        return await self._told(begin)

    async def act(self, action: DeviceAction) -> Answer:
        return await self._told(lambda: self._sandbox.act(action))

    async def _told(self, asked: Callable[[], Awaitable[Observation]]) -> Answer:
        async with self._lock:
            try:
                seen = await asked()
            except SandboxError as error:
                raise ToolError(f"{type(error).__name__}: {error}{self._way_on()}") from error
        picture = Image(data=seen.screenshot.data, format=seen.screenshot.format)
        return [picture, *_said(seen)]

    def _way_on(self) -> str:
        """What a client can do about a computer that has ended."""
        if self._another is None or self._sandbox.alive():
            return ""
        return "; open_task begins on another computer"


def _said(seen: Observation) -> list[str]:
    """What there is to read."""
    parts = [seen.output, seen.text_tree]
    if seen.dialog is not None:
        parts.append(f"A dialog waits for answer_dialog: {seen.dialog}")
    if seen.url is not None:
        parts.append(f"Address: {seen.url}")
    if not seen.settled:
        parts.append("The screen was still changing.")
    return [part for part in parts if part]


def _action_tool(action: type[Any], tools: _Tools) -> Tool:
    """A tool whose parameters are an action's fields."""
    # of JSON pydantic has a type of its own: ours refers to itself, by a name it does not know
    hints = typing.get_type_hints(action, {**vars(words), "JsonValue": JsonValue})

    async def carry_out(**arguments: Any) -> Answer:
        return await tools.act(action(**{name: _frozen(value) for name, value in arguments.items()}))

    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[field.name],
            default=_default(field),
        )
        for field in dataclasses.fields(action)
    ]
    carry_out.__signature__ = inspect.Signature(parameters, return_annotation=Answer)  # type: ignore[attr-defined]
    carry_out.__annotations__ = {field: hints[field] for field in hints} | {"return": Answer}
    return Tool.from_function(carry_out, name=_snake(action.__name__), description=inspect.getdoc(action))


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return inspect.Parameter.empty


def _frozen(value: object) -> object:
    return (
        tuple(map(_frozen, typing.cast("list[object]", value))) if isinstance(value, list | tuple) else value
    )


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
