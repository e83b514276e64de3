"""What an agent can do; read them in `deskhand_sandbox.types`, where all the words of a sandbox are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
Button: TypeAlias = Literal["left", "middle", "right"]
Point: TypeAlias = tuple[int, int]
Region: TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels of the screen, the last two just beyond."""

SCROLL_NOTCH_PX = 100
"""Pixels one notch of a mouse wheel stands for, where a device counts notches."""


# ---- actions a sandbox carries out ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Click:
    """Press and release a pointer button, `count` times in quick succession (2 = double click)."""

    x: int
    y: int
    button: Button = "left"
    count: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class MovePointer:
    """Move the pointer without pressing anything."""

    x: int
    y: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerDown:
    """Press a pointer button where the pointer is and hold it."""

    button: Button = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class PointerUp:
    """Release a held pointer button where the pointer is."""

    button: Button = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Drag:
    """Press at the first point, pass through the others, release at the last."""

    path: tuple[Point, ...]
    """At least two points."""
    button: Button = "left"


@dataclass(frozen=True, kw_only=True, slots=True)
class Scroll:
    """Turn the wheel with the pointer at (x, y)."""

    x: int
    y: int
    dx_px: int = 0
    """Positive shows what is further right."""
    dy_px: int = 0
    """Positive shows what is further down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Touch:
    """Put a finger on the screen for `hold_ms` (a long press from about 500)."""

    x: int
    y: int
    hold_ms: int = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Swipe:
    """Draw a finger along `path`."""

    path: tuple[Point, ...]
    """At least two points."""
    duration_ms: int = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class TypeText:
    """Type text where the focus is; a trailing newline presses Enter. Any Unicode text."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Press:
    """Press keys together and release them in reverse: ("Control", "c")."""

    keys: tuple[str, ...]
    """W3C `KeyboardEvent.key` names: "a", "Enter", "Control", "ArrowDown"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyDown:
    """Hold one key."""

    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyUp:
    """Release one held key."""

    key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Wait:
    """Let time pass; the observation after it is taken when the screen has settled."""

    seconds: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Navigate:
    """Open an address in the tab in front."""

    url: str


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """Go back, forward or reload in the tab in front; "home" and "back" are a device's buttons too."""

    to: Literal["back", "forward", "reload", "home"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Tab:
    """Open, bring to the front, or close a tab."""

    do: Literal["open", "focus", "close"]
    index: int | None = None
    """Which tab, left to right from 0; None for the one in front, and for "open"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """Click at (x, y) and give the file chooser this opens files of the sandbox."""

    x: int
    y: int
    paths: tuple[str, ...]
    """At least one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerDialog:
    """Answer the dialog that stands in the page's way (alert, confirm, prompt)."""

    accept: bool = True
    text: str = ""
    """What a prompt is answered with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenApp:
    """Start an application, or bring it to the front, by the name its launcher shows."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run a shell command in the sandbox's terminal; its output is the observation's `output`."""

    command: str
    timeout_s: float = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFile:
    """Read a text file of the sandbox into the observation's `output`."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WriteFile:
    """Create or replace a text file of the sandbox."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class EditFile:
    """Replace a passage of a text file of the sandbox, which holds it exactly once."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetch:
    """Ask a web address from inside the sandbox, where its network policy lets it; the answer's status and
    text are the observation's `output`."""

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] = "GET"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTool:
    """Call a named tool; its result is the observation's `output`."""

    name: str
    arguments: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


# ---- actions the episode loop handles ---------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """Say the answer the task asks for; the episode goes on."""

    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish:
    """End the episode: the agent holds the task for done."""

    text: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fail:
    """End the episode: the agent holds the task for impossible."""

    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class AskUser:
    """Ask the person (or simulated user) and go on with the reply."""

    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Zoom:
    """Look closer: the next observation is a part of the screen enlarged, and coordinates are pixels of it
    until something is done."""

    start: Point
    """One corner of the part, itself in it."""
    end: Point
    """The corner across."""


DeviceAction: TypeAlias = (
    Click
    | MovePointer
    | PointerDown
    | PointerUp
    | Drag
    | Scroll
    | Touch
    | Swipe
    | TypeText
    | Press
    | KeyDown
    | KeyUp
    | Wait
    | Navigate
    | History
    | Tab
    | Upload
    | AnswerDialog
    | OpenApp
    | Run
    | ReadFile
    | WriteFile
    | EditFile
    | Fetch
    | CallTool
)
"""What `Sandbox.act` takes."""

ControlAction: TypeAlias = Answer | Finish | Fail | AskUser | Zoom
"""What the episode loop handles itself; a sandbox never sees these."""

Action: TypeAlias = DeviceAction | ControlAction
