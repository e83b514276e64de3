"""How sure a mean over a few seeds is: Student's interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from scipy.stats import t as student


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean with its 95 % interval."""

    value: float
    low: float
    high: float


def student_mean(values: Sequence[float]) -> Mean:
    """Mean of independent draws with Student's interval (Student 1908), which is wide for a few.

    Raises:
        ValueError: fewer than two.
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs two values or more, not {len(values)}")
    middle = mean(values)
    reach = float(student.ppf(0.975, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return Mean(value=middle, low=middle - reach, high=middle + reach)
