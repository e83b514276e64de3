"""The words of a sandbox: actions, observations, tasks, outcomes.

One coordinate frame: integer pixels of the screenshot last observed, origin top left. Any other frame
(model pixels, 0..1000, device pixels) has a converter next to the code that needs it, tested both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal

from deskhand_sandbox.actions import SCROLL_NOTCH_PX as SCROLL_NOTCH_PX
from deskhand_sandbox.actions import Action as Action
from deskhand_sandbox.actions import Answer as Answer
from deskhand_sandbox.actions import AnswerDialog as AnswerDialog
from deskhand_sandbox.actions import AskUser as AskUser
from deskhand_sandbox.actions import Button as Button
from deskhand_sandbox.actions import CallTool as CallTool
from deskhand_sandbox.actions import Click as Click
from deskhand_sandbox.actions import ControlAction as ControlAction
from deskhand_sandbox.actions import DeviceAction as DeviceAction
from deskhand_sandbox.actions import Drag as Drag
from deskhand_sandbox.actions import EditFile as EditFile
from deskhand_sandbox.actions import Fail as Fail
from deskhand_sandbox.actions import Fetch as Fetch
from deskhand_sandbox.actions import Finish as Finish
from deskhand_sandbox.actions import History as History
from deskhand_sandbox.actions import JsonValue as JsonValue
from deskhand_sandbox.actions import KeyDown as KeyDown
from deskhand_sandbox.actions import KeyUp as KeyUp
from deskhand_sandbox.actions import MovePointer as MovePointer
from deskhand_sandbox.actions import Navigate as Navigate
from deskhand_sandbox.actions import OpenApp as OpenApp
from deskhand_sandbox.actions import Point as Point
from deskhand_sandbox.actions import PointerDown as PointerDown
from deskhand_sandbox.actions import PointerUp as PointerUp
from deskhand_sandbox.actions import Press as Press
from deskhand_sandbox.actions import ReadFile as ReadFile
from deskhand_sandbox.actions import Region as Region
from deskhand_sandbox.actions import Run as Run
from deskhand_sandbox.actions import Scroll as Scroll
from deskhand_sandbox.actions import Swipe as Swipe
from deskhand_sandbox.actions import Tab as Tab
from deskhand_sandbox.actions import Touch as Touch
from deskhand_sandbox.actions import TypeText as TypeText
from deskhand_sandbox.actions import Upload as Upload
from deskhand_sandbox.actions import Wait as Wait
from deskhand_sandbox.actions import WriteFile as WriteFile
from deskhand_sandbox.actions import Zoom as Zoom

# ---- what comes back --------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """A picture, named by its content."""

    digest: str
    """BLAKE3 of the encoded bytes, lower-case hex, 64 characters."""
    format: Literal["png", "jpeg", "webp"]
    width_px: int
    height_px: int
    data: bytes | None = field(default=None, repr=False, compare=False)
    """Encoded bytes; None when they are to be fetched from the blob store by digest."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """What the agent can see after a reset or an action."""

    screenshot: Image
    captured_at_s: float
    """Unix time of the screenshot."""
    settled_ms: float
    """Time from the action's end until the screen was taken for still."""
    settled: bool = True
    """False when the settle deadline came first: the picture may show a change under way."""
    url: str | None = None
    """Address in front; None where there is no such thing."""
    text_tree: str | None = None
    """Accessibility tree or DOM outline; None unless asked for, and where nothing answers just now."""
    dialog: str | None = None
    """Dialog that waits for `AnswerDialog`, which no screenshot shows: "confirm: Delete it?"; None: none."""
    terminal: str | None = None
    """Terminal screen as text; None unless one is open."""
    output: str | None = None
    """What the last action returned (commands, files, tools), or all those of a reply together; None for
    pointer and keyboard."""
    region: Region | None = None
    """The part of the screen that the screenshot shows enlarged, after `Zoom`; None: all of it."""

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the screenshot, the frame of every coordinate."""
        return self.screenshot.width_px, self.screenshot.height_px

    @property
    def timeless(self) -> Observation:
        """The same without when it was seen: equal where two show the same, by picture and by text."""
        return replace(self, captured_at_s=0.0, settled_ms=0.0, settled=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """A task set up in a sandbox, ready for the first decision."""

    instruction: str
    """The task's instruction; drawn by the page from the seed where the task leaves it empty."""
    observation: Observation


@dataclass(frozen=True, kw_only=True, slots=True)
class StepReward:
    """What an environment with rewards of its own says after one action."""

    reward: float
    terminated: bool
    """The environment ended the episode by itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """A verifier's verdict on a whole episode."""

    score: float
    """0 (not done) to 1 (done)."""
    success: bool
    detail: str = ""
    """Why, for a person to read."""


# ---- tasks ------------------------------------------------------------------------------------------


class Split(StrEnum):
    """Which seeds and tasks may be used for what."""

    TRAIN = "train"
    VALIDATION = "validation"
    """Chooses checkpoints."""
    TEST = "test"
    """Reported figures only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """When an episode is cut off (truncated, not terminated)."""

    turns: int = 30
    seconds: float = 300.0
    questions: int = 3
    """So many of an episode's questions the user answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentSpec:
    """Which kind of sandbox a task needs, and in which state it starts."""

    kind: str
    """A name in the sandbox registry: "fake", "browser", …"""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of that kind (start address, viewport, …), checked by the backend."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifierSpec:
    """Which verifier scores the task."""

    name: str
    """A name in the verifier registry."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """Something to be done in a sandbox."""

    id: str
    """Family and name, e.g. "miniwob/click-test"; with `seed` it names one start state."""
    environment: EnvironmentSpec
    verifier: VerifierSpec
    instruction: str = ""
    """Empty where set-up draws it from the seed: then `Start.instruction` has it."""
    seed: int = 0
    limits: Limits = field(default_factory=Limits)
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the instruction leaves out and the user says when asked: topic -> what it is ("color" -> "red").
    Empty: there is nobody to ask."""
