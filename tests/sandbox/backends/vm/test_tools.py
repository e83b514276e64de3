"""Servers of tools inside a VM of the golden image, and one beside it that is reached by its address."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.vm import create
from deskhand_sandbox.backends.vm.image import find
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction, InvalidTask
from deskhand_sandbox.tools.program import RunsPrograms
from deskhand_sandbox.tools.sandbox import with_tools, without_tools
from deskhand_sandbox.types import CallTool, JsonValue, Run, Task

pytestmark = [
    pytest.mark.slow,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("qemu-system-x86_64") is None or find() is None, reason="the golden image is not built"
    ),
]
TOOLS = Path(__file__).parents[2] / "tools"
SHELF: dict[str, JsonValue] = {
    "command": "python3",
    "args": ["shelf/plain.py"],
    "env": {"GREETING": "hello"},
    "files": {"shelf/plain.py": (TOOLS / "plain.py").read_text()},
}
LEFT = "pgrep -fc '[s]helf/plain.py'; true"
MakeTask = Callable[..., Task]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    backend = with_tools(create())
    async with await backend.create() as sandbox:
        yield sandbox
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module")
async def address(tmp_path: Path) -> AsyncIterator[str]:
    """Of a server by the official SDK, on this machine."""
    place, none = tmp_path / "port", asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(TOOLS / "served.py"), str(place), stdin=none, stdout=none, stderr=none
    )
    try:
        async with asyncio.timeout(180):
            while not place.exists():
                assert process.returncode is None, "the server ended before it listened"
                await asyncio.sleep(0.02)
        yield f"http://127.0.0.1:{place.read_text()}/mcp"
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def call(name: str, **arguments: JsonValue) -> CallTool:
    return CallTool(name=name, arguments=arguments)


async def looks(sandbox: Sandbox, **arguments: JsonValue) -> str:
    return (await sandbox.act(call("shelf.look", **arguments))).output or ""


async def test_inside_and_beside(sandbox: Sandbox, guest_task: MakeTask, address: str) -> None:
    assert isinstance(without_tools(sandbox), RunsPrograms)
    start = await sandbox.reset(guest_task(mcp_servers={"shelf": SHELF, "sdk": {"url": address}}))
    assert "- shelf.look: What is in the home." in start.instruction
    assert "- sdk.keep: Keep a note." in start.instruction
    assert (await looks(sandbox)).startswith("hello Documents shelf ")
    await sandbox.act(Run(command="touch here"))
    assert " here " in await looks(sandbox)
    assert int((await looks(sandbox, more="x" * 300_000)).rpartition(" ")[2]) > 300_000
    assert (await sandbox.act(call("sdk.keep", title="a"))).output == "1 kept: a None 1"
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await looks(sandbox, end=True)
    assert (await looks(sandbox)).startswith("hello ")
    with pytest.raises(InvalidTask, match=r"shelf did not start: .*plain\.py.*No such file"):
        await sandbox.reset(guest_task(mcp_servers={"shelf": {**SHELF, "files": {}}}))
    await sandbox.reset(guest_task())
    assert await sandbox.evaluate(LEFT) == 0


async def test_each_copy_has_its_own(sandbox: Sandbox, guest_task: MakeTask) -> None:
    await sandbox.reset(guest_task(mcp_servers={"shelf": SHELF}))
    kept = await sandbox.snapshot()
    await sandbox.act(Run(command="touch later"))
    (copy,) = await sandbox.fork(1)
    async with copy:
        assert " later " in await looks(copy)
        await copy.act(Run(command="touch there"))
        assert " there " in await looks(copy)
        assert await copy.evaluate(LEFT) == 1
    assert " there " not in await looks(sandbox)
    await sandbox.restore(kept)
    assert " later " not in await looks(sandbox)
    assert await sandbox.evaluate(LEFT) == 1
