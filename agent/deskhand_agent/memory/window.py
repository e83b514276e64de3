"""The last turns and nothing before them (DeepMiner, arXiv:2510.08276)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskhand_agent.memory.base import Recall, since_writing, writings

if TYPE_CHECKING:
    from deskhand_agent.types import Step


class Window:
    """Shows every turn there is room for; where somebody summed up, what he wrote and the turns after it."""

    heading = "Your summary of what was before:"
    question = ""

    def due(self, steps: Sequence[Step]) -> bool:
        """Never."""
        return False

    def recall(self, steps: Sequence[Step]) -> Recall:
        """All turns, or those after the last summary."""
        written = writings(steps)
        return Recall(written=written[-1] if written else "", steps=since_writing(steps))
