from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_sandbox.manager import PoolSettings, SandboxManager, processes
from deskhand_sandbox.manager.journal import MARK, Journal, end_orphans
from deskhand_sandbox.manager.processes import Process

TINY = Path(__file__).with_name("tiny_host.py")
spec = importlib.util.spec_from_file_location("tiny_host", TINY)
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

LEND_AND_WAIT = """
import asyncio, importlib.util, sys
from pathlib import Path
from deskhand_sandbox.manager import PoolSettings, SandboxManager
spec = importlib.util.spec_from_file_location("tiny_host", sys.argv[1])
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)
backends = []
def make(kind, settings):
    backends.append(tiny.make_backend(kind, settings))
    return backends[-1]
async def main():
    pools = {"tiny": PoolSettings(settings={"process": True})}
    async with SandboxManager(pools, state_folder=Path(sys.argv[2]), make_backend=make) as manager:
        await manager.acquire("tiny", owner="somebody")
        print(backends[0].browser.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture
def bystander() -> Iterator[Process]:
    """A process that is nobody's orphan."""
    child = subprocess.Popen(["sleep", "1000"])
    process = processes.find(child.pid)
    assert process is not None
    yield process
    child.kill()
    child.wait()


def killed_manager(folder: Path) -> Process:
    """Start a manager with a browser, kill it, and return the browser it leaves behind."""
    with subprocess.Popen(
        [sys.executable, "-c", LEND_AND_WAIT, str(TINY), str(folder)], stdout=subprocess.PIPE, text=True
    ) as manager:
        assert manager.stdout is not None
        browser = processes.find(int(manager.stdout.readline()))
        assert browser is not None
        manager.kill()
    assert processes.is_running(browser)
    return browser


async def test_the_next_manager_ends_what_a_killed_one_left(tmp_path: Path, bystander: Process) -> None:
    browser = killed_manager(tmp_path)
    async with SandboxManager({"tiny": PoolSettings()}, state_folder=tmp_path) as manager:
        assert not processes.is_running(browser)
        assert manager.status().orphans_ended == 1
        assert processes.is_running(bystander)
        assert len(list(tmp_path.iterdir())) == 1  # its own journal
    assert list(tmp_path.iterdir()) == []


def test_an_orphan_started_before_it_could_be_written_down_is_known_by_its_mark(tmp_path: Path) -> None:
    browser = killed_manager(tmp_path)
    (path,) = tmp_path.iterdir()
    record = json.loads(path.read_text())
    assert [each["pid"] for each in record["processes"]] == [browser.pid]
    path.write_text(json.dumps(record | {"processes": []}))
    assert end_orphans(tmp_path) == 1
    assert not processes.is_running(browser)


@pytest.mark.parametrize("change", [{"started": 1}, {"command": "another program"}])
def test_a_number_given_to_another_process_is_left_alone(
    tmp_path: Path, bystander: Process, change: dict[str, object]
) -> None:
    write_journal(tmp_path, bystander, **change)
    assert end_orphans(tmp_path) == 0
    assert processes.is_running(bystander)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", [{}, {"command": ""}], ids=["whole", "noted before its program began"])
def test_a_written_down_process_is_ended_also_without_a_mark(
    tmp_path: Path, bystander: Process, change: dict[str, object]
) -> None:
    write_journal(tmp_path, bystander, **change)
    assert end_orphans(tmp_path) == 1
    assert not processes.is_running(bystander)


def test_an_earlier_boots_journal_ends_nothing(tmp_path: Path, bystander: Process) -> None:
    write_journal(tmp_path, bystander, boot="an earlier boot")
    assert end_orphans(tmp_path) == 0
    assert processes.is_running(bystander)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 99}', "null"])
def test_a_file_that_is_no_journal_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manager-odd.json"
    path.write_text(text)
    assert end_orphans(tmp_path) == 0
    assert path.read_text() == text


def test_a_living_managers_processes_are_left_alone(tmp_path: Path) -> None:
    journal = Journal.begin(tmp_path)
    with journal.watching():
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    assert [each["pid"] for each in json.loads(journal.path.read_text())["processes"]] == [child.pid]
    assert end_orphans(tmp_path) == 0
    assert child.poll() is None
    journal.finish()
    assert child.poll() is None  # not all this process starts is a sandbox's
    child.kill()
    child.wait()


