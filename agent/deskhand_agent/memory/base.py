"""What every strategy answers: when the model is to write, and what it is shown of the past.

A strategy keeps nothing itself. All it knows it reads off the recorded turns, so that a prompt can be built
again at training time, in another process, from the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from deskhand_agent.types import Step


@dataclass(frozen=True, kw_only=True, slots=True)
class Recall:
    """What of the past is shown in one turn."""

    written: str = ""
    """What the model wrote in place of turns; empty when there is nothing."""
    dropped: int = 0
    """Turns before `steps` that are not shown, and that nothing stands in place of."""
    steps: tuple[Step, ...]
    """Turns shown, oldest first: the last few whole, the ones before as lines."""
    reminder: str = ""
    """What the model is told each turn, so that it writes what it will need."""


class Memory(Protocol):
    """One strategy, under one policy's settings."""

    heading: str
    """What stands before that which the model wrote."""
    question: str
    """With what the model is asked to write in place of an action; empty: it never is."""

    def due(self, steps: Sequence[Step]) -> bool:
        """Whether the model is to be asked to write before it acts again."""
        ...

    def recall(self, steps: Sequence[Step]) -> Recall:
        """What is shown of these turns, oldest first."""
        ...


def writings(steps: Sequence[Step]) -> tuple[str, ...]:
    """What the model wrote where it was asked to, oldest first."""
    return tuple(step.decision.summary for step in steps if step.decision.summary is not None)


def turns(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The turns in which it was asked for an action."""
    return tuple(step for step in steps if step.decision.summary is None)


def since_writing(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The turns after the one in which it last wrote; all where it never did."""
    for number in range(len(steps) - 1, -1, -1):
        if steps[number].decision.summary is not None:
            return tuple(steps[number + 1 :])
    return tuple(steps)


def newest_within(lines: Sequence[str], room: int) -> tuple[str, ...]:
    """The newest of the lines, oldest first, that have so many characters in all, line ends included."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return tuple(reversed(kept))
