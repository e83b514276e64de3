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
from deskhand_sandbox.tools.policy import Neighbours, Network, check_network
from deskhand_sandbox.types import Task

MIN_SIDE_PX = 64
FASTEST = 1000.0
"""Most a page's time can be sped up."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BrowserSettings:
    """Settings of the backend."""

    executable: str | None = None
    """Path of a Chromium; None looks at DESKHAND_CHROMIUM, then on PATH."""
    arguments: tuple[str, ...] = ()
    """More command-line arguments for Chromium."""
    call_deadline_s: float = 20.0
    """Longest an act, observe or evaluate may take, the time an action asks for not counted."""
    reset_deadline_s: float = 60.0
    """Longest a reset or a new sandbox may take."""
    network: Network = "allow"
    """What pages of any task may reach at most; see `PageSettings.network`."""
    neighbours: Neighbours = "named"
    """Whether pages, and `Fetch`, reach this machine and the networks it stands in: like any other place,
    only hosts that the task's start address or `network` names, or not at all. Link-local addresses, as those
    of cloud metadata, are reached with "allow" alone."""
    isolation: Literal["shared", "process"] = "shared"
    """One Chromium for all sandboxes, a context each; or one for each sandbox, confined by bubblewrap where
    that is installed: more memory and a slower start, but no sandbox shares a process with another."""
    memory_mb: int = 4096
    """Most that a sandbox's own Chromium may take with all its pages (`isolation="process"`), where this
    process may make control groups: a page that takes more crashes."""
    recordings: str | None = None
    """Folder that what tasks ask to be recorded goes to."""

    def __post_init__(self) -> None:
        if isinstance(self.network, list):
            object.__setattr__(self, "network", tuple(self.network))
        if isinstance(self.arguments, list):
            object.__setattr__(self, "arguments", tuple(cast("list[object]", self.arguments)))
        if type(self.arguments) is not tuple or any(type(each) is not str for each in self.arguments):
            raise InvalidTask(f"arguments must be a list of texts, not {self.arguments!r}")
        check_text(self, "executable", "recordings")
        check_positive(self, "call_deadline_s", "reset_deadline_s")
        check_network(self.network)
        check_choice(self, "neighbours", "allow", "named", "deny")
        check_choice(self, "isolation", "shared", "process")
        check_count(self, "memory_mb")


@dataclass(frozen=True, kw_only=True, slots=True)
class PageSettings:
    """`Task.environment.settings` of a browser task."""

    url: str = "about:blank"
    """Start address; relative to the site where one is named."""
    site: str | None = None
    """Pages the backend serves itself: "miniwob"; None for the network."""
    viewport_px: tuple[int, int] = (1280, 720)
    """Width and height of the page and of its screenshots, each from `MIN_SIDE_PX` on."""
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
    preload: bool = False
    """The start page may be loaded before the reset that shows it, in a context made ready for it: it is the
    same whenever it is loaded. Our own pages always are."""
    network: Network = "allow"
    """What the pages may reach: everything, nothing but the task's own site, or a list of hosts; within what
    the backend allows."""
    page_speed: float | None = None
    """How fast time goes for the pages: 1 as it really does, 0 not at all; None leaves it alone, and nobody
    can pause it then."""
    har: bool = False
    """Record every request of the episode, as a HAR file in the backend's `recordings`."""
    video: Literal["webm", "mp4"] | None = None
    """Film the tab in front, as such a file in the backend's `recordings`."""
    dialogs: Literal["ask", "dismiss"] = "ask"
    """Whether a page's dialog waits for `AnswerDialog`, or is dismissed as it comes."""
    download_bytes: int = 50 * 1024 * 1024
    """What all downloads of an episode together may take."""
    text_tree: Literal["accessibility", "dom"] = "accessibility"
    """What a text tree shows: what a page means to a screen reader, or its elements with their attributes."""
    text_tree_nodes: int = 2000
    """Longest text tree, in lines."""
    text_tree_deadline_ms: float = 3000.0
    """How long a text tree may take; a later one is left out, and says so."""
    address: str = field(init=False, default="")
    """The start address in full."""

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "address", site_url(self.site, self.url) if self.site else self.url)

    @property
    def named(self) -> tuple[str, ...]:
        """The host it begins at, where that is no site of ours."""
        parts = urlsplit(self.address)
        return (parts.hostname,) if self.site is None and parts.hostname is not None else ()

    @property
    def has_a_past(self) -> bool:
        """An episode begins where its context does: its clock or its recording can be of no other."""
        return self.page_speed is not None or self.har or self.video is not None

    @property
    def attends_dialogs_at_load(self) -> bool:
        """A dialog of the start page waits for the agent: nothing is to be done in the page before."""
        return self.dialogs == "ask" and self.start is None and self.ready is None


def page_settings(task: Task) -> PageSettings:
    """The settings of a task; see `task_settings`."""
    return task_settings(task, "browser", PageSettings)


def _check(settings: PageSettings) -> None:
    check_size("viewport_px", settings.viewport_px, least=MIN_SIDE_PX)
    check_image(settings.image_format, settings.image_quality)
    check_positive(settings, "settle_deadline_ms", "load_deadline_s")
    check_text(settings, "ready", "start", "site")
    check_positive(settings, "text_tree_deadline_ms")
    check_choice(settings, "dialogs", "ask", "dismiss")
    check_choice(settings, "text_tree", "accessibility", "dom")
    check_network(settings.network)
    if settings.page_speed is not None:
        check_speed(settings.page_speed)
    check_count(settings, "download_bytes", "text_tree_nodes")
    if settings.video is not None:
        check_choice(settings, "video", "webm", "mp4")
    for name in ("restartable", "har", "preload"):
        value = cast("object", getattr(settings, name))
        if not isinstance(value, bool):
            raise InvalidTask(f"{name} must be true or false, not {value!r}")
    url = cast("object", settings.url)
    if not isinstance(url, str):
        raise InvalidTask(f"url must be text, not {url!r}")
    scheme = urlsplit(url).scheme
    if settings.site is None and scheme not in ("http", "https", "about", "data"):
        raise InvalidTask(f"url must start with http, https, about or data, not {settings.url!r}")


def check_choice(settings: object, name: str, *choices: str) -> None:
    """Refuse what is none of the choices."""
    value = getattr(settings, name)
    if value not in choices:
        raise InvalidTask(f"{name} must be {' or '.join(choices)}, not {value!r}")


def check_count(settings: object, *names: str) -> None:
    """Refuse what is no whole number from 1."""
    for name in names:
        value = getattr(settings, name)
        if type(value) is not int or not 1 <= value < 2**53:
            raise InvalidTask(f"{name} must be a whole number from 1, not {value!r}")


def check_speed(value: object) -> None:
    """Refuse what is no speed of time."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= FASTEST:
        raise InvalidTask(
            f"a page's time goes 0 to {FASTEST:g} times as fast as it really does, not {value!r}"
        )
