"""Temporary folders say whose they are, and what a killed process left goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from deskhand_sandbox.manager import owned
from deskhand_sandbox.manager.journal import SCRATCH_PREFIX

MAKES = """
import sys
from deskhand_sandbox.manager import owned
print(owned.temporary_folder("t-owned-"), flush=True)
"""
HOSTS = """
import sys, time
from pathlib import Path
from deskhand_sandbox.manager.journal import Journal
journal = Journal.begin(Path(sys.argv[1]), owns_process=True)
print(journal.scratch, flush=True)
time.sleep(1000)
"""


def test_what_a_process_left_is_known_and_nothing_else(temporary: Path) -> None:
    made = subprocess.run([sys.executable, "-c", MAKES], stdout=subprocess.PIPE, text=True, check=True)
    gone = Path(made.stdout.strip())
    mine = owned.temporary_folder("t-owned-")
    unnamed, odd, other = (temporary / f"t-owned-{name}" for name in ("unnamed", "odd", "binary"))
    for folder in (unnamed, odd, other):
        folder.mkdir()
    (odd / owned.OWNER).write_text("somebody")
    (other / owned.OWNER).write_bytes(b"\xff\xfe")
    assert gone.parent == mine.parent == temporary
    assert list(owned.left("t-owned-")) == [gone]
    assert list(owned.left("t-other-")) == []


def test_a_number_that_was_given_again_is_another_process() -> None:
    boot, pid, started = owned.owner().split("-")
    assert int(pid) == os.getpid() and not owned.is_gone(owned.owner())
    assert owned.is_gone(f"{boot}-{pid}-{int(started) + 1}")
    assert owned.is_gone(f"{'0' * len(boot)}-{pid}-{started}")
    for name in ("", "deskhand", f"{boot}-{pid}", f"{boot}-x-1", f"{boot}-{pid}-{started}-1"):
        assert not owned.is_gone(name)


def test_the_next_host_removes_what_a_killed_one_left_whatever_its_home(
    temporary: Path, tmp_path: Path
) -> None:
    def host(home: Path) -> tuple[subprocess.Popen[str], Path]:
        begun = subprocess.Popen([sys.executable, "-c", HOSTS, str(home)], stdout=subprocess.PIPE, text=True)
        assert begun.stdout is not None
        return begun, Path(begun.stdout.readline().strip())

    first, left = host(tmp_path / "one")
    second, kept = host(tmp_path / "two")
    try:
        assert left.is_dir() and kept.is_dir()
        first.kill()
        first.communicate()
        third, own = host(tmp_path / "three")
        third.kill()
        third.communicate()
        assert set(temporary.glob(f"{SCRATCH_PREFIX}*")) == {kept, own}
    finally:
        second.kill()
        second.communicate()
