"""How good scores are, as pure functions of scores and what they should have said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def auc(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """Chance that a positive is scored above a negative, ties counting half (Mann-Whitney U / n₊n₋).

    Args:
        scores: [n].
        positive: [n].

    Returns:
        0 to 1; None when there is only one class.
    """
    ordered = sorted(zip(scores, positive, strict=True))
    positives = sum(positive)
    negatives = len(ordered) - positives
    if not positives or not negatives:
        return None
    rank_sum, begin = 0.0, 0
    while begin < len(ordered):
        end = begin
        while end < len(ordered) and ordered[end][0] == ordered[begin][0]:
            end += 1
        # ranks begin+1..end are tied: each counts as their mean
        rank_sum += (begin + 1 + end) / 2 * sum(is_positive for _, is_positive in ordered[begin:end])
        begin = end
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityBin:
    """Scores of about one height, and what they should have said."""

    count: int
    mean_score: float
    mean_label: float


def reliability(
    scores: Sequence[float], labels: Sequence[float], *, bins: int = 10
) -> tuple[ReliabilityBin, ...]:
    """The points of a reliability diagram (Guo et al. 2017, arXiv 1706.04599, section 2): bins of equal
    width, the empty ones left out.

    Args:
        scores: [n], each 0 to 1.
        labels: [n], each 0 to 1.

    Raises:
        ValueError: a score is out of range.
    """
    members: list[list[tuple[float, float]]] = [[] for _ in range(bins)]
    for score, label in zip(scores, labels, strict=True):
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"a score is {score}: calibration is of scores from 0 to 1")
        members[min(int(score * bins), bins - 1)].append((score, label))
    return tuple(
        ReliabilityBin(
            count=len(within),
            mean_score=sum(score for score, _ in within) / len(within),
            mean_label=sum(label for _, label in within) / len(within),
        )
        for within in members
        if within
    )


def calibration_error(scores: Sequence[float], labels: Sequence[float], *, bins: int = 10) -> float | None:
    """Expected calibration error (Guo et al. 2017, arXiv 1706.04599, eq. 3), with labels from 0 to 1.

    Σ over equal-width bins of (share of scores in it) · |mean label − mean score|.

    Args:
        scores: [n], each 0 to 1.
        labels: [n], each 0 to 1.

    Returns:
        0 (calibrated) to 1; None without scores.

    Raises:
        ValueError: a score is out of range.
    """
    if not scores:
        return None
    found = reliability(scores, labels, bins=bins)
    return sum(each.count * abs(each.mean_label - each.mean_score) for each in found) / len(scores)


def brier(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Mean squared difference of scores and labels; None without scores."""
    if not scores:
        return None
    return sum((score - label) ** 2 for score, label in zip(scores, labels, strict=True)) / len(scores)
