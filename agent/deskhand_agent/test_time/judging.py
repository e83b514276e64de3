"""What scores candidates of one decision: the flywheel's process reward model is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from deskhand_agent.types import Context, Decision


class StepJudge(Protocol):
    """P(step helps), as somebody sees it."""

    async def scores(self, context: Context, candidates: Sequence[Decision]) -> Sequence[float]:
        """A score from 0 to 1 for each candidate of the turn to be decided, in order.

        Raises:
            InferenceError: they could not be read.
        """
        ...
