"""How far several annotators agree, beyond what chance would have them agree.

Krippendorff's alpha takes any number of people, each of whom marked what they liked; Cohen's kappa compares
two of them on the steps that both marked. 1: they always agree; 0: as by chance; below: less than that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Literal

from deskhand_flywheel.opinions import opinions
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import HUMAN, TrajectoryFilter

GOOD = 0.5
"""Scores from here on count as good where good and bad are told apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PairAgreement:
    """Of two annotators."""

    first: str
    second: str
    steps: int
    """That both marked."""
    agreed: float
    """Share of these that both marked good, or both bad."""
    kappa: float | None
    """Cohen's, of good and bad; None where both say always the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agreement:
    """Of all annotators."""

    sources: tuple[str, ...]
    """Names of the scorers."""
    steps: int
    """That two or more marked."""
    marks: int
    """Of those steps."""
    alpha_good: float | None
    """Krippendorff's, of good and bad; None without two different marks to compare."""
    alpha_score: float | None
    """Krippendorff's with the interval metric, of the scores themselves."""
    pairs: tuple[PairAgreement, ...]


async def agreement(
    store: Store, chosen: TrajectoryFilter | None = None, *, sources: Sequence[str] = (HUMAN,)
) -> Agreement:
    """How far the annotators of whole trajectories agree.

    Args:
        sources: as `opinions` has them: people, or people and judges.
    """
    marks: dict[tuple[str, int], dict[str, float]] = {}
    async for said in opinions(store, chosen, sources=sources):
        marks.setdefault((said.trajectory_id, said.step_index), {})[said.source] = said.label
    return agreement_of(marks.values())


def agreement_of(marks: Iterable[Mapping[str, float]]) -> Agreement:
    """How far annotators agree.

    Args:
        marks: of each step, by annotator, 0 to 1.
    """
    steps = [dict(step) for step in marks]
    shared = [step for step in steps if len(step) > 1]
    names = sorted({name for step in steps for name in step})
    units = [list(step.values()) for step in shared]
    pairs = [_pair(one, other, shared) for one, other in combinations(names, 2)]
    return Agreement(
        sources=tuple(names),
        steps=len(shared),
        marks=sum(map(len, units)),
        alpha_good=krippendorff_alpha([[float(m >= GOOD) for m in unit] for unit in units]),
        alpha_score=krippendorff_alpha(units, metric="interval"),
        pairs=tuple(pair for pair in pairs if pair.steps),
    )


def krippendorff_alpha(
    units: Iterable[Sequence[float]], *, metric: Literal["nominal", "interval"] = "nominal"
) -> float | None:
    """Krippendorff's alpha: 1 − D_o / D_e, observed over expected disagreement.

    After K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), sections C and E.

    Args:
        units: [units][values that annotators gave it]; those with fewer than two compare nothing.
        metric: values differ or not, or by the square of their distance.

    Returns:
        At most 1; None where no two values can be compared, or all are the same.
    """
    pairable = [unit for unit in units if len(unit) > 1]
    values = [value for unit in pairable for value in unit]
    if len(set(values)) < 2:
        return None
    between = _nominal if metric == "nominal" else _interval
    observed = sum(between(unit) / (len(unit) - 1) for unit in pairable)
    return 1.0 - observed / (between(values) / (len(values) - 1))


def cohen_kappa(pairs: Iterable[tuple[object, object]]) -> float | None:
    """Cohen's kappa: (p_o − p_e) / (1 − p_e), J. Cohen 1960.

    Args:
        pairs: the categories that two annotators gave the same thing.

    Returns:
        At most 1; None without pairs, or where both give everything one category.
    """
    both = list(pairs)
    if not both:
        return None
    n = len(both)
    first, second = Counter(one for one, _ in both), Counter(other for _, other in both)
    by_chance = sum(first[name] * second[name] for name in first) / n**2
    if by_chance == 1.0:
        return None
    return (sum(one == other for one, other in both) / n - by_chance) / (1 - by_chance)


def _nominal(values: Sequence[float]) -> float:
    """Ordered pairs of different values."""
    return len(values) ** 2 - sum(count**2 for count in Counter(values).values())


def _interval(values: Sequence[float]) -> float:
    """Σ of squared distances over ordered pairs."""
    mean = fmean(values)
    return 2 * len(values) * sum((value - mean) ** 2 for value in values)


def _pair(one: str, other: str, steps: Sequence[Mapping[str, float]]) -> PairAgreement:
    both = [(step[one] >= GOOD, step[other] >= GOOD) for step in steps if one in step and other in step]
    return PairAgreement(
        first=one,
        second=other,
        steps=len(both),
        agreed=sum(a == b for a, b in both) / len(both) if both else 0.0,
        kappa=cohen_kappa(both),
    )
