from __future__ import annotations

import os
import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from deskhand_platform.bench.sandbox import leftovers
from deskhand_platform.bench.sandbox.leftovers import Leftovers, listening_sockets, sockets_of
from deskhand_platform.bench.sandbox.soak import VICTIMS, soak
from deskhand_platform.bench.sandbox.traces import Traces
from deskhand_sandbox.manager.processes import Process

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
