"""Checksums of a model folder, in a file that `sha256sum -c` reads too.

Safetensors notice a file that was cut off, not one in which a bit fell over.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from deskhand_agent.errors import ModelFilesError

SUMS_FILE = "SHA256SUMS"


def write_sums(folder: Path) -> None:
    """Note every file of the folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS_FILE)
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / SUMS_FILE).write_text("".join(lines))


def check_files(folder: Path) -> None:
    """Nothing where the folder brings no checksums.

    Raises:
        ModelFilesError: a file is missing or another than was noted; names it and the mend.
    """
    sums = folder / SUMS_FILE
    if not sums.is_file():
        return
    for line in sums.read_text(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        path = folder / name
        if not name or not path.is_file():
            found = "is missing"
        elif _digest(path) != digest:
            found = "is damaged or of another version"
        else:
            continue
        raise ModelFilesError(
            f"{path} {found} (by {sums.name} beside it): copy the whole folder again; where it came with "
            "Deskhand, check it out of Git or install the package again"
        )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
