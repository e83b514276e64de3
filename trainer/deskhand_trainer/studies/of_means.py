"""Means of rates over tasks, and what one is above another, as figures.

The intervals are over the episodes of these tasks, which are no sample of others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from deskhand_trainer.results import Figure
from deskhand_trainer.studies.base_figures import reach_of_mean


def mean_figure(
    name: str, rates: Sequence[Figure], shared: Mapping[str, Any], *, goal: str | None = None, note: str
) -> Figure:
    """The mean of rates, with its 95 % interval."""
    middle, reach = mean(figure.value for figure in rates), reach_of_mean(rates)
    return Figure(
        name=name,
        value=round(middle, 4),
        low=round(max(0.0, middle - reach), 4),
        high=round(min(1.0, middle + reach), 4),
        unit="share",
        goal=goal,
        note=note,
        **shared,
    )


def gain_figures(
    name: str,
    one: Sequence[Figure],
    other: Sequence[Figure],
    shared: Mapping[str, Any],
    *,
    note: str,
    goal: str | None = None,
) -> list[Figure]:
    """How far the mean of one lies above the other's; where a goal is set, the interval's lower end too."""
    apart = mean(figure.value for figure in one) - mean(figure.value for figure in other)
    reach = math.hypot(reach_of_mean(one), reach_of_mean(other))
    note = f"{note}, mean over {len(one)} tasks; 95 % interval over their episodes"
    low, high = round(apart - reach, 4), round(apart + reach, 4)
    gain = Figure(name=name, value=round(apart, 4), low=low, high=high, unit="share", note=note, **shared)
    if goal is None:
        return [gain]
    return [gain, Figure(name=f"{name}_low", value=low, unit="share", goal=goal, note=note, **shared)]
