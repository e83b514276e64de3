"""Tools of real MCP servers as an agent meets them: over standard input and output, and over HTTP."""

import asyncio
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from deskhand_sandbox.backends.fake import create
from deskhand_sandbox.conformance import check_backend
from deskhand_sandbox.errors import InfrastructureError, InvalidAction, InvalidTask, UnsupportedCapability
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tools.sandbox import ToolSandbox, with_tools
from deskhand_sandbox.types import CallTool, Fetch, JsonValue, Task

pytestmark = [pytest.mark.asyncio(loop_scope="module")]

Make = Callable[..., Task]
Server = dict[str, JsonValue]


def call(name: str, **arguments: JsonValue) -> CallTool:
    return CallTool(name=name, arguments=arguments)


def running(word: str) -> list[int]:
    """Processes that have this word on their command line."""
    found: list[int] = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if word in words:
            found.append(int(place.parent.name))
    return found


async def gone(pid: int) -> None:
    async with asyncio.timeout(120):
        while Path(f"/proc/{pid}").exists() and "\tZ" not in Path(f"/proc/{pid}/status").read_text():
            await asyncio.sleep(0.02)


async def pid_of(sandbox: ToolSandbox, name: str) -> int:
    told = (await sandbox.act(call(f"{name}.pid"))).output
    return int(json.loads(told or "")["pid"])


async def test_a_sandbox_with_tools_is_still_one() -> None:
    assert "closing" in await check_backend(with_tools(create()), make_task("fake/press-button", 1))


async def test_a_file_that_cannot_be_written_is_the_task_s_fault(
    sandbox: ToolSandbox, with_servers: Make, served: Server
) -> None:
    with pytest.raises(InvalidTask, match=r"mcp_servers: 'shelf': .*WriteFile"):
        await sandbox.reset(with_servers({"shelf": {**served, "files": {"a.py": "pass"}}}))


async def test_tools_are_offered_and_called(sandbox: ToolSandbox, with_servers: Make, served: Server) -> None:
    start = await sandbox.reset(with_servers({"shelf": {**served, "timeout_s": 40}}))
    first, _, offered = start.instruction.partition("\n\n")
    assert first == "Press Copy."
    assert "- shelf.keep: Keep a note. It stays until the server ends. Arguments: {" in offered
    assert '"title": {"type": "string"}' in offered and '"required": ["title"]' in offered
    kept = await sandbox.act(call("shelf.keep", title="a", tags=["x"]))
    assert kept.output == "1 kept: a ['x'] 1"
    assert kept.screenshot == start.observation.screenshot
    assert (await sandbox.act(call("shelf.keep", title="b"))).output == "2 kept: b None 1"
    assert (await sandbox.act(call("shelf.picture"))).output == "[image: image/gif, 15 bytes]"
    failed = (await sandbox.act(call("shelf.fail", why="no"))).output or ""
    assert failed.endswith("\n[the tool failed]")
    long = (await sandbox.act(call("shelf.long", characters=70_000))).output or ""
    assert long.endswith("é\n[cut after 65536 characters]")
    for action, said in (
        (call("keep", title="a"), "did you mean shelf.keep"),
        (call("shelf.keep", title=3), "title: 3 is not of type 'string'"),
        (call("shelf.keep"), "'title' is a required property"),
    ):
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(action)
    server = await pid_of(sandbox, "shelf")
    await sandbox.reset(make_task("fake/press-button", 1))
    await gone(server)
    with pytest.raises(UnsupportedCapability, match="no tools"):
        await sandbox.act(call("shelf.keep", title="a"))


async def test_a_server_that_ends_is_told_of_and_started_again(
    sandbox: ToolSandbox, with_servers: Make, served: Server
) -> None:
    await sandbox.reset(with_servers({"shelf": {**served, "timeout_s": 40}}))
    child_s = 60_000 + os.getpid()  # by which this test's children are told from those of tests beside it
    with pytest.raises(InvalidAction, match="shelf has ended: out of paper; the next call starts it again"):
        await sandbox.act(call("shelf.die", child_s=child_s))
    assert (await sandbox.act(call("shelf.keep", title="a"))).output == "1 kept: a None 1"
    server = await pid_of(sandbox, "shelf")
    waiting = asyncio.create_task(sandbox.act(call("shelf.slow", seconds=600)))
    await asyncio.sleep(0)
    os.kill(server, signal.SIGKILL)
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await waiting
    with pytest.raises(InvalidAction, match="shelf has ended"):
        await sandbox.act(call("shelf.die", apart=True, child_s=child_s))
    await sandbox.close()
    # of what it left running, only what made itself independent of it is the sandbox's to end
    left = running(str(child_s))
    assert len(left) <= 1
    for pid in left:
        os.kill(pid, signal.SIGKILL)


