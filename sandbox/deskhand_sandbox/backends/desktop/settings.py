"""What the desktop backend and the tasks for it can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast

from deskhand_sandbox.backends.settings_checks import (
    check_image,
    check_nested,
    check_positive,
    check_size,
    check_text,
    task_settings,
)
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.isolation import Limits
from deskhand_sandbox.types import Task

MIN_SIDE_PX = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class DesktopSettings:
    """Settings of the backend."""

    limits: Limits = field(default_factory=lambda: Limits(memory_mb=2048, processes=256, cpus=2.0))
    """What all programs of one desktop may take together."""
    host_loopback: bool = False
    """Whether tasks with a network reach what this machine serves on its loopback too, at 10.0.2.2 there."""
    spares: int = 1
    """Desktops made ready in advance, from the second one needed on, so that a reset waits for none."""
    call_deadline_s: float = 20.0
    """Longest an act or observe may take, the time an action asks for not counted."""
    reset_deadline_s: float = 60.0
    """Longest a reset or a new sandbox may take."""

    def __post_init__(self) -> None:
        check_nested(self, "limits", Limits)
        _check_limits(self.limits)
        if type(self.host_loopback) is not bool:
            raise InvalidTask(f"host_loopback must be true or false, not {self.host_loopback!r}")
        if type(self.spares) is not int or self.spares < 0:
            raise InvalidTask(f"spares must be a whole number from 0, not {self.spares!r}")
        check_positive(self, "call_deadline_s", "reset_deadline_s")


@dataclass(frozen=True, kw_only=True, slots=True)
class ScreenSettings:
    """`Task.environment.settings` of a desktop task."""

    applications: tuple[tuple[str, ...], ...] = ()
    """Command lines of the programs that stand open at the start; each opens a window."""
    prepare: str | None = None
    """Shell script that is run in the home first, with the seed as $SEED: files the task is about."""
    network: Literal["allow", "deny"] = "deny"
    """Whether programs reach the network that this machine reaches; by default they have none."""
    size_px: tuple[int, int] = (1280, 720)
    """Width and height of the screen."""
    image_format: Literal["png", "jpeg", "webp"] = "png"
    image_quality: int = 80
    """1 to 100; PNG ignores it."""
    text_tree_nodes: int = 2000
    """Most lines of a text tree."""
    text_tree_deadline_ms: float = 3000.0
    """After this the rest of a text tree is left out."""
    settle_deadline_ms: float = 3000.0
    """How long to wait for a screen that does not come to rest."""
    still_ms: float = 80.0
    """How long a screen must not change to be at rest."""
    ready_deadline_s: float = 30.0
    """How long preparing may take, and how long the programs until their windows are there."""

    def __post_init__(self) -> None:
        _check(self)


def screen_settings(task: Task) -> ScreenSettings:
    """The settings of a task; see `task_settings`."""
    return task_settings(task, "desktop", ScreenSettings)


def _check_limits(limits: Limits) -> None:
    for name in ("memory_mb", "processes", "file_mb"):
        value = getattr(limits, name)
        if type(value) is not int or value < 1:
            raise InvalidTask(f"limits: {name} must be a whole number from 1, not {value!r}")
    check_positive(limits, "cpus")


def _check(settings: ScreenSettings) -> None:
    check_size("size_px", settings.size_px, least=MIN_SIDE_PX)
    commands = cast("object", settings.applications)
    if not (isinstance(commands, tuple) and all(map(_is_command, cast("tuple[object, ...]", commands)))):
        raise InvalidTask(f"applications must be lists of words, a program first, not {commands!r}")
    if settings.network not in ("allow", "deny"):
        raise InvalidTask(
            f'network must be "allow" or "deny", not {settings.network!r}: a desktop knows no lists of hosts'
        )
    check_image(settings.image_format, settings.image_quality)
    check_positive(
        settings,
        "settle_deadline_ms",
        "still_ms",
        "ready_deadline_s",
        "text_tree_nodes",
        "text_tree_deadline_ms",
    )
    check_text(settings, "prepare")


def _is_command(value: object) -> bool:
    words = cast("tuple[object, ...]", value)
    return isinstance(value, tuple) and bool(words) and all(isinstance(word, str) and word for word in words)
