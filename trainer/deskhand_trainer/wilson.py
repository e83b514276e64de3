"""How sure a success rate is: the Wilson score interval, of trials alone and of several a start."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TypeAlias

Tries: TypeAlias = tuple[int, int]
"""At one start state: how many succeeded, of how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share with its 95 % Wilson interval."""

    value: float
    low: float
    high: float
    count: int
    """Trials."""


def wilson(successes: int, trials: int, *, confidence: float = 0.95) -> Rate:
    """Share of successes of independent trials with its interval (Wilson 1927), sound at 0 % and 100 % too.

    Raises:
        ValueError: no trials, or more successes than trials.
    """
    return _rate(successes, trials, worth=trials, confidence=confidence)


def clustered_wilson(starts: Sequence[Tries], *, confidence: float = 0.95) -> Rate:
    """Share of successes where start states are tried several times, with Wilson's interval for as many
    independent trials as all of these are worth.

    They are worth n/d: the design effect d is the variance of the share over start states, as wholes, by the
    variance that n independent trials have (Rao and Scott, Biometrics 1992). It is held between 1, as where
    each start is tried once (plain Wilson), and Σnᵢ²/n, as where the tries at a start all end alike, which is
    also taken where nothing tells it: of one start, or at 0 % and 100 %.

    Raises:
        ValueError: no trials, or more successes than trials at a start.
    """
    if not all(0 <= won <= tried for won, tried in starts):
        raise ValueError("there is a start state with more successes than trials")
    successes, trials = sum(won for won, _ in starts), sum(tried for _, tried in starts)
    largest = sum(tried**2 for _, tried in starts) / max(1, trials)
    effect, count = largest, len(starts)
    if count > 1 and 0 < successes < trials:
        share = successes / trials
        apart = sum((won - tried * share) ** 2 for won, tried in starts)
        over_starts = count / (count - 1) * apart / trials**2
        effect = min(largest, max(1.0, over_starts * trials / (share * (1 - share))))
    return _rate(successes, trials, worth=trials / max(1.0, effect), confidence=confidence)


def _rate(successes: int, trials: int, *, worth: float, confidence: float) -> Rate:
    """
    Args:
        worth: independent trials that these are worth.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes of {trials} trials have no rate")
    share, z = successes / trials, NormalDist().inv_cdf(0.5 + confidence / 2)
    middle = (share + z * z / (2 * worth)) / (1 + z * z / worth)
    reach = z / (1 + z * z / worth) * math.sqrt(share * (1 - share) / worth + (z / (2 * worth)) ** 2)
    # the ends are exact in theory and off by a rounding in practice
    low = 0.0 if successes == 0 else middle - reach
    high = 1.0 if successes == trials else middle + reach
    return Rate(value=share, low=low, high=high, count=trials)
