"""What a manager has running, on disk, so that the next one can end what a killed manager left behind.

One small JSON file per manager, replaced whole at every change. A process is taken for an orphan only if its
manager is gone and either it is the very process written down (number, start time, boot and command line), or
it was started with the mark of that manager in its environment.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from deskhand_sandbox.isolation.limits import MOUNT
from deskhand_sandbox.manager import owned, processes
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.registry import end_left_behind
from deskhand_sandbox.types import JsonValue

log = logging.getLogger(__name__)

MARK = "DESKHAND_SANDBOX_MARK"
"""Environment variable that every process started for a sandbox inherits."""
VERSION = 1
SCRATCH_PREFIX = "deskhand-host-"


class Journal:
    """The file of one living manager."""

    def __init__(self, path: Path, mark: str, scratch: Path | None) -> None:
        """
        Args:
            scratch: temporary files of everything this process starts; None to leave that as it is.
        """
        self.path = path
        self.mark = mark
        self.scratch = scratch
        me = processes.find(os.getpid())
        self._unchanging = {
            "version": VERSION,
            "boot": processes.boot_id(),
            "mark": mark,
            "scratch": str(scratch) if scratch is not None else None,
            "manager": _to_json(me) if me is not None else None,
        }
        self._processes: dict[int, Process] = {}
        self._watchers = 0
        self._mark_before: str | None = None
        self._before: set[int] = set()

    @classmethod
    def begin(cls, folder: Path, *, owns_process: bool = False) -> Journal:
        """Write an empty journal, before anything is started.

        Args:
            owns_process: everything this process starts from now on is a sandbox's: it is marked, not only
                within `watching`, has its temporary files in one place, and is ended by `finish`.

        Raises:
            OSError: the folder cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(12)
        if owns_process:
            for left in owned.left(SCRATCH_PREFIX):
                _remove_scratch(str(left))
        scratch = owned.temporary_folder(SCRATCH_PREFIX) if owns_process else None
        journal = cls(folder / f"manager-{mark}.json", mark, scratch)
        journal._write()
        if scratch is not None:
            os.environ[MARK] = mark
            os.environ["TMPDIR"] = str(scratch)
            tempfile.tempdir = None  # read TMPDIR again
        return journal

    @contextmanager
    def watching(self) -> Generator[None, None, None]:
        """Note the processes that this one starts within the block, and mark their environment."""
        if self._watchers == 0:
            self._before = set(processes.descendants(os.getpid()))
            self._mark_before = os.environ.get(MARK)
            os.environ[MARK] = self.mark
        self._watchers += 1
        try:
            yield
        finally:
            self._watchers -= 1
            if self._watchers == 0:
                if self._mark_before is None:
                    os.environ.pop(MARK, None)
                else:
                    os.environ[MARK] = self._mark_before
            self._note_processes()

    def finish(self) -> None:
        """End what closing left running, if this process is all the sandboxes', and forget everything."""
        if self.scratch is not None:
            # what lost its parent is no descendant any more, and is known by its mark
            left = {each.pid: each for each in processes.marked(MARK, self.mark)}
            left |= processes.descendants(os.getpid())
            left.pop(os.getpid(), None)
            processes.end(left.values())
            shutil.rmtree(self.scratch, ignore_errors=True)
        self.path.unlink(missing_ok=True)

    def _note_processes(self) -> None:
        now = processes.descendants(os.getpid())
        kept = {
            pid: each for pid, each in self._processes.items() if pid in now or processes.is_running(each)
        }
        new = {pid: each for pid, each in now.items() if pid not in self._before}
        self._processes = kept | new
        self._write_if_possible()

    def _write(self) -> None:
        record = {
            **self._unchanging,
            "processes": [_to_json(each) for each in self._processes.values()],
        }
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps(record, indent=1))
        draft.replace(self.path)

    def _write_if_possible(self) -> None:
        """A full disk must not stop the lending: the journal is a second net below the backends' own care."""
        try:
            self._write()
        except OSError as error:
            log.error("the journal %s is not up to date: %s", self.path, error)


def end_left(folder: Path, kinds: Sequence[tuple[str, Mapping[str, JsonValue]]]) -> int:
    """End what managers that are gone left running: by their journals, and what a kind's backend knows of.

    Args:
        kinds: of the pools to come, with the settings of their backends.

    Returns:
        How many processes that were.
    """
    return end_orphans(folder) + end_left_behind(kinds)


def end_orphans(folder: Path) -> int:
    """End what managers that are gone left running; returns how many processes that were."""
    ended = 0
    for path in sorted(folder.glob("manager-*.json")):
        try:
            record = json.loads(path.read_text())
            orphans = _orphans_of(record)
        except FileNotFoundError:
            continue  # its manager finished just now
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s is no journal of a sandbox manager (%s): left alone", path, error)
            continue
        if orphans is None:
            continue
        for process in processes.end(orphans):
            log.warning(
                "ended process %d, left behind by a killed manager: %s", process.pid, process.command[:200]
            )
            ended += 1
        _remove_scratch(record.get("scratch"))
        _remove_groups(record.get("manager"))
        path.unlink(missing_ok=True)
        path.with_suffix(".draft").unlink(missing_ok=True)
    return ended


def _remove_scratch(scratch: object) -> None:
    """Remove a killed manager's temporary files; a path that is not one of ours is left alone."""
    if isinstance(scratch, str) and Path(scratch).name.startswith(SCRATCH_PREFIX):
        shutil.rmtree(scratch, ignore_errors=True)


def _remove_groups(manager: object) -> None:
    """Remove a killed manager's control groups, which are empty now; its number may be another's by now."""
    match manager:
        case {"pid": int(pid)} if processes.find(pid) is None:
            for group in MOUNT.glob(f"**/deskhand-{pid}-*"):
                with suppress(OSError):
                    group.rmdir()
        case _:
            pass


def _orphans_of(record: dict[str, Any]) -> list[Process] | None:
    """The processes a manager left; None when it still lives."""
    if record["version"] != VERSION:
        raise ValueError(f"version {record['version']}, this is {VERSION}")
    if record["boot"] != processes.boot_id():
        return []
    manager = record["manager"]
    if manager is None or processes.is_running(_from_json(manager)):
        return None
    marked = {each.pid: each for each in processes.marked(MARK, record["mark"])}
    for each in map(_from_json, record["processes"]):
        now = processes.find(each.pid)
        # a process has no command line for an instant after it began, and may be written down just then
        if now is not None and now.started == each.started and each.command in ("", now.command):
            marked[now.pid] = now
    return list(marked.values())


def _to_json(process: Process) -> dict[str, object]:
    return {"pid": process.pid, "started": process.started, "command": process.command}


def _from_json(value: dict[str, Any]) -> Process:
    return Process(pid=int(value["pid"]), started=int(value["started"]), command=str(value["command"]))
