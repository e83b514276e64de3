"""Ending episodes of which nothing would come: the process score stays low (ActiveVLN, arXiv:2509.12618).

Counted, never silent: such an episode ends as "doomed", with the verdict on the state it left.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from deskhand_agent.types import Step
from deskhand_trainer.rollouts import sample_of
from deskhand_trainer.types import TrainingSample

Scorer = Callable[[Sequence[TrainingSample]], Awaitable[Sequence[float]]]
"""Turns -> score of each, 0 to 1: `ProcessRewardModel.turn_scores` in a `ScoringThread` of its own."""


class LowScores:
    """A `Watcher`: so many steps in a row of an attempt were scored below a threshold."""

    def __init__(self, score: Scorer, *, below: float, steps: int) -> None:
        """
        Args:
            score: where it comes too late it says nothing: the step counts as well scored.
        """
        self._score, self._below, self._steps = score, below, steps
        self._low = 0
        """Steps in a row."""

    async def doomed(self, attempt: Sequence[Step]) -> bool:
        if len(attempt) == 1:
            self._low = 0
        sample = sample_of(attempt[-1])
        score = None if sample is None else await self._of(sample)
        self._low = self._low + 1 if score is not None and score < self._below else 0
        return self._low >= self._steps

    async def _of(self, sample: TrainingSample) -> float | None:
        try:
            (score,) = await self._score([sample])
        except TimeoutError:
            return None
        return score