async def test_a_call_has_a_deadline_and_can_be_cut_off(
    sandbox: ToolSandbox, with_servers: Make, served: Server
) -> None:
    await sandbox.reset(with_servers({"shelf": {**served, "timeout_s": 0.5}}))
    with pytest.raises(InvalidAction, match=r"shelf.slow did not answer within 0.5 s"):
        await sandbox.act(call("shelf.slow", seconds=600))
    waiting = asyncio.create_task(sandbox.act(call("shelf.slow", seconds=600)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert sandbox.alive()


async def test_servers_over_http(sandbox: ToolSandbox, with_servers: Make, over_http, tmp_path: Path) -> None:
    start = await sandbox.reset(with_servers({"far": {"url": over_http.url, "timeout_s": 40}}))
    assert "- far.keep: Keep a note." in start.instruction
    assert (await sandbox.act(call("far.keep", title="a"))).output == "1 kept: a None 1"
    snapshot = await sandbox.snapshot()
    await sandbox.restore(snapshot)
    (copy,) = await sandbox.fork(1)
    async with copy:
        assert (await copy.act(call("far.keep", title="b"))).output == "2 kept: b None 1"
    with pytest.raises(InvalidAction, match="unknown tool"):
        await sandbox.act(call("far.kep", title="a"))
    waiting = asyncio.create_task(sandbox.act(call("far.slow", seconds=600)))
    async with asyncio.timeout(120):
        while not (tmp_path / "slow").exists():
            await asyncio.sleep(0.02)
    await over_http.kill()
    with pytest.raises(InfrastructureError, match="does not answer any more"):
        await waiting
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="does not answer"):
            await sandbox.act(call("far.keep", title="a"))
    with pytest.raises(InfrastructureError, match=over_http.url):
        await sandbox.reset(with_servers({"far": {"url": over_http.url}}))
    await sandbox.reset(make_task("fake/press-button", 1))


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "no-such-program"}, "shelf did not start: .*no-such-program"),
        (
            {"command": "sh", "args": ["-c", "echo first >&2; echo bad luck >&2; exit 3"]},
            "did not start: bad luck",
        ),
        ({"command": "sh", "args": ["-c", "echo hello"]}, "did not start"),
    ],
)
async def test_a_server_that_does_not_start(
    sandbox: ToolSandbox, with_servers: Make, server: Server, said: str
) -> None:
    with pytest.raises(InvalidTask, match=said):
        await sandbox.reset(with_servers({"shelf": server}))
    assert sandbox.tools == ()
    assert (await sandbox.reset(make_task("fake/press-button", 1))).instruction == "Press Copy."


async def test_one_server_that_does_not_start_takes_the_others_with_it(
    sandbox: ToolSandbox, with_servers: Make
) -> None:
    sleeping: Server = {"command": "sleep", "args": ["541"]}
    with pytest.raises(InvalidTask, match="bad did not start"):
        await sandbox.reset(with_servers({"bad": {"command": "false"}, "good": sleeping}))
    assert running("541") == []


async def test_programs_need_a_sandbox_that_starts_them(with_servers: Make, served: Server) -> None:
    async with await with_tools(create()).create() as sandbox:
        with pytest.raises(InvalidTask, match="give the url"):
            await sandbox.reset(with_servers({"shelf": served}))


async def test_addresses_are_fetched_as_far_as_the_task_says(
    sandbox: ToolSandbox, with_servers: Make, over_http
) -> None:
    host = over_http.url.removeprefix("http://").partition("/")[0]
    await sandbox.reset(with_servers({}, network=[host]))
    assert ((await sandbox.act(Fetch(url=f"http://{host}/nowhere"))).output or "").startswith("404 ")
    for network, said in (
        ("deny", "does not allow"),
        ("allow", "lists it by name"),
        (None, "does not allow"),
    ):
        await sandbox.reset(with_servers({}, **({"network": network} if network else {})))
        with pytest.raises(InvalidAction, match=said):
            await sandbox.act(Fetch(url=f"http://{host}/nowhere"))


async def test_a_server_near_by_is_asked_only_where_it_is_listed(
    sandbox: ToolSandbox, with_servers: Make, over_http, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = over_http.url.rpartition(":")[2].partition("/")[0]
    real = socket.getaddrinfo

    def found(host: str, *rest: object, **more: object) -> object:
        address = {"tools.example": "127.0.0.1", "secrets.example": "169.254.169.254"}.get(host, host)
        return real(address, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    refused = (
        ("10.1.2.3", "allow", "may not be asked"),
        ("tools.example", "allow", "may not be asked"),
        ("169.254.169.254", ["169.254.169.254"], "nothing there is reached"),
        ("secrets.example", ["secrets.example"], "nothing there is reached"),
    )
    for host, network, said in refused:
        with pytest.raises(InvalidTask, match=said):
            await sandbox.reset(with_servers({"a": {"url": f"http://{host}:{port}/mcp"}}, network=network))
    # the name's own host: the server answers to that of its address alone
    listed = with_servers(
        {"a": {"url": f"http://tools.example:{port}/mcp", "headers": {"Host": f"127.0.0.1:{port}"}}},
        network=["tools.example"],
    )
    assert "- a.keep" in (await sandbox.reset(listed)).instruction
    await sandbox.reset(make_task("fake/press-button", 1))
