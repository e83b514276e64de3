"""Working memory and, before it, a note on each stretch of turns (UI-TARS-2, arXiv:2509.02544).

Working memory is the last turns whole. Episodic memory is what the model noted of each stretch: what it
intended and what came of it. Unlike a summary, a note takes the place of its own stretch alone, and the ones
before it stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskhand_agent.memory.base import Recall, newest_within, since_writing, turns, writings
from deskhand_agent.memory.room import each_within

if TYPE_CHECKING:
    from deskhand_agent.types import Step

NOTE = (
    "Do not act now. Write one line on the turns since your last note: what you intended, and what came of "
    "it. You see it in their place from now on, after the notes before."
)
"""What a note is asked for with."""


class Episodic:
    """Notes, the newest there is room for, and the turns since the last one; the last few stay whole."""

    heading = "Your notes on what was before:"
    question = NOTE

    def __init__(self, *, after: int, chars: int, working: int) -> None:
        """
        Args:
            after: turns after which a note is asked for.
            chars: of all notes together, at most; a note longer than that is cut.
            working: turns that stay shown when they have been noted.
        """
        self._after, self._chars, self._working = after, chars, working

    def due(self, steps: Sequence[Step]) -> bool:
        """After so many turns without a note."""
        return len(since_writing(steps)) >= self._after

    def recall(self, steps: Sequence[Step]) -> Recall:
        """The notes, then the turns since, or the working memory's where those are more."""
        lines = [f"{n}. {' '.join(text.split())}" for n, text in enumerate(writings(steps), start=1)]
        notes = newest_within(each_within(lines, self._chars), self._chars)
        shown = max(len(since_writing(steps)), self._working)
        acted = turns(steps)
        return Recall(written="\n".join(notes), steps=acted[max(0, len(acted) - shown) :])