def test_the_mark_is_set_only_while_something_is_started(tmp_path: Path) -> None:
    journal = Journal.begin(tmp_path)
    assert MARK not in os.environ
    with journal.watching():
        with journal.watching():
            assert os.environ[MARK] == journal.mark
        assert os.environ[MARK] == journal.mark
    assert MARK not in os.environ


async def test_the_journal_holds_no_token(tmp_path: Path) -> None:
    async with SandboxManager(
        {"tiny": PoolSettings(settings={"process": True})},
        state_folder=tmp_path,
        make_backend=tiny.make_backend,
    ) as manager:
        lease = await manager.acquire("tiny", owner="somebody")
        (path,) = tmp_path.glob("manager-*.json")
        assert json.loads(path.read_text())["processes"]
        assert lease.token not in path.read_text()


def test_what_lost_its_parent_is_ended_with_all_else(tmp_path: Path) -> None:
    """As a browser whose starting shell was killed: no descendant any more."""
    code = """
import subprocess, sys
from pathlib import Path
from deskhand_sandbox.manager.journal import Journal
journal = Journal.begin(Path(sys.argv[1]), owns_process=True)
shell = subprocess.run(["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"], capture_output=True, text=True)
print(shell.stdout.strip(), flush=True)
sys.stdin.readline()
journal.finish()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdin is not None and owner.stdout is not None
        orphan = processes.find(int(owner.stdout.readline()))
        assert orphan is not None
        assert orphan.pid not in processes.descendants(owner.pid)
        owner.stdin.write("\n")
        owner.stdin.close()
        assert owner.wait() == 0
    assert not processes.is_running(orphan)
    assert list(tmp_path.iterdir()) == []


async def test_a_disk_that_takes_no_more_does_not_stop_the_lending(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "state"
    async with SandboxManager(
        {"tiny": PoolSettings()}, state_folder=folder, make_backend=tiny.make_backend
    ) as manager:
        shutil.rmtree(folder)
        async with manager.lease("tiny", owner="me") as sandbox:
            await sandbox.observe()
        assert manager.status().pools[0].idle == 1
    assert "is not up to date" in caplog.text


def test_ending_reaches_grandchildren_and_the_stubborn() -> None:
    stubborn = "trap '' TERM; sleep 1000 & echo $!; while :; do wait; done"
    with subprocess.Popen(["sh", "-c", stubborn], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        grandchild = processes.find(int(child.stdout.readline()))
        process = processes.find(child.pid)
        assert process is not None and grandchild is not None
        ended = processes.end([process], grace_s=0.3)
        assert {each.pid for each in ended} == {process.pid, grandchild.pid}
    assert child.returncode == -signal.SIGKILL
    assert not processes.is_running(grandchild)
    assert processes.end([process]) == []


def test_a_process_is_itself_and_no_other() -> None:
    me = processes.find(os.getpid())
    assert me is not None
    words = Path("/proc/self/cmdline").read_text().split("\0")
    assert (me.pid, me.command) == (os.getpid(), " ".join(words).strip())
    assert processes.is_running(me)
    assert not processes.is_running(replace(me, started=me.started + 1))
    assert processes.find(2**22 + 1) is None


async def test_a_second_manager_on_the_folder_does_not_disturb_the_first(tmp_path: Path) -> None:
    async with SandboxManager({"tiny": PoolSettings()}, state_folder=tmp_path):
        async with SandboxManager({"tiny": PoolSettings()}, state_folder=tmp_path) as second:
            assert second.status().orphans_ended == 0
            assert len(list(tmp_path.iterdir())) == 2
        await asyncio.sleep(0)
        assert len(list(tmp_path.iterdir())) == 1


def write_journal(folder: Path, process: Process, **change: object) -> None:
    """The journal of a manager that is gone, with that process in it."""
    gone = subprocess.Popen(["true"])
    manager = {"pid": gone.pid, "started": 1, "command": "python"}
    gone.wait()
    written = {"pid": process.pid, "started": process.started, "command": process.command}
    boot = change.pop("boot", processes.boot_id())
    record = {
        "version": 1,
        "boot": boot,
        "mark": "nobody-has-this-mark",
        "scratch": None,
        "manager": manager,
        "processes": [written | change],
    }
    (folder / "manager-gone.json").write_text(json.dumps(record))
