from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import HostUnreachable, LeaseExpired, SandboxDied
from deskhand_sandbox.host import HostProcess, HostSettings, SandboxClient, start_host
from deskhand_sandbox.host.settings import from_json, to_json
from deskhand_sandbox.manager import LeaseTerms, PoolSettings, processes
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.types import EnvironmentSpec, Run, Task, TypeText, VerifierSpec

TINY_HOST = (sys.executable, str(Path(__file__).with_name("tiny_host.py")))
TASK = Task(id="tiny/type", environment=EnvironmentSpec(kind="tiny"), verifier=VerifierSpec(name="none"))

PARENT = """
import asyncio, sys
from pathlib import Path
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings
async def main():
    pools = {"tiny": PoolSettings(settings={"process": True})}
    settings = HostSettings(kinds=pools, state_folder=Path(sys.argv[2]))
    async with start_host(settings, command=(sys.executable, sys.argv[1])) as host:
        async with SandboxClient(host.url, host.token) as client:
            async with client.lease("tiny", owner="me") as sandbox:
                await sandbox.observe()
                print(host.pid, flush=True)
                await asyncio.Event().wait()
asyncio.run(main())
"""


def settings_in(folder: Path) -> HostSettings:
    return HostSettings(
        kinds={"tiny": PoolSettings(max_sandboxes=2, settings={"process": True})}, state_folder=folder
    )


def everything_of(pid: int) -> list[Process]:
    """A host and what it started."""
    host = processes.find(pid)
    assert host is not None
    return [host, *processes.descendants(pid).values()]


async def gone(family: list[Process]) -> None:
    async with asyncio.timeout(120):
        while any(processes.is_running(each) for each in family):
            await asyncio.sleep(0.01)


async def work(host: HostProcess) -> list[Process]:
    """Use a sandbox, and return the processes there are then: host and browser."""
    async with SandboxClient(host.url, host.token) as client, client.lease("tiny", owner="me") as sandbox:
        await sandbox.reset(TASK)
        assert (await sandbox.act(TypeText(text="hi"))).output == "hi"
    family = everything_of(host.pid)
    assert len(family) == 2
    return family


async def test_a_host_serves_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with start_host(settings_in(tmp_path), command=TINY_HOST) as host:
        assert host.returncode is None
        family = await work(host)
        command = processes.find(host.pid)
        assert command is not None and host.token not in command.command
        environment = Path(f"/proc/{host.pid}/environ").read_bytes()
        assert host.token.encode() not in environment
    assert host.returncode == 0
    assert not any(processes.is_running(each) for each in family)
    assert [path.name for path in tmp_path.iterdir()] == ["host.log"]
    assert host.token not in (tmp_path / "host.log").read_text()
    await host.close()


async def test_await_starts_it_too(tmp_path: Path) -> None:
    host = await start_host(settings_in(tmp_path), command=TINY_HOST)
    try:
        await work(host)
        with pytest.raises(RuntimeError, match="started before"):
            await host.start()
    finally:
        await host.close()


async def test_a_killed_host_is_noticed_at_once_and_cleaned_up_after(tmp_path: Path) -> None:
    async with start_host(settings_in(tmp_path), command=TINY_HOST) as host:
        async with SandboxClient(host.url, host.token) as client:
            async with client.lease("tiny", owner="me") as sandbox:
                await sandbox.reset(TASK)
                family = everything_of(host.pid)
                hanging = asyncio.create_task(sandbox.act(Run(command="hang")))
                await asyncio.sleep(0)
                os.kill(host.pid, signal.SIGKILL)
                with pytest.raises(SandboxDied, match=f"{host.url} is gone"):
                    await hanging
                with pytest.raises(SandboxDied):
                    await sandbox.observe()
            with pytest.raises(HostUnreachable, match=host.url):
                async with client.lease("tiny", owner="me"):
                    pass
        assert processes.is_running(family[1])  # the browser is an orphan now
    assert not any(processes.is_running(each) for each in family)


async def test_the_next_host_ends_what_a_killed_one_left(tmp_path: Path) -> None:
    first = await start_host(settings_in(tmp_path), command=TINY_HOST)
    family = await work(first)
    os.kill(first.pid, signal.SIGKILL)
    await gone(family[:1])
    async with start_host(settings_in(tmp_path), command=TINY_HOST) as second:
        assert not any(processes.is_running(each) for each in family)
        async with SandboxClient(second.url, second.token) as client:
            assert (await client.status()).orphans_ended == 1
        await work(second)
    await first.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
