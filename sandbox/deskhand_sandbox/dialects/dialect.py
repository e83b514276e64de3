"""What a dialect is: two functions and a frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from deskhand_sandbox.dialects.coordinates import Frame
from deskhand_sandbox.types import Action, JsonValue, Point

Written: TypeAlias = "str | dict[str, JsonValue]"
"""One of their actions: a line of text, or an object."""
Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom of something on the screen, in the dialect's frame."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """What may be chosen in an element."""

    label: str
    box: Box | None = None
    """Where it is; None: not on the screen."""
    enabled: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """An element in which something is chosen."""

    options: tuple[Option, ...]
    """In their order."""
    drops_down: bool = False
    """They are a list of their own, outside the page, in which keys choose; otherwise they are clicked."""
    opened: bool = False
    """That list is open."""


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What the words of an action refer to."""

    frame: Frame
    """Where its coordinates lie on the screenshot."""
    pointer: Point | None = None
    """Where the pointer is (pixels of the screenshot), for actions that do not say where; None: unknown."""
    boxes: Mapping[str, Box] = field(default_factory=dict[str, Box])
    """Elements that may be named."""
    checked: Collection[str] = ()
    """Those of them that are ticked."""
    choices: Mapping[str, Choice] = field(default_factory=dict[str, Choice])
    """Those of them in which something is chosen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """A way somebody else writes actions."""

    read: Callable[[object, View], tuple[Action, ...]]
    """What they wrote, as actions; none where it asks for nothing."""
    write: Callable[[Action, View], tuple[Written, ...]]
    """An action, as they would write it: mostly one of theirs."""
    frame: Callable[[tuple[int, int]], Frame]
    """The frame they use for a screenshot of this size, unless the caller showed them something else."""
    hold: Callable[[tuple[str, ...], Action, View], tuple[Written, ...]] | None = None
    """An action with keys held meanwhile, where one of theirs says both; None: keys go down and up apart."""
