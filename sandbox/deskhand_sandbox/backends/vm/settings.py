"""What the VM backend and the tasks for it can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from deskhand_sandbox.backends.settings_checks import (
    check_image,
    check_positive,
    check_size,
    check_text,
    task_settings,
)
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import Task

ACCELERATORS = ("auto", "kvm", "emulation")
MIN_SIDE_PX = 320
MIN_MEMORY_MB = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class VmSettings:
    """Settings of the backend."""

    image: str | None = None
    """A qcow2 of your own that boots by itself; it runs without our agent. None: the golden image."""
    size_px: tuple[int, int] = (1280, 720)
    """Width and height of the screen of the golden image; multiples of 8. A disk of your own has its own."""
    memory_mb: int = 640
    cpus: int = 1
    accelerator: Literal["auto", "kvm", "emulation"] = "auto"
    """"auto": KVM where the golden image's kernel comes up on it, tried once for each boot of the machine;
    emulation otherwise."""
    connection: str = "embed"
    """"embed": libvirt inside this process, no daemon; else a libvirt address, such as "qemu:///system"."""
    host_loopback: bool = False
    """Whether tasks with a network reach what this machine serves on its loopback too, at 10.0.2.2 there."""
    folder: str | None = None
    """Where running VMs keep their files, for each about as much as they have memory. None: /var/tmp."""
    translation_cache_mb: int = 64
    """Memory for translated code, under emulation."""
    boot_deadline_s: float = 180.0
    """Longest the one boot may take, until the agent answers or the screen stands still."""
    boot_still_s: float = 5.0
    """A disk of your own counts as booted once its screen has not changed for this long."""
    call_deadline_s: float = 60.0
    """Longest an act or observe may take, the time an action asks for not counted."""
    reset_deadline_s: float = 120.0
    """Longest a reset, a restore, a fork or a new sandbox may take, the one boot not counted."""

    def __post_init__(self) -> None:
        check_text(self, "image", "folder", "connection")
        check_positive(
            self,
            "boot_deadline_s",
            "boot_still_s",
            "call_deadline_s",
            "reset_deadline_s",
            "translation_cache_mb",
        )
        size = tuple(cast("list[object]", self.size_px)) if isinstance(self.size_px, list) else self.size_px
        check_size("size_px", size, least=MIN_SIDE_PX)
        object.__setattr__(self, "size_px", size)
        _check_multiple(self.size_px)
        for name, least in (("memory_mb", MIN_MEMORY_MB), ("cpus", 1), ("translation_cache_mb", 1)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InvalidTask(f"{name} must be a whole number from {least}, not {value!r}")
        if type(self.host_loopback) is not bool:
            raise InvalidTask(f"host_loopback must be true or false, not {self.host_loopback!r}")
        if self.accelerator not in ACCELERATORS:
            raise InvalidTask(f"accelerator must be {', '.join(ACCELERATORS)}, not {self.accelerator!r}")
        if self.image is not None and not Path(self.image).is_file():
            raise InvalidTask(f"there is no disk image at {self.image}")


@dataclass(frozen=True, kw_only=True, slots=True)
class GuestSettings:
    """`Task.environment.settings` of a VM task."""

    applications: tuple[tuple[str, ...], ...] = ()
    """Command lines of the programs that stand open at the start; each opens a window."""
    prepare: str | None = None
    """Shell script that is run in the home first, with the seed as $SEED: files the task is about."""
    size_px: tuple[int, int] | None = None
    """Width and height of the screen, multiples of 8; None: as the backend has it."""
    network: bool = False
    """Whether the guest reaches what this machine reaches; it never does otherwise."""
    image_format: Literal["png", "jpeg", "webp"] = "png"
    image_quality: int = 80
    """1 to 100; PNG ignores it."""
    settle_deadline_ms: float = 6000.0
    """How long to wait for a screen that does not come to rest."""
    still_ms: float = 200.0
    """How long a screen must not change to be at rest."""
    ready_deadline_s: float = 120.0
    """How long preparing may take, and how long the programs until their windows are there."""

    def __post_init__(self) -> None:
        commands = cast("object", self.applications)
        if not (isinstance(commands, tuple) and all(map(_is_command, cast("tuple[object, ...]", commands)))):
            raise InvalidTask(f"applications must be lists of words, a program first, not {commands!r}")
        if self.size_px is not None:
            check_size("size_px", self.size_px, least=MIN_SIDE_PX)
            _check_multiple(self.size_px)
        if type(self.network) is not bool:
            raise InvalidTask(f"network must be true or false, not {self.network!r}")
        check_image(self.image_format, self.image_quality)
        check_positive(self, "settle_deadline_ms", "still_ms", "ready_deadline_s")
        check_text(self, "prepare")


def guest_settings(task: Task, *, agent: bool) -> GuestSettings:
    """The settings of a task; see `task_settings`.

    Raises:
        InvalidTask: also where they ask for what takes an agent in the guest, and there is none.
    """
    settings = task_settings(task, "vm", GuestSettings)
    inside = settings.applications or settings.prepare is not None or settings.network or settings.size_px
    if not agent and inside:
        raise InvalidTask(
            f"task {task.id}: applications, prepare, size_px and network take an agent in the guest, "
            "and a disk of your own has none"
        )
    return settings


def _check_multiple(size_px: tuple[int, int]) -> None:
    if any(side % 8 for side in size_px):
        raise InvalidTask(f"size_px must be multiples of 8, not {size_px!r}")


def _is_command(value: object) -> bool:
    words = cast("tuple[object, ...]", value)
    return isinstance(value, tuple) and bool(words) and all(isinstance(word, str) and word for word in words)
