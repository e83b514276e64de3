"""What the browser backend and the tasks for it can be told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast
from urllib.parse import urlsplit

from deskhand_sandbox.backends.browser.sites import site_url
from deskhand_sandbox.errors import InvalidTask, UnknownName
from deskhand_sandbox.types import Task

MAX_SIDE_PX = 8192


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
    """The settings of a task, checked.

    Raises:
        InvalidTask: another kind of task, an unknown setting (with the nearest known), a wrong value.
    """
    if task.environment.kind != "browser":
        raise InvalidTask(f"task {task.id} is for a {task.environment.kind} sandbox, not for a browser")
    known = {each.name for each in dataclasses.fields(PageSettings) if each.init}
    values: dict[str, object] = dict(cast("Mapping[str, object]", task.environment.settings))
    for name in values:
        if name not in known:
            raise InvalidTask(f"task {task.id}: {UnknownName('browser setting', name, known)}")
    size = values.get("viewport_px")
    if isinstance(size, list | tuple):
        values["viewport_px"] = tuple(cast("list[object]", size))
    try:
        return PageSettings(**values)  # pyright: ignore[reportArgumentType]  # checked in __post_init__
    except InvalidTask as error:
        raise InvalidTask(f"task {task.id}: {error}") from None


def _check(settings: PageSettings) -> None:
    # the values come from JSON: whatever the annotations say, they may be anything
    size = cast("object", settings.viewport_px)
    if not (
        isinstance(size, tuple)
        and len(cast("tuple[object, ...]", size)) == 2
        and all(type(side) is int and 1 <= side <= MAX_SIDE_PX for side in cast("tuple[int, ...]", size))
    ):
        raise InvalidTask(f"viewport_px must be two whole numbers from 1 to {MAX_SIDE_PX}, not {size!r}")
    if settings.image_format not in ("png", "jpeg", "webp"):
        raise InvalidTask(f"image_format must be png, jpeg or webp, not {settings.image_format!r}")
    if type(settings.image_quality) is not int or not 1 <= settings.image_quality <= 100:
        raise InvalidTask(
            f"image_quality must be a whole number from 1 to 100, not {settings.image_quality!r}"
        )
    for name in ("settle_deadline_ms", "load_deadline_s"):
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 3_600_000:
            raise InvalidTask(f"{name} must be a positive number, not {value!r}")
    for name in ("ready", "start", "site"):
        value = getattr(settings, name)
        if value is not None and not isinstance(value, str):
            raise InvalidTask(f"{name} must be text or nothing, not {json.dumps(value, default=repr)}")
    restartable = cast("object", settings.restartable)
    if not isinstance(restartable, bool):
        raise InvalidTask(f"restartable must be true or false, not {restartable!r}")
    url = cast("object", settings.url)
    if not isinstance(url, str):
        raise InvalidTask(f"url must be text, not {url!r}")
    scheme = urlsplit(url).scheme
    if settings.site is None and scheme not in ("http", "https", "about", "data"):
        raise InvalidTask(f"url must start with http, https, about or data, not {settings.url!r}")
