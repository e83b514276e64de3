"""How sure a success rate is: the Wilson score interval."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.stats import binomtest


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share with its 95 % Wilson interval."""

    value: float
    low: float
    high: float
    count: int
    """Trials."""


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Rate:
    """Share of successes with its Wilson interval (Wilson 1927), sound at 0 % and 100 % too.

    Raises:
        ValueError: no trials, or more successes than trials.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials have no rate")
    interval = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="wilson")
    # the ends are exact in theory and off by a rounding in practice
    low = 0.0 if successes == 0 else float(interval.low)
    high = 1.0 if successes == trials else float(interval.high)
    return Rate(value=successes / trials, low=low, high=high, count=trials)
