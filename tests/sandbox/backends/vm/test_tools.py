"""Servers of tools inside a VM of the golden image, and one beside it that is reached by its address."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from typing import Any

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
Shelf = dict[str, JsonValue]
LEFT = "pgrep -fc '[s]helf/plain.py'; true"
MakeTask = Callable[..., Task]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    backend = with_tools(create())
    async with await backend.create() as sandbox:
        yield sandbox
    await backend.close()


def call(name: str, **arguments: JsonValue) -> CallTool:
    return CallTool(name=name, arguments=arguments)


async def looks(sandbox: Sandbox, **arguments: JsonValue) -> str:
    return (await sandbox.act(call("shelf.look", **arguments))).output or ""


async def test_inside_and_beside(
    sandbox: Sandbox, guest_task: MakeTask, shelf: Shelf, over_http: Any
) -> None:
    assert isinstance(without_tools(sandbox), RunsPrograms)
    start = await sandbox.reset(guest_task(mcp_servers={"shelf": shelf, "sdk": {"url": over_http.url}}))
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
        await sandbox.reset(guest_task(mcp_servers={"shelf": {**shelf, "files": {}}}))
    await sandbox.reset(guest_task())
    assert await sandbox.evaluate(LEFT) == 0


async def test_each_copy_has_its_own(sandbox: Sandbox, guest_task: MakeTask, shelf: Shelf) -> None:
    await sandbox.reset(guest_task(mcp_servers={"shelf": shelf}))
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
