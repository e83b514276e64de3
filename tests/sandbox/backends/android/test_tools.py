"""Servers of tools on a device, and one beside it that is reached by its address."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.android import AndroidBackend, AndroidSandbox
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InfrastructureError, InvalidAction, InvalidTask
from deskhand_sandbox.tools.program import RunsPrograms
from deskhand_sandbox.tools.sandbox import with_tools, without_tools
from deskhand_sandbox.types import CallTool, JsonValue, Run, Task

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
Shelf = dict[str, JsonValue]
Phone = Callable[..., Task]
OURS = f"of-{os.getpid()}"
"""By which this module's servers are told from those of tests beside it."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox(backend: AndroidBackend) -> AsyncIterator[Sandbox]:
    async with await with_tools(backend).create() as sandbox:
        yield sandbox


@pytest.fixture
def shelf(shelf: Shelf) -> Shelf:
    return {**shelf, "args": ["shelf/plain.py", OURS]}


def call(name: str, **arguments: JsonValue) -> CallTool:
    return CallTool(name=name, arguments=arguments)


async def looks(sandbox: Sandbox, **arguments: JsonValue) -> str:
    return (await sandbox.act(call("shelf.look", **arguments))).output or ""


def servers() -> int:
    """How many of them run on devices."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += place.read_bytes() == f"python3\0shelf/plain.py\0{OURS}\0".encode()
    return found


async def left(count: int) -> None:
    async with asyncio.timeout(120):
        while servers() != count:
            await asyncio.sleep(0.02)


async def test_by_its_address(sandbox: Sandbox, phone: Phone, over_http: Any) -> None:
    address = over_http.url
    start = await sandbox.reset(phone(mcp_servers={"sdk": {"url": address, "timeout_s": 40}}))
    assert "- sdk.keep: Keep a note." in start.instruction
    kept = await sandbox.act(call("sdk.keep", title="a"))
    assert kept.output == "1 kept: a None 1"
    assert kept.screenshot.digest == start.observation.screenshot.digest
    state = await sandbox.snapshot()
    (copy,) = await sandbox.fork(1)
    async with copy:
        assert (await copy.act(call("sdk.keep", title="b"))).output == "2 kept: b None 1"
    await sandbox.restore(state)
    assert (await sandbox.act(call("sdk.keep", title="c"))).output == "3 kept: c None 1"
    await over_http.kill()
    with pytest.raises(InfrastructureError, match="does not answer"):
        await sandbox.act(call("sdk.keep", title="d"))
    with pytest.raises(InfrastructureError, match=address):
        await sandbox.reset(phone(mcp_servers={"sdk": {"url": address}}))
    with pytest.raises(InvalidTask, match=r"does not allow example\.org:80"):
        await sandbox.reset(phone(mcp_servers={"sdk": {"url": "http://example.org/mcp"}}))


async def test_on_the_device(sandbox: Sandbox, phone: Phone, shelf: Shelf) -> None:
    assert isinstance(without_tools(sandbox), RunsPrograms)
    start = await sandbox.reset(phone(mcp_servers={"shelf": shelf}))
    assert "- shelf.look: What is in the home." in start.instruction
    assert (await looks(sandbox)).startswith("hello ")
    await sandbox.act(Run(command="touch here"))
    assert " here " in await looks(sandbox)
    assert int((await looks(sandbox, more="x" * 300_000)).rpartition(" ")[2]) > 300_000
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await looks(sandbox, end=True)
    assert (await looks(sandbox)).startswith("hello ")
    with pytest.raises(InvalidTask, match=r"shelf did not start: .*plain\.py.*No such file"):
        await sandbox.reset(phone(mcp_servers={"shelf": {**shelf, "files": {}}}))
    with pytest.raises(InvalidTask, match=r"shelf did not start: .*no-such-program"):
        await sandbox.reset(phone(mcp_servers={"shelf": {"command": "no-such-program"}}))
    await sandbox.reset(phone())
    await left(0)


async def test_each_copy_has_its_own(sandbox: Sandbox, phone: Phone, shelf: Shelf) -> None:
    await sandbox.reset(phone(mcp_servers={"shelf": shelf}))
    kept = await sandbox.snapshot()
    await sandbox.act(Run(command="touch later"))
    (copy,) = await sandbox.fork(1)
    async with copy:
        assert " later " in await looks(copy)
        await copy.act(Run(command="touch there"))
        assert " there " in await looks(copy)
        await left(2)
    await left(1)
    assert " there " not in await looks(sandbox)
    await sandbox.restore(kept)
    assert " later " not in await looks(sandbox)
    await left(1)


async def test_what_is_talked_to_ends_with_the_task(sandbox: Sandbox, phone: Phone) -> None:
    device = without_tools(sandbox)
    assert isinstance(device, AndroidSandbox)
    await sandbox.reset(phone())
    program = await device.start_program(("sh", "-c", "echo first; echo complaint >&2; trap '' HUP; cat"), {})
    assert await program.read_line() == b"first\n"
    await program.write(b"one\ntw")
    assert await program.read_line() == b"one\n"
    await program.write(b"o\n" + b"x" * 100_000 + b"\n")
    assert await program.read_line() == b"two\n"
    assert len(await program.read_line()) == 100_001
    await sandbox.reset(phone())
    assert await program.read_line() == b""
    assert await program.last_words() == "complaint"
    await program.close()
