"""Sandboxes with tools, and real MCP servers for them."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.fake.sandbox import FakeSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tools.program import ConfinedProgram
from deskhand_sandbox.tools.sandbox import ToolSandbox
from deskhand_sandbox.types import JsonValue, Task

SERVED = Path(__file__).with_name("served.py")


class Here:
    """No confinement: programs run as the tests do."""

    def __init__(self) -> None:
        self.environment = dict(os.environ)

    def command(self, *program: str) -> list[str]:
        return list(program)


class OpenSandbox(FakeSandbox):
    """A fake computer whose inside is this machine."""

    async def start_program(self, program: Sequence[str], environment: Mapping[str, str]) -> ConfinedProgram:
        return await ConfinedProgram.start(Here(), program, environment)  # type: ignore[arg-type]


@pytest.fixture
def served() -> dict[str, JsonValue]:
    """Settings of a server by the SDK, over standard input and output."""
    return {"command": sys.executable, "args": [str(SERVED)]}


@pytest.fixture
def with_servers() -> Callable[..., Task]:
    """A task of the fake computer with these servers, and with more settings."""
    bare = make_task("fake/press-button", 1)

    def make(servers: dict[str, JsonValue], /, **settings: JsonValue) -> Task:
        every = {**bare.environment.settings, "mcp_servers": servers, **settings}
        return replace(bare, environment=replace(bare.environment, settings=every))

    return make


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox() -> AsyncIterator[ToolSandbox]:
    async with ToolSandbox(OpenSandbox({})) as sandbox:
        yield sandbox  # type: ignore[misc]
