"""Notes that the model inserts, updates and deletes one by one (Mem-α, arXiv:2509.25911)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deskhand_agent.memory.base import Recall, since_writing, writings

if TYPE_CHECKING:
    from deskhand_agent.types import Step

OPERATE = (
    "Do not act now. Bring your notes up to date: from now on you see them in place of the turns before. "
    "Each change is a line of its own:\ninsert: TEXT\nupdate NUMBER: TEXT\ndelete NUMBER"
)
"""What changes are asked for with."""
_OPERATION = re.compile(
    r"insert:\s*(?P<new>.+)|update (?P<old>\d{1,9}):\s*(?P<text>.+)|delete (?P<gone>\d{1,9})"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Notes:
    """What is noted at one time."""

    texts: Mapping[int, str] = field(default_factory=dict[int, str])
    """Number to text, least recently written first. Numbers are given once."""
    given: int = 0
    """Numbers given so far."""
    refused: int = 0
    """Lines of the last writing that were no change: unreadable, of a note that is not there, or too long."""

    def __str__(self) -> str:
        lines = [f"{number}. {self.texts[number]}" for number in sorted(self.texts)]
        if self.refused:
            lines.append(f"({self.refused} lines of your last changes could not be carried out)")
        return "\n".join(lines)


def changed(notes: Notes, writing: str, *, chars: int) -> Notes:
    """The notes after the changes of one writing; a line that is none changes nothing, and is counted.

    Args:
        chars: of all notes together, line ends included; the least recently written make room.
    """
    texts, given, refused = dict(notes.texts), notes.given, 0
    for line in filter(None, (" ".join(line.split()) for line in writing.splitlines())):
        found = _OPERATION.fullmatch(line)
        number = int(found["old"] or found["gone"] or given + 1) if found else 0
        text = found["new"] or found["text"] if found else None
        known = found is not None and (found["new"] is not None or number in texts)
        if not known or (text is not None and _chars(number, text) > chars):
            refused += 1
            continue
        texts.pop(number, None)
        if text is not None:
            texts[number] = text
            given = max(given, number)
        while sum(_chars(number, text) for number, text in texts.items()) > chars:
            del texts[next(iter(texts))]
    return Notes(texts=texts, given=given, refused=refused)


class Operations:
    """The notes as the changes left them, and the turns since the last changes."""

    heading = "Your notes:"
    question = OPERATE

    def __init__(self, *, after: int, chars: int) -> None:
        """
        Args:
            after: turns after which changes are asked for.
            chars: of all notes together, at most.
        """
        self._after, self._chars = after, chars

    def due(self, steps: Sequence[Step]) -> bool:
        """After so many turns without changes."""
        return len(since_writing(steps)) >= self._after

    def recall(self, steps: Sequence[Step]) -> Recall:
        """All changes carried out in order."""
        notes = Notes()
        for writing in writings(steps):
            notes = changed(notes, writing, chars=self._chars)
        return Recall(written=str(notes), steps=since_writing(steps))


def _chars(number: int, text: str) -> int:
    return len(f"{number}. {text}\n")
