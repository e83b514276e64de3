"""Folders of processes that are gone, with the real processes that were left running out of them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm import places
from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.manager import processes


def dead_mark() -> str:
    """The mark of a process that has ended."""
    code = "from deskhand_sandbox.backends.vm import places; print(places.mark())"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for sockets."""
    with tempfile.TemporaryDirectory(prefix="dh-") as folder:
        yield Path(folder)


def test_this_process_is_no_orphan_and_strangers_are_none_either() -> None:
    assert not places.is_orphan(places.mark())
    assert not places.is_orphan(f"{places.mark()}-1a2b3c4d")
    assert not places.is_orphan("somebody else's machine")


def test_what_belonged_to_a_process_that_is_gone_is_an_orphan() -> None:
    assert places.is_orphan(dead_mark())
    assert places.is_orphan(f"deskhand-vm-00000000-{os.getpid()}-1")
    me = processes.find(os.getpid())
    assert me is not None
    boot = processes.boot_id()[:8]
    assert places.is_orphan(f"deskhand-vm-{boot}-{me.pid}-{me.started + 1}")


def test_orphans_are_ended_and_their_files_removed(short: Path) -> None:
    left = short / dead_mark()
    (left / "vms/one").mkdir(parents=True)
    mine = places.own_folder(short)
    # the folder stands in the command line, as it does in QEMU's
    running = [
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)", "qemu-system-x86_64", f"{folder}/disk"]
        )
        for folder in (left, mine)
    ]
    for each in running:  # a program that has just been started has no command line for a moment
        while not Path(f"/proc/{each.pid}/cmdline").read_bytes():
            assert each.poll() is None
    try:
        assert [each.pid for each in places.running_in(left)] == [running[0].pid]
        assert places.remove_orphans(short) == 1
        assert running[0].wait(120) != 0
        assert running[1].poll() is None
        assert not left.exists() and mine.exists()
        assert places.remove_orphans(short) == 0
    finally:
        for each in running:
            each.kill()
            each.wait()


def test_a_folder_too_deep_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureError, match="choose a shorter folder"):
        places.own_folder(tmp_path / ("deep" * 20))
