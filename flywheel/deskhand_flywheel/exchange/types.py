"""What goes through every format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from deskhand_agent.types import Trajectory
from deskhand_flywheel.types import Note, OutcomeScore, StepScore, StepValue


@dataclass(frozen=True, kw_only=True, slots=True)
class Remarks:
    """What was said of an episode, by whom and when: everything the store has that cannot be had again."""

    scores: tuple[StepScore, ...] = ()
    """Of models, judges and people."""
    outcome_scores: tuple[OutcomeScore, ...] = ()
    step_values: tuple[StepValue, ...] = ()
    notes: tuple[Note, ...] = ()

    def of_steps(self) -> Mapping[int, Remarks]:
        """Those on single steps, by the step's index; nothing where nobody said anything."""
        scores: defaultdict[int, list[StepScore]] = defaultdict(list)
        values: defaultdict[int, list[StepValue]] = defaultdict(list)
        notes: defaultdict[int, list[Note]] = defaultdict(list)
        for score in self.scores:
            scores[score.step_index].append(score)
        for value in self.step_values:
            values[value.step_index].append(value)
        for note in self.notes:
            notes[note.step_index].append(note)
        return {
            index: Remarks(
                scores=tuple(scores[index]), step_values=tuple(values[index]), notes=tuple(notes[index])
            )
            for index in {*scores, *values, *notes}
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """An episode with what was said of it."""

    trajectory: Trajectory
    """Every picture with its bytes."""
    remarks: Remarks = Remarks()
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
    unpacked_in: Path | None = None
    """Where an archive was unpacked: no name from there up says anything. None: it was no archive."""
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
    growing: Callable[[Path], Collection[Path]] = lambda folder: ()
    """Files of the folder that episodes to come may still change; all others are whole already."""
    found: Callable[[Path], bool] = lambda path: False
    """Whether a path holds files of this kind."""
    read: Callable[[Path, Guidance], Iterator[Recorded]] | None = None
    """Every episode there, in order; raises `DamagedInput`. None: it only goes out."""
