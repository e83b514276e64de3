"""Steps that are left out because their gradient is not finite: one on NaN would end all weights."""

from __future__ import annotations

import logging

from torch import Tensor

from deskhand_sandbox import logs
from deskhand_trainer.errors import TrainingDiverged

log = logging.getLogger(__name__)


class SkippedSteps:
    """Counts them, and ends a training that goes nowhere."""

    def __init__(self, most: int, *, lower: str) -> None:
        """
        Args:
            most: in a row.
            lower: the rate that is too high, as the config calls it.
        """
        self._most, self._lower = most, lower
        self.count, self.in_row = 0, 0

    def left_out(self, norm: Tensor) -> bool:
        """Whether a step of this gradient norm is to be left out; it is counted.

        Raises:
            TrainingDiverged: no gradient was finite in `most` steps in a row.
        """
        if norm.isfinite():
            self.in_row = 0
            return False
        self.count += 1
        self.in_row += 1
        logs.say(log, "a step was left out: its gradient was not finite", level=logging.WARNING)
        if self.in_row >= self._most:
            raise TrainingDiverged(
                f"no gradient was finite in {self.in_row} steps in a row: lower {self._lower} or start from "
                "an earlier policy; the weights are those of the last good step"
            )
        return True
