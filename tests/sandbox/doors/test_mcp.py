"""A sandbox through the MCP client of fastmcp: in this process, over standard input and output, over HTTP."""

from __future__ import annotations

import asyncio
import base64
import io
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp.exceptions import ToolError
from PIL import Image

from deskhand_sandbox.backends.fake import create
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.doors.mcp import mcp_server
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.registry import create_backend
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tools.sandbox import with_tools
from deskhand_sandbox.types import EnvironmentSpec, JsonValue

START = make_task("fake/press-button", 1)
PLAIN = Path(__file__).parents[1] / "tools" / "plain.py"
COMMAND = ["-m", "deskhand_platform.cli.app", "sandbox", "mcp", "fake", "--task", "fake/press-button"]


@pytest.fixture
async def sandbox() -> AsyncIterator[Sandbox]:
    async with await create().create() as sandbox:
        await sandbox.reset(START)
        yield sandbox


async def test_an_action_is_a_tool_that_answers_with_the_screen(sandbox: Sandbox) -> None:
    async with Client(mcp_server(sandbox)) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        assert {"click", "type_text", "drag", "answer_dialog", "screenshot", "open_task"} <= set(tools)
        assert "run" not in tools
        assert tools["click"].input_schema["required"] == ["x", "y"]
        before = await client.call_tool("screenshot", {})
        after = await client.call_tool("click", {"x": 20, "y": 60})
        pictures = [base64.b64decode(each.content[0].data) for each in (before, after)]
        assert pictures[0] != pictures[1]
        assert Image.open(io.BytesIO(pictures[1])).size == (160, 200)
        begun = await client.call_tool("open_task", {"task": START.id, "seed": 1})
        assert base64.b64decode(begun.content[0].data) == pictures[0]
        assert begun.content[1].text.startswith("Press ")


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("click", {"x": 5, "y": 5000}, "off the screen"),
        ("drag", {"path": [[1, 1]]}, "two points"),
        ("open_task", {"task": "fake/pres-button"}, "did you mean fake/press-button"),
        ("navigate", {"url": "https://example.org"}, "UnsupportedCapability"),
        ("call_tool", {"name": "shelf.look"}, "UnsupportedCapability"),
        ("click", {"x": "left"}, "x"),
    ],
)
async def test_what_cannot_be_done_is_told(
    sandbox: Sandbox, tool: str, arguments: dict[str, object], said: str
) -> None:
    async with Client(mcp_server(sandbox)) as client:
        with pytest.raises(ToolError, match=said):
            await client.call_tool(tool, arguments)
        assert (await client.call_tool("screenshot", {})).content


async def test_the_next_task_begins_in_another_sandbox_where_one_has_died() -> None:
    crashing = {**START.environment.settings, "crash_at": 0}
    async with SandboxManager({"fake": PoolSettings(max_sandboxes=1)}) as manager, AsyncExitStack() as lent:

        async def another() -> Sandbox:
            await lent.aclose()
            return await lent.enter_async_context(manager.lease("fake", owner="me"))

        sandbox = await another()
        await sandbox.reset(replace(START, environment=EnvironmentSpec(kind="fake", settings=crashing)))
        async with Client(mcp_server(sandbox, another=another)) as client:
            for _ in range(2):
                with pytest.raises(ToolError, match=r"SandboxDied: .*; open_task begins on another computer"):
                    await client.call_tool("click", {"x": 20, "y": 60})
            assert (await client.call_tool("open_task", {"task": START.id, "seed": 1})).content
            assert (await client.call_tool("click", {"x": 20, "y": 60})).content
            with pytest.raises(ToolError, match="off the screen") as refused:
                await client.call_tool("click", {"x": 20, "y": 6000})
            assert "another computer" not in str(refused.value)
        assert manager.status().pools[0].lost == {"died": 1}


@pytest.mark.browser
@pytest.mark.skipif(not Confinement.available(), reason="bubblewrap cannot make namespaces here")
async def test_the_tools_of_a_task_are_called() -> None:
    backend = with_tools(create_backend("browser"))
    shelf: JsonValue = {"command": "python3", "args": ["plain.py"], "files": {"plain.py": PLAIN.read_text()}}
    spec = EnvironmentSpec(kind="browser", settings={"mcp_servers": {"shelf": shelf}})
    try:
        async with await backend.create() as sandbox, Client(mcp_server(sandbox)) as client:
            await sandbox.reset(replace(START, environment=spec))
            seen = await client.call_tool("call_tool", {"name": "shelf.look"})
            assert seen.content[0].mime_type.startswith("image/")
            assert "plain.py" in seen.content[1].text
            for name, end, said in (
                ("shelf.lok", True, "did you mean shelf.look"),
                ("shelf.look", [{"a": [1, None]}], r"end: \[\{'a': \[1, None\]\}\] is not of type 'boolean'"),
                ("shelf.look", True, "the tool server shelf has ended"),
            ):
                with pytest.raises(ToolError, match=said):
                    await client.call_tool("call_tool", {"name": name, "arguments": {"end": end}})
    finally:
        await backend.close()


async def test_over_http_a_token_is_needed(free_port: int) -> None:
    serving = await asyncio.create_subprocess_exec(
        sys.executable, *COMMAND, "--port", str(free_port), stderr=asyncio.subprocess.PIPE
    )
    assert serving.stderr is not None
    url = f"http://127.0.0.1:{free_port}/mcp"
    try:
        async with httpx.AsyncClient() as http, asyncio.timeout(120):
            said = (await serving.stderr.readline()).decode()
            assert url in said
            reading = asyncio.create_task(serving.stderr.read())
            refused = await http.post(url, json={}, headers={"Authorization": "Bearer wrong"})
        assert refused.status_code == 401
        headers = {"Authorization": f"Bearer {said.rpartition(' ')[2].strip()}"}
        async with Client(StreamableHttpTransport(url, headers=headers)) as client:
            assert (await client.call_tool("click", {"x": 20, "y": 60})).content
    finally:
        serving.send_signal(signal.SIGINT)
        await serving.wait()
    assert b"Traceback" not in await reading


async def test_the_command_serves_standard_input_and_output() -> None:
    async with Client(StdioTransport(sys.executable, COMMAND)) as client:
        assert (await client.call_tool("click", {"x": 20, "y": 60})).content[0].mime_type == "image/png"
