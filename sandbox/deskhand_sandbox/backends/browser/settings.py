"""What the browser backend and the tasks for it can be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, cast
from urllib.parse import urlsplit

from deskhand_sandbox.backends.browser.sites import site_url
from deskhand_sandbox.backends.settings_checks import (
    check_image,
    check_positive,
    check_size,
    check_text,
    task_settings,
)
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class BrowserSettings:
    """Settings of the backend: one Chromium for all its sandboxes."""

    executable: str | None = None
    """Path of a Chromium; None looks at DESKHAND_CHROMIUM, then on PATH."""
    arguments: tuple[str, ...] = ()
    """More command-line arguments for Chromium."""
    call_deadline_s: float = 20.0
    """Longest an act, observe or evaluate may take, the time an action asks for not counted."""
    reset_deadline_s: float = 60.0
    """Longest a reset or a new sandbox may take."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSettings:
    """`Task.environment.settings` of a browser task."""

    url: str = "about:blank"
    """Start address; relative to the site where one is named."""
    site: str | None = None
    """Pages the backend serves itself: "miniwob"; None for the network."""
    viewport_px: tuple[int, int] = (1280, 720)
    """Width and height of the page and of its screenshots."""
    image_format: Literal["png", "jpeg", "webp"] = "png"
    image_quality: int = 80
    """1 to 100; PNG ignores it."""
    settle_deadline_ms: float = 3000.0
    """How long to wait for a screen that does not come to rest."""
    load_deadline_s: float = 30.0
    """How long the start page may take."""
    ready: str | None = None
    """JavaScript that is true once the start page may be begun; None when loading is enough."""
    start: str | None = None
    """JavaScript function of the seed that draws the start state and returns the instruction."""
    restartable: bool = False
    """Calling `start` again in a used page gives a clean start state: nothing need be loaded for a reset."""
    address: str = field(init=False, default="")
    """The start address in full."""

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "address", site_url(self.site, self.url) if self.site else self.url)


def page_settings(task: Task) -> PageSettings:
    """The settings of a task; see `task_settings`."""
    return task_settings(task, "browser", PageSettings)


def _check(settings: PageSettings) -> None:
    check_size("viewport_px", settings.viewport_px)
    check_image(settings.image_format, settings.image_quality)
    check_positive(settings, "settle_deadline_ms", "load_deadline_s")
    check_text(settings, "ready", "start", "site")
    restartable = cast("object", settings.restartable)
    if not isinstance(restartable, bool):
        raise InvalidTask(f"restartable must be true or false, not {restartable!r}")
    url = cast("object", settings.url)
    if not isinstance(url, str):
        raise InvalidTask(f"url must be text, not {url!r}")
    scheme = urlsplit(url).scheme
    if settings.site is None and scheme not in ("http", "https", "about", "data"):
        raise InvalidTask(f"url must start with http, https, about or data, not {settings.url!r}")
