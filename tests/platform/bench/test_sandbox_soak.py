from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from deskhand_platform.bench.sandbox import leftovers
from deskhand_platform.bench.sandbox.leftovers import Leftovers, listening_sockets, sockets_of
from deskhand_platform.bench.sandbox.soak import VICTIMS, Plan, Tally, _figures, _one, soak
from deskhand_platform.bench.sandbox.traces import Traces
from deskhand_sandbox.errors import SandboxError
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.registry import create_backend

SHELL = "/bin/sh -e /usr/bin/chromium-headless-shell --user-data-dir=/tmp/x"
BROWSER = "/usr/lib/chromium/chromium-headless-shell --user-data-dir=/tmp/x"
PAGE = "/usr/lib/chromium/chromium-headless-shell --type=renderer --user-data-dir=/tmp/x"
OTHERS = ["/usr/lib/chromium/chromium-headless-shell --type=gpu-process", "python -m deskhand_sandbox.host"]


def meant(kind: str, commands: Sequence[str]) -> dict[str, list[str]]:
    return {
        sort.name: [each for each in commands if sort.is_meant(Process(pid=1, started=1, command=each))]
        for sort in VICTIMS[kind]
    }


def test_a_browser_its_pages_and_its_shell_are_told_apart() -> None:
    assert meant("browser", [SHELL, BROWSER, PAGE, *OTHERS]) == {
        "browser": [BROWSER],
        "page of a browser": [PAGE],
        "shell of a browser": [SHELL],
    }


def test_listening_ports_are_known_by_their_socket_and_not_by_their_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (inode,) = [inode for inode, each in listening_sockets().items() if each == port]
        assert inode in sockets_of(os.getpid())
        assert f"socket:[{inode}]" == str(Path(f"/proc/self/fd/{server.fileno()}").readlink())
    with socket.create_server(("127.0.0.1", port)):
        assert inode not in listening_sockets()


def test_every_sort_of_leftover_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "LOCKS", tmp_path)
    monkeypatch.setattr(leftovers.places, "base_folder", lambda _: tmp_path)
    gone = subprocess.Popen(["true"])
    gone.wait()
    folder, state = tmp_path / "scratch", tmp_path / "state"
    (tmp_path / ".X1-lock").write_text(f"{gone.pid}\n")
    found = Leftovers(traces=Traces(pid=gone.pid, mark="m", folder=folder), journals=state)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        subprocess.Popen(
            ["sleep", "1000"], env={"DESKHAND_SANDBOX_MARK": "m"}, pass_fds=[server.fileno()]
        ) as child,
    ):
        assert {each.pid for each in found.processes()} == {child.pid}
        found.note_ports()
        (tmp_path / ".X2-lock").write_text(f"{gone.pid}\n")
        (tmp_path / ".X3-lock").write_text(f"{os.getpid()}\n")
        (tmp_path / f"deskhand-vm-0123abcd-{gone.pid}-7").mkdir()
        (tmp_path / f"deskhand-vm-0123abcd-{gone.pid}9-7").mkdir()
        folder.mkdir()
        (folder / "profile").touch()
        state.mkdir()
        (state / "manager-x.json").touch()
        left = found.left(0.0)
        child.kill()
    assert {what: len(each) for what, each in left.items()} == {
        "processes": 1,
        "domains": 0,
        "displays": 1,
        "ports": 1,
        "temporary folders": 3,
        "control groups": 0,
        "journals": 1,
    }
    assert found.left(0.0)["ports"] == []


async def test_failures_are_counted_per_thousand_of_those_in_which_nothing_was_killed() -> None:
    class Breaking:
        """Lends, of three, the first one that breaks."""

        asked = 0

        @asynccontextmanager
        async def lease(self, kind: str, **_: object) -> AsyncGenerator[Any]:
            self.asked += 1
            if self.asked == 1:
                raise SandboxError("it broke")
            async with await create_backend("fake").create() as sandbox:
                yield sandbox

    client, tally = cast(Any, Breaking()), Tally()
    plan = Plan(kind="fake", seed=1, owner="o", dies=False, by_client=False, victims=(), pick=0.0)
    for _ in range(4):
        await _one(client, cast(Any, None), cast(Any, None), plan, tally)
    rate = _figures(tally, {}, {"deaths": 0.0}, 1.0)[-1]
    assert (rate.name, rate.value) == ("calm_failures_per_1000_episodes", 250.0)
    assert rate.low is not None and rate.high is not None and 0 < rate.low < 250 < rate.high < 1000
    assert rate.note == "1 of 4 leases in which nothing was killed"
    # whose own death it was is no failure of the platform
    dying = replace(plan, dies=True)
    tally = Tally()
    client.asked = 0
    await _one(client, cast(Any, None), cast(Any, None), dying, tally)
    assert [each.name for each in _figures(tally, {}, {"deaths": 0.5}, 1.0)] == ["soak_leases", "soak_leaked"]


@pytest.mark.slow
@pytest.mark.browser
async def test_every_death_happens_and_nothing_is_left() -> None:
    """A client's, a browser's, a page's, and that of the shell which Debian starts the browser by."""
    said: list[str] = []
    soaked = await soak(["browser"], leases=6, deaths=1.0, workers=1, seed=0, say=said.append)
    leases, leaked = soaked
    assert (leases.name, leases.value, leaked.name) == ("soak_leases", 6, "soak_leaked")
    counted = {name: int(count) for count, name in re.findall(r"(\d+) x ([a-z ]+)", leases.note)}
    assert leases.note.startswith("6 killed: ")
    assert sum(counted.values()) == 6
    assert counted["client"] == 1
    assert leaked.value == 0, leaked.note
    assert "0 processes, 0 domains, 0 displays, 0 ports, 0 temporary folders" in leaked.note
