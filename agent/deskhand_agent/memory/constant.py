"""One internal state, written anew in every turn, and nothing else kept (MEM1, arXiv:2506.15841).

The state is the thought before the action: what the model reasons with is what it remembers. The next turn
shows it with the action it led to, and drops both for the one after.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskhand_agent.memory.base import Recall, turns

if TYPE_CHECKING:
    from deskhand_agent.types import Step

REMEMBER = (
    "Begin your reply with <think>…</think> and write into it all that you have to remember: of the turns "
    "before you see that and your last action alone."
)
"""What the model is told each turn."""


class Constant:
    """The last thought and the last turn."""

    heading = "What you keep in mind:"
    question = ""

    def due(self, steps: Sequence[Step]) -> bool:
        """Never: it writes as it acts."""
        return False

    def recall(self, steps: Sequence[Step]) -> Recall:
        """The state as it was last written; a turn without a thought leaves it as it was."""
        acted = turns(steps)
        states = (step.decision.thought for step in reversed(acted) if step.decision.thought is not None)
        return Recall(
            written=next(states, ""),
            dropped=max(0, len(acted) - 1),
            steps=acted[-1:],
            reminder=REMEMBER,
        )
