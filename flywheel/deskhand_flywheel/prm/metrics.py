"""How good scores are, as pure functions of scores and what they should have said."""

from __future__ import annotations

from collections.abc import Sequence


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


def calibration_error(scores: Sequence[float], labels: Sequence[float], *, bins: int = 10) -> float | None:
    """Expected calibration error (Guo et al. 2017, arXiv 1706.04599, eq. 3), with labels from 0 to 1.

    Σ over equal-width bins of (share of scores in it) · |mean label − mean score|.

    Args:
        scores: [n], each 0 to 1.
        labels: [n], each 0 to 1.

    Returns:
        0 (calibrated) to 1; None without scores.
    """
    if not scores:
        return None
    gaps = [0.0] * bins
    for score, label in zip(scores, labels, strict=True):
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"a score is {score}: calibration is of scores from 0 to 1")
        gaps[min(int(score * bins), bins - 1)] += label - score
    return sum(map(abs, gaps)) / len(scores)


def brier(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """Mean squared difference of scores and labels; None without scores."""
    if not scores:
        return None
    return sum((score - label) ** 2 for score, label in zip(scores, labels, strict=True)) / len(scores)
