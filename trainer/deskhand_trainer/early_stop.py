"""Ending episodes of which nothing would come: the process score stays low (ActiveVLN, arXiv:2509.12618).

Counted, never silent: such an episode ends as "doomed", with the verdict on the state it left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from deskhand_agent.types import Step
from deskhand_trainer.rollouts import sample_of
from deskhand_trainer.types import TrainingSample

Scorer = Callable[[Sequence[TrainingSample]], Sequence[float]]
"""Turns -> score of each, 0 to 1: `ProcessRewardModel.turn_scores`."""


class LowScores:
    """A `Watcher`: so many steps in a row were scored below a threshold."""

    def __init__(self, score: Scorer, *, below: float, steps: int, timeout_s: float) -> None:
        """
        Args:
            score: called in a thread.
            timeout_s: a score that takes longer says nothing: the step counts as well scored.
        """
        self._score, self._below, self._steps, self._timeout_s = score, below, steps, timeout_s
        self._low = 0
        """Steps in a row."""

    async def doomed(self, step: Step) -> bool:
        sample = sample_of(step)
        score = None if sample is None else await self._of(sample)
        self._low = self._low + 1 if score is not None and score < self._below else 0
        return self._low >= self._steps

    async def _of(self, sample: TrainingSample) -> float | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                (score,) = await asyncio.to_thread(self._score, [sample])
        except TimeoutError:
            return None
        return score
