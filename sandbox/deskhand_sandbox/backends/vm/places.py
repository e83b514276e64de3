"""Where VMs of this process keep their files, and what processes that are gone have left.

Folders and domains carry the mark of the process that owns them: boot, number and start time. So whoever
comes later knows an orphan when it sees one, however its owner ended.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.manager import owned, processes
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.types import JsonValue

PREFIX = "deskhand-vm-"
LONGEST = 64
"""Characters of a folder's path: sockets below it may have 107 in all."""
_MARK = re.compile(r"deskhand-vm-([0-9a-f]{8}-\d+-\d+)(?:-|$)")


def mark() -> str:
    """The mark of this process."""
    return f"{PREFIX}{owned.owner()}"


def is_orphan(name: str) -> bool:
    """Whether something of that name belonged to a process that is gone; False for what has no mark."""
    found = _MARK.match(name)
    return found is not None and owned.is_gone(found[1])


def base_folder(given: Path | None) -> Path:
    """Where folders of processes are made: as given, or a place on a disk rather than in memory."""
    if given is not None:
        return given
    place = Path("/var/tmp")
    return place if os.access(place, os.W_OK) else Path(tempfile.gettempdir())


def own_folder(base: Path) -> Path:
    """The folder of this process, made where it is not there yet.

    Raises:
        InfrastructureError: it cannot be made, or its path is too long.
    """
    folder = base / mark()
    if len(str(folder)) > LONGEST:
        raise InfrastructureError(f"{folder} is too long for the sockets in it: choose a shorter folder")
    try:
        folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise InfrastructureError(f"{folder} cannot be made: {error.strerror}") from error
    return folder


def end_left(settings: Mapping[str, JsonValue]) -> int:
    """As `remove_orphans`, in the place that these settings of a backend name."""
    folder = settings.get("folder")
    return remove_orphans(base_folder(Path(folder) if isinstance(folder, str) else None))


def remove_orphans(base: Path) -> int:
    """End the VMs of processes that are gone, and remove their files; returns how many VMs still ran."""
    ended = 0
    for folder in base.glob(f"{PREFIX}*"):
        try:
            ours = folder.stat().st_uid == os.geteuid()
        except FileNotFoundError:
            continue
        if ours and is_orphan(folder.name):
            ended += remove(folder)
    return ended


def remove(folder: Path) -> int:
    """End what runs out of a folder, and remove it; returns how many VMs ran."""
    ended = processes.end(running_in(folder))
    shutil.rmtree(folder, ignore_errors=True)
    return len(ended)


def running_in(folder: Path) -> list[Process]:
    """QEMUs whose command line names something in the folder."""
    needle = f"{folder}/".encode()
    found: list[Process] = []
    for pid, command in _command_lines():
        if b"qemu" in command and needle in command and (process := processes.find(pid)) is not None:
            found.append(process)
    return found


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for path in processes.PROC.glob("[0-9]*/cmdline"):
        try:
            yield int(path.parent.name), path.read_bytes()
        except OSError:
            continue
