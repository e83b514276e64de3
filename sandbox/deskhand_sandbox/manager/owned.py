"""What belongs to which process, so that whoever comes later knows what a process that is gone has left.

A process is named by boot, number and start time, which no other ever has.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from deskhand_sandbox.manager import processes

OWNER = ".owner"
"""File in a temporary folder that names its process."""


def owner() -> str:
    """The name of this process: small letters, digits and hyphens."""
    me = processes.find(os.getpid())
    return f"{_boot()}-{os.getpid()}-{me.started if me is not None else 0}"


def is_gone(name: str) -> bool:
    """Whether the process of that name is; False for what is no such name."""
    boot, _, rest = name.partition("-")
    pid, _, started = rest.partition("-")
    if not (len(boot) == len(_boot()) and pid.isdecimal() and started.isdecimal()):
        return False
    now = processes.find(int(pid))
    return boot != _boot() or now is None or now.started != int(started)


def temporary_folder(prefix: str) -> Path:
    """A new folder among the temporary files that says that it is this process's."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    (folder / OWNER).write_text(owner())
    return folder


def left(prefix: str) -> Iterator[Path]:
    """Folders of `temporary_folder` whose processes, of this user, are gone."""
    for path in Path(tempfile.gettempdir()).glob(f"{prefix}*/{OWNER}"):
        try:
            ours = path.lstat().st_uid == os.geteuid()
            gone = ours and is_gone(path.read_text())
        except (OSError, UnicodeDecodeError):
            continue  # removed just now, or nobody's that we know
        if gone:
            yield path.parent


def _boot() -> str:
    return (processes.boot_id() or "0" * 8)[:8]
