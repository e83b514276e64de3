"""The simulated device's files: where they lie on this machine, and who may reach them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from deskhand_sandbox.errors import InfrastructureError

ALIASES = ("/storage/emulated/0", "/storage/self/primary", "/mnt/sdcard", "/data/media/0")
"""Other names of /sdcard."""
HOME = "/data/local/tmp"
FOLDERS = (HOME, "/sdcard/DCIM", "/sdcard/Download", "/sdcard/Documents", "/sdcard/Pictures")
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK


class DeviceFiles:
    """Folders /data and /sdcard of the device, in a folder of this machine."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def clear(self) -> None:
        """As on a device nobody has used."""
        for name in ("data", "sdcard"):
            _remove(self.root / name)
        for name in FOLDERS:
            (self.root / name.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def keep(self, folder: Path) -> None:
        """Copy every file to a folder that is not there yet.

        Raises:
            InfrastructureError: one cannot be read; nothing is kept.
        """
        try:
            for name in ("data", "sdcard"):
                shutil.copytree(self.root / name, folder / name, symlinks=True)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise InfrastructureError(f"the device's files cannot be kept: {error}") from error

    def bring_back(self, folder: Path) -> None:
        """Make the files those that were kept in a folder."""
        for name in ("data", "sdcard"):
            _remove(self.root / name)
            shutil.copytree(folder / name, self.root / name, symlinks=True)

    def place(self, path: str) -> Path:
        """Where a file of the device lies; relative names are in the home.

        Raises:
            PermissionError: outside /data and /sdcard, or through a link that leads out of them.
        """
        full = os.path.normpath(f"{HOME}/{path}" if not path.startswith("/") else path)
        for alias in ALIASES:
            if full == alias or full.startswith(f"{alias}/"):
                full = "/sdcard" + full.removeprefix(alias)
        if full == "/":
            return self.root
        if full.split("/")[1] not in ("data", "sdcard"):
            there = self.root / full.lstrip("/")
            raise PermissionError(13, "Permission denied", str(there))
        place = self.root / full.lstrip("/")
        inside = place.parent.resolve()
        if not inside.is_relative_to(self.root.resolve()):
            raise PermissionError(13, "Permission denied", full)
        return inside / place.name

    def read(self, path: str) -> bytes:
        """A file's bytes.

        Raises:
            OSError: it cannot be read.
        """
        with os.fdopen(os.open(self.place(path), _READ), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise IsADirectoryError(21, "Is a directory", path)
            return file.read()

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Create or replace a file, and the folders it lies in.

        Raises:
            OSError: it cannot be written.
        """
        place = self.place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(place, _WRITE, mode & 0o777), "wb") as file:
            file.write(data)


def _remove(folder: Path) -> None:
    """Take a folder away, those in it that were locked too."""
    for place, folders, _ in os.walk(folder):
        for name in folders:
            if not (inner := Path(place, name)).is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
