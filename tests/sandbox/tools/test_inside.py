"""Servers that run inside a real sandbox, confined as everything else in it."""

import asyncio
from pathlib import Path

import pytest

from deskhand_sandbox.backends.browser import create as create_browser
from deskhand_sandbox.backends.desktop import create as create_desktop
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import InvalidAction
from deskhand_sandbox.isolation import Confinement
from deskhand_sandbox.tools.sandbox import with_tools, without_tools
from deskhand_sandbox.types import CallTool, EnvironmentSpec, JsonValue, Run, Task, VerifierSpec

pytestmark = pytest.mark.skipif(not Confinement.available(), reason="bubblewrap cannot make namespaces here")

PLAIN = Path(__file__).with_name("plain.py")
SERVED = Path(__file__).with_name("served.py")


def task(kind: str, **settings: JsonValue) -> Task:
    return Task(
        id=f"{kind}/tools",
        environment=EnvironmentSpec(kind=kind, settings=settings),
        verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
        instruction="Work.",
    )


def call(name: str, **arguments: JsonValue) -> CallTool:
    return CallTool(name=name, arguments=arguments)


@pytest.mark.browser
async def test_in_a_browsers_folder(shelf: dict[str, JsonValue]) -> None:
    backend = with_tools(create_browser())
    try:
        async with await backend.create() as sandbox:
            start = await sandbox.reset(task("browser", mcp_servers={"shelf": shelf}))
            assert "- shelf.look: What is in the home." in start.instruction
            await _works(sandbox)
    finally:
        await backend.close()


async def test_in_a_desktop(shelf: dict[str, JsonValue]) -> None:
    # the desktop shows its own Python there, with what is installed in it
    own: dict[str, JsonValue] = {
        "command": "/opt/deskhand/bin/python",
        "args": ["served.py"],
        "files": {"served.py": SERVED.read_text()},
        "timeout_s": 40,
    }
    backend = with_tools(create_desktop())
    try:
        async with await backend.create() as sandbox:
            desk = task("desktop", size_px=[320, 240], mcp_servers={"shelf": shelf, "sdk": own})
            start = await sandbox.reset(desk)
            assert "- sdk.keep: Keep a note." in start.instruction
            await _works(sandbox)
            kept = await sandbox.act(call("sdk.keep", title="a"))
            assert kept.output == "1 kept: a None 1"
            with pytest.raises(InvalidAction, match="sdk has ended: out of paper"):
                await sandbox.act(call("sdk.die", apart=True))
            assert (await sandbox.act(call("sdk.keep", title="b"))).output == "1 kept: b None 1"
            ended = await sandbox.act(Run(command="pkill -f '[s]erved.py'; echo done"))
            assert ended.output == "done"
            with pytest.raises(InvalidAction, match="sdk has ended"):
                await sandbox.act(call("sdk.keep", title="c"))
            folder = without_tools(sandbox).session.folder  # type: ignore[attr-defined]
        assert not _uses(folder)
    finally:
        await backend.close()


async def _works(sandbox: Sandbox) -> None:
    seen = await sandbox.act(call("shelf.look"))
    assert (seen.output or "").startswith("hello ") and "shelf" in (seen.output or "")
    assert (seen.terminal or "") == ""
    await sandbox.act(Run(command="touch here"))
    assert " here " in ((await sandbox.act(call("shelf.look"))).output or "")
    large = await asyncio.gather(sandbox.act(call("shelf.look", more="x" * 300_000)))
    assert int((large[0].output or "").rpartition(" ")[2]) > 300_000
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await sandbox.act(call("shelf.look", end=True))
    assert ((await sandbox.act(call("shelf.look"))).output or "").startswith("hello ")


def _uses(folder: Path) -> bool:
    """Some process still has it as its home."""
    for place in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if str(folder) in place.read_text():
                return True
        except OSError:
            continue
    return False
