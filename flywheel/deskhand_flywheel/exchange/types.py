"""What goes through every format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from deskhand_agent.types import Trajectory
from deskhand_flywheel.types import StepScore


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """An episode with what was said of it."""

    trajectory: Trajectory
    """Every picture with its bytes."""
    scores: tuple[StepScore, ...] = ()
    unread: int = 0
    """Turns of others' whose action could not be read; they are there, as turns without one."""
    first_left_out: bool = False
    """Others kept no picture of the first screen: their first turn is left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guidance:
    """What files of others leave open; of no consequence for what Deskhand wrote."""

    policy_id: str = "imported"
    """Who is to be named as having played."""
    examples: Path | None = None
    """OSWorld's `evaluation_examples`, where the instructions are; None: they stay empty."""
    dialect: str = "ui_tars"
    """Whose actions and coordinates conversations are written in: a name of `deskhand_sandbox.dialects`."""
    succeeded: bool = False
    """Episodes without a verdict are demonstrations, to be taken for successes."""


Progress: TypeAlias = Callable[[int, int | None], None]
"""Told how many episodes are done, and of how many (None: not known yet)."""
Add: TypeAlias = Callable[[Recorded], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Format:
    """One kind of files."""

    name: str
    write: Callable[[Path], AbstractContextManager[Add]]
    """Into an empty folder; the files are whole when the context ends."""
    found: Callable[[Path], bool] = lambda path: False
    """Whether a path holds files of this kind."""
    read: Callable[[Path, Guidance], Iterator[Recorded]] | None = None
    """Every episode there, in order; raises `DamagedInput`. None: it only goes out."""
