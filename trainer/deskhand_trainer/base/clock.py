"""How much of a training's time is over, its earlier lives included."""

from __future__ import annotations

import time
from collections.abc import Mapping


class Clock:
    """Runs from when it is made."""

    def __init__(self, minutes: float) -> None:
        """
        Args:
            minutes: that there are; 0: no limit.
        """
        self._limit_s, self._began_s = 60 * minutes, time.monotonic()
        self._before_s, self._part_s = 0.0, 0.0

    @property
    def elapsed_s(self) -> float:
        """Wall clock, whatever it was spent on."""
        return self._before_s + time.monotonic() - self._began_s

    def begin_part(self) -> None:
        """Its last part begins now."""
        self._part_s = self.elapsed_s

    def share(self, *, of_part: bool = False) -> float:
        """Of the time, or of its last part, what is over, 0 to 1; 0 without a limit."""
        since_s = self._part_s if of_part else 0.0
        if not self._limit_s:
            return 0.0
        return min(1.0, (self.elapsed_s - since_s) / max(self._limit_s - since_s, 1e-9))

    def state(self) -> dict[str, float]:
        """What `restore` takes."""
        return {"elapsed_s": self.elapsed_s, "part_s": self._part_s}

    def restore(self, kept: Mapping[str, float]) -> None:
        """Count what earlier lives took."""
        self._before_s, self._part_s = kept["elapsed_s"], kept["part_s"]
