"""What the Android backend and the tasks for it can be told."""

from __future__ import annotations

from collections.abc import Mapping
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
from deskhand_sandbox.types import Task

MIN_SIDE_PX = 200
MACHINES = ("simulator", "emulator", "attached")


@dataclass(frozen=True, kw_only=True, slots=True)
class EmulatorSettings:
    """Which virtual device the SDK's emulator runs."""

    image: str = "system-images;android-34;google_apis;x86_64"
    """SDK package of the system image a new virtual device is made of."""
    profile: str = "pixel_6"
    """Hardware profile of `avdmanager list device`."""
    avd: str | None = None
    """A virtual device that is there already, by name: it stays as it is, boots anew for every task and keeps
    no snapshots. None: a new one for each sandbox, removed with it."""
    memory_mb: int = 2048
    boot_deadline_s: float = 600.0
    """How long a boot may take; minutes without hardware acceleration."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AndroidSettings:
    """Settings of the backend."""

    machine: Literal["simulator", "emulator", "attached"] = "simulator"
    """What stands behind a sandbox: a simulator of a device (runs no Android), the SDK's emulator, or devices
    that are there already."""
    serials: tuple[str, ...] = ()
    """Devices that may be used, by serial or host:port ("attached" only); one sandbox each."""
    adb: str | None = None
    """Path of adb; None looks at DESKHAND_ADB, then on PATH."""
    adb_server: str | None = None
    """host:port of a running adb server to use instead of an own one ("attached" only): for devices on USB
    that it has taken up."""
    chromium: str | None = None
    """Path of the Chromium a simulator draws with; None looks at DESKHAND_CHROMIUM, then on PATH."""
    size_px: tuple[int, int] = (412, 915)
    """Width and height of a simulator's screen."""
    unicode_keyboard: bool = True
    """Whether a simulator has ADBKeyboard installed, which types any text."""
    emulator: EmulatorSettings = field(default_factory=EmulatorSettings)
    apps: Mapping[str, str] = field(default_factory=dict[str, str])
    """Name in the launcher -> package or component, for apps that are not found by their name."""
    call_deadline_s: float = 30.0
    """Longest an act, observe or evaluate may take, the time an action asks for not counted."""
    reset_deadline_s: float = 120.0
    """Longest a reset or a new sandbox may take, an emulator's first boot not counted."""

    def __post_init__(self) -> None:
        _check_backend(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviceSettings:
    """`Task.environment.settings` of an Android task."""

    app: str | None = None
    """App that stands open at the start, by the name its launcher shows; None: the home screen."""
    install: tuple[str, ...] = ()
    """Paths of APKs on this machine that are installed first."""
    clear: tuple[str, ...] = ()
    """Packages whose data is cleared first."""
    prepare: str | None = None
    """Shell script that is run on the device first, with the seed as $SEED."""
    orientation: Literal["portrait", "landscape"] = "portrait"
    """How the screen is turned at the start."""
    steady_status_bar: bool = True
    """Let the clock and signs of the status bar stand still (Android's demo mode)."""
    image_format: Literal["png", "jpeg", "webp"] = "png"
    image_quality: int = 80
    """1 to 100; PNG ignores it."""
    settle_deadline_ms: float = 5000.0
    """How long to wait for a screen that does not come to rest."""
    still_ms: float = 50.0
    """How long a screen must not change to be at rest; a device that animates needs 200 or more."""
    ready_deadline_s: float = 60.0
    """How long installing and preparing may take together."""

    def __post_init__(self) -> None:
        _check_task(self)


def device_settings(task: Task) -> DeviceSettings:
    """The settings of a task; see `task_settings`."""
    return task_settings(task, "android", DeviceSettings)


def _check_backend(settings: AndroidSettings) -> None:
    if settings.machine not in MACHINES:
        raise InvalidTask(f"machine must be one of {', '.join(MACHINES)}, not {settings.machine!r}")
    check_nested(settings, "emulator", EmulatorSettings)
    for name in ("serials", "size_px"):
        if isinstance(value := getattr(settings, name), list):
            object.__setattr__(settings, name, tuple(cast("list[object]", value)))
    _check_words("serials", settings.serials)
    if settings.machine == "attached" and not settings.serials:
        raise InvalidTask("serials must name the devices that may be used: `adb devices` lists them")
    if settings.machine != "attached" and (settings.serials or settings.adb_server):
        raise InvalidTask("serials and adb_server are for attached devices: say machine='attached'")
    check_size("size_px", settings.size_px, least=MIN_SIDE_PX)
    check_positive(settings, "call_deadline_s", "reset_deadline_s")
    check_positive(settings.emulator, "memory_mb", "boot_deadline_s")
    check_text(settings.emulator, "image", "profile", "avd")
    check_text(settings, "adb", "adb_server", "chromium")


def _check_task(settings: DeviceSettings) -> None:
    _check_words("install", settings.install)
    _check_words("clear", settings.clear)
    check_text(settings, "app", "prepare")
    if settings.orientation not in ("portrait", "landscape"):
        raise InvalidTask(f"orientation must be portrait or landscape, not {settings.orientation!r}")
    steady = cast("object", settings.steady_status_bar)
    if not isinstance(steady, bool):
        raise InvalidTask(f"steady_status_bar must be true or false, not {steady!r}")
    check_image(settings.image_format, settings.image_quality)
    check_positive(settings, "settle_deadline_ms", "still_ms", "ready_deadline_s")


def _check_words(name: str, value: object) -> None:
    words = cast("tuple[object, ...]", value) if isinstance(value, tuple) else None
    if words is None or not all(isinstance(word, str) and word for word in words):
        raise InvalidTask(f"{name} must be a list of texts, not {value!r}")
