"""Figures from samples of a duration."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from deskhand_sandbox.types import JsonValue
from deskhand_trainer.results import Figure

COMMAND = "deskhand bench sandbox"


def quantile(samples: Sequence[float], share: float) -> float:
    """The smallest sample that at least `share` of all do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def durations(
    name: str,
    samples_ms: Sequence[float],
    config: Mapping[str, JsonValue],
    *,
    goal: str | None = None,
    note: str = "",
) -> list[Figure]:
    """`NAME_ms_p50`, `…_p95` and `…_p99` of samples in milliseconds; the goal is the median's."""
    said = f"{note}; " if note else ""
    return [
        Figure(
            name=f"{name}_ms_p{percent}",
            value=round(quantile(samples_ms, percent / 100), 3),
            unit="ms",
            goal=goal if percent == 50 else None,
            note=f"{said}{len(samples_ms)} samples",
            command=COMMAND,
            config=config,
        )
        for percent in (50, 95, 99)
    ]


def ratio(
    name: str,
    ours: Sequence[float],
    theirs: Sequence[float],
    config: Mapping[str, JsonValue],
    *,
    goal: str,
    note: str,
) -> Figure:
    """Median of their time over ours, paired within each repeat: above 1 we are faster."""
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return Figure(
        name=name,
        value=round(statistics.median(ratios), 3),
        unit="times",
        low=round(min(ratios), 3),
        high=round(max(ratios), 3),
        command=COMMAND,
        config=config,
        goal=goal,
        note=note,
    )
