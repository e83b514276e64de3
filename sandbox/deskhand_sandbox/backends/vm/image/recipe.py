"""What the golden image is made of; a change here, or in the guest's files, makes another image."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3

GUEST = Path(__file__).parents[1] / "guest"
MAKING = ("archive.py", "customize.py")
"""The files beside this one that decide what the image holds."""
KEY_CHARACTERS = 16
EPOCH = 1_704_067_200
"""The time every file of the image carries: 2024-01-01."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """Everything an image depends on, but for the versions of Debian's packages."""

    suite: str = "bookworm"
    """Debian release."""
    architecture: str = "amd64"
    kernel: str = "linux-image-amd64"
    """The cloud kernel has no screen."""
    packages: tuple[str, ...] = (
        # what holds the guest together
        *("tini", "kmod", "iproute2", "busybox-static", "python3-minimal", "python3", "python3-xlib"),
        *("dbus", "libdbus-1-3", "procps", "less", "file", "xz-utils", "ca-certificates"),
        # the screen
        *("xserver-xorg-core", "xserver-xorg-input-evdev", "openbox", "xclip", "xdotool", "wmctrl"),
        *("fonts-dejavu-core", "adwaita-icon-theme", "hicolor-icon-theme"),
        # the accessibility tree
        *("at-spi2-core", "python3-gi", "gir1.2-atspi-2.0"),
        # applications
        *("xterm", "mousepad", "pcmanfm", "gnumeric", "galculator"),
    )
    modules: tuple[str, ...] = (
        *("virtio_pci", "virtio_blk", "virtio_console", "virtio_input", "virtio_net", "virtio_rng"),
        *("crc32c_generic", "ext4", "bochs", "evdev", "ahci", "sd_mod", "isofs", "loop", "overlay", "fuse"),
    )
    """Kernel modules that are kept, with what they need; an image with all has three times the size."""
    disk_mb: int = 3072
    """Size of the guest's disk; what is not written takes no room."""

    def to_json(self) -> str:
        """The record, for the part of a build that runs in a process of its own."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """What `to_json` wrote."""
        values: dict[str, Any] = json.loads(text)
        for name in ("packages", "modules"):
            values[name] = tuple(values[name])
        return cls(**values)

    def key(self) -> str:
        """Names the image: a hash of this record and of every file that goes into it or makes it."""
        digest = blake3(self.to_json().encode())
        makers = [Path(__file__).with_name(name) for name in MAKING]
        for path in (*sorted(GUEST.iterdir()), *makers):
            if path.is_file() and path.name != "__init__.py":
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:KEY_CHARACTERS]


RECIPE = Recipe()


@dataclass(frozen=True, kw_only=True, slots=True)
class GoldenImage:
    """A guest that can be booted."""

    disk: Path
    """qcow2, never written to."""
    kernel: Path | None
    """None: the disk boots by itself."""
    initrd: Path | None
    key: str
    """Changes with the content."""
    agent: bool
    """Whether our agent answers inside."""


def disk_key(disk: Path) -> str:
    """Names a disk by its place, size and time: what was saved on top of another is worthless."""
    stat = disk.stat()
    return blake3(f"{disk}\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()


def image_folder() -> Path:
    """Where images are kept."""
    return cache_folder() / "images"


def cache_folder() -> Path:
    """The user's cache, as the XDG base directories have it."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return base / "deskhand"