async def test_a_host_dies_with_its_parent(tmp_path: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, TINY_HOST[1], str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        family = everything_of(int(await asyncio.to_thread(parent.stdout.readline)))
        assert len(family) == 2
        parent.send_signal(number)
        await asyncio.to_thread(parent.wait)
    await gone(family)
    assert [path.name for path in tmp_path.iterdir()] == ["host.log"]


async def test_a_host_outlives_the_thread_that_started_it(tmp_path: Path) -> None:
    """The kernel reports a parent's thread as its death: the host looks before it believes."""
    hosts: list[HostProcess] = []

    def start() -> None:
        host = start_host(settings_in(tmp_path), command=TINY_HOST)
        asyncio.run(host.start())
        hosts.append(host)

    thread = threading.Thread(target=start)
    thread.start()
    await asyncio.to_thread(thread.join)
    try:
        await work(hosts[0])
        assert hosts[0].returncode is None
    finally:
        await hosts[0].close()


async def test_draining_lets_leases_finish_until_a_second_sigterm(tmp_path: Path) -> None:
    settings = replace(settings_in(tmp_path), drain_s=600.0)
    async with (
        start_host(settings, command=TINY_HOST) as host,
        SandboxClient(host.url, host.token) as client,
        client.lease("tiny", owner="me") as sandbox,
    ):
        await sandbox.reset(TASK)
        family = everything_of(host.pid)
        os.kill(host.pid, signal.SIGTERM)
        async with asyncio.timeout(120):
            while not (await client.status()).draining:
                await asyncio.sleep(0.01)
        assert (await sandbox.act(TypeText(text="on"))).output == "on"
        os.kill(host.pid, signal.SIGTERM)
        await gone(family)
        with pytest.raises((SandboxDied, LeaseExpired)):
            await sandbox.observe()
    assert host.returncode == 0


async def test_a_host_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(HostUnreachable, match=r"(?s)ended with code.*No module named"):
        await start_host(settings_in(tmp_path), command=(sys.executable, "-m", "no_such_module")).start()
    monkeypatch.setenv("TINY_HOST_FAILS", "1")
    with pytest.raises(HostUnreachable, match="it was told to fail"):
        async with start_host(settings_in(tmp_path), command=TINY_HOST):
            pass
    monkeypatch.delenv("TINY_HOST_FAILS")
    long = tmp_path / ("x" * 100) / "host.sock"
    with pytest.raises(HostUnreachable, match="the sandbox host cannot run: AF_UNIX path too long"):
        await start_host(replace(settings_in(tmp_path), socket_path=long), command=TINY_HOST).start()


def test_nothing_is_known_of_a_host_that_was_not_started(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="has not been started"):
        _ = start_host(settings_in(tmp_path)).url


async def test_by_hand_it_prints_where_it_is_and_stops_at_ctrl_c(tmp_path: Path) -> None:
    command = [*TINY_HOST, "--kind", "tiny=3", "--state", str(tmp_path), "--socket", str(tmp_path / "s")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = json.loads(await asyncio.to_thread(child.stdout.readline))
        assert said["url"] == f"unix:{tmp_path / 's'}"
        async with SandboxClient(said["url"], said["token"]) as client:
            assert (await client.status()).pools[0].max_sandboxes == 3
        child.send_signal(signal.SIGINT)
        await asyncio.to_thread(child.wait)
    assert child.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [[], ["--kind", "tiny"], ["--kind", "tiny=many", "--state", "x"]])
def test_a_wrong_command_line_gives_no_traceback(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run([*TINY_HOST, *arguments], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode != 0
    assert done.stderr and "Traceback" not in done.stderr


def test_settings_travel_on_one_line(tmp_path: Path) -> None:
    settings = HostSettings(
        kinds={"tiny": PoolSettings(max_sandboxes=3, settings={"a": [1, "é"]}), "other": PoolSettings()},
        state_folder=tmp_path,
        terms=LeaseTerms(heartbeat_s=3.0),
        deadlines=Deadlines(call_s=7.0),
        socket_path=tmp_path / "sock",
        drain_s=1.5,
    )
    line = to_json(settings)
    assert "\n" not in line
    assert from_json(line) == settings


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"kinds": {"a": {"colour": 1}}}', "null"])
def test_what_are_no_settings_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"no settings of a sandbox host|Expecting value"):
        from_json(line)
