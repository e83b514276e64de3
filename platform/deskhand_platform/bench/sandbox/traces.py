"""What sandboxes leave on a machine: processes, control groups, temporary files; and whose they are."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deskhand_sandbox.isolation.limits import MOUNT
from deskhand_sandbox.manager import processes as running
from deskhand_sandbox.manager.journal import MARK
from deskhand_sandbox.manager.processes import Process

LOOK_S = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Traces:
    """The traces of one process and of all it started, however they were started."""

    pid: int
    mark: str
    """In the environment of what it starts."""
    folder: Path
    """Of its temporary files."""

    @classmethod
    @contextmanager
    def of_this_process(cls) -> Generator[Traces, None, None]:
        """Within the block what this process starts is marked and has its temporary files in one place."""
        before = {name: os.environ.get(name) for name in (MARK, "TMPDIR")}
        folder = Path(tempfile.mkdtemp(prefix="deskhand-bench-"))
        mark = secrets.token_hex(12)
        os.environ.update({MARK: mark, "TMPDIR": str(folder)})
        tempfile.tempdir = None  # read TMPDIR again
        try:
            yield cls(pid=os.getpid(), mark=mark, folder=folder)
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            tempfile.tempdir = None
            shutil.rmtree(folder, ignore_errors=True)

    def processes(self) -> list[Process]:
        """What runs: children and theirs, what has the mark, what names the folder in its command line or has
        its temporary files there."""
        found = running.descendants(self.pid)
        found |= {each.pid: each for each in running.marked(MARK, self.mark)}
        # libvirt hands a QEMU, which is nobody's child, this one variable
        found |= {each.pid: each for each in running.marked("TMPDIR", str(self.folder))}
        found |= {each.pid: each for each in running.everything() if str(self.folder) in each.command}
        found.pop(self.pid, None)
        return list(found.values())

    def ended(self, timeout_s: float) -> list[Process]:
        """Give what runs time to end; what then still does. Blocks."""
        deadline = time.monotonic() + timeout_s
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return left

    def groups(self) -> list[Path]:
        """Control groups it made."""
        return [place for place in MOUNT.glob("**/deskhand-*") if place.name.split("-")[1] == str(self.pid)]

    def files(self) -> list[Path]:
        """Temporary files and folders."""
        return list(self.folder.iterdir()) if self.folder.exists() else []
