"""Checksums of a model folder, in a file that `sha256sum -c` reads too.

Safetensors notice a file that was cut off, not one in which a bit fell over.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from deskhand_agent.errors import ModelFilesError

SUMS_FILE = "SHA256SUMS"
_READ = frozenset({".json", ".safetensors", ".jinja", ".txt"})
"""Endings of what is read when a model is loaded; words about it may lie beside it unnoted."""


def write_sums(folder: Path) -> None:
    """Note every file of the folder."""
    lines = [f"{_digest(folder / name)}  {name}\n" for name in _files(folder)]
    (folder / SUMS_FILE).write_text("".join(lines))


def check_files(folder: Path) -> None:
    """Nothing where the folder brings no checksums.

    Raises:
        ModelFilesError: a file is missing, another than was noted, or read and not noted; names it and the
            mend.
    """
    sums = folder / SUMS_FILE
    if not sums.is_file():
        return
    noted: set[str] = set()
    for line in sums.read_text(errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        noted.add(name)
        path = folder / name
        if not name or not path.is_file():
            raise _refused(path, "is missing")
        if _digest(path) != digest:
            raise _refused(path, "is damaged or of another version")
    for name in _files(folder):
        path = folder / name
        if path.suffix in _READ and name not in noted:
            raise _refused(path, "is not noted")


def _refused(path: Path, why: str) -> ModelFilesError:
    return ModelFilesError(
        f"{path} {why} (by {SUMS_FILE} beside it): copy the whole folder again; where it came with Deskhand, "
        f"check it out of Git or install the package again; where you changed it yourself, remove {SUMS_FILE}"
    )


def _files(folder: Path) -> list[str]:
    """Names of a folder's files but the one with their sums."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS_FILE)
    return [path.relative_to(folder).as_posix() for path in files]


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
