"""The figures of the study of rounds: every task before, after and cloned, and their means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from deskhand_trainer.results import Figure
from deskhand_trainer.studies.base_figures import reach_of_mean

COMMAND = "deskhand study rounds"
ARMS = ("before", "after", "cloned")


def rounds_figures(
    tasks: Sequence[str],
    measured: Sequence[Mapping[str, Any]],
    *,
    rounds: int,
    config: Mapping[str, Any],
) -> list[Figure]:
    """All of them.

    Args:
        tasks: the rounds'.
        measured: metrics of evaluations before, after and cloned, with the seconds of work of each.
        rounds: how many there were.
        config: of a round.
    """
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": "test"}
    of_arm = {
        arm: [
            _task(f"rounds_{arm}_{task.rpartition('/')[2]}", task, len(tasks), metrics, shared)
            for task in tasks
        ]
        for arm, metrics in zip(ARMS, measured, strict=True)
    }
    means = [_mean(f"rounds_{arm}_mean", found, len(tasks), shared) for arm, found in of_arm.items()]
    gain = _difference(
        "rounds_gain", of_arm["after"], of_arm["before"], f"after {rounds} rounds, less before", shared
    )
    beside = _difference(
        "rounds_minus_cloning",
        of_arm["after"],
        of_arm["cloned"],
        "rounds less cloning at equal compute",
        shared,
    )
    low = Figure(
        name="rounds_gain_low", value=gain.low or 0.0, unit="share", goal="> 0", note=gain.note, **shared
    )
    minutes = [
        Figure(
            name=f"rounds_{arm}_minutes", value=round(float(metrics["seconds"]) / 60, 1), unit="minutes",
            note="of collecting, scoring and training", **shared,
        )
        for arm, metrics in zip(ARMS[1:], measured[1:], strict=True)
    ]  # fmt: skip
    return [*(figure for found in of_arm.values() for figure in found), *means, gain, low, beside, *minutes]


def _task(name: str, task: str, count: int, metrics: Mapping[str, Any], shared: Mapping[str, Any]) -> Figure:
    mode = f"greedy:{task}" if count > 1 else "greedy"
    value, low, high = (round(float(metrics[f"success_{mode}{end}"]), 4) for end in ("", "_low", "_high"))
    note = f"greedy, {metrics[f'episodes_{mode}']} test seeds"
    return Figure(name=name, value=value, low=low, high=high, unit="share", note=note, **shared)


def _mean(name: str, figures: Sequence[Figure], count: int, shared: Mapping[str, Any]) -> Figure:
    middle, reach = mean(figure.value for figure in figures), reach_of_mean(figures)
    return Figure(
        name=name,
        value=round(middle, 4),
        low=round(max(0.0, middle - reach), 4),
        high=round(min(1.0, middle + reach), 4),
        unit="share",
        note=f"greedy, mean over {count} tasks",
        **shared,
    )


def _difference(
    name: str, one: Sequence[Figure], other: Sequence[Figure], what: str, shared: Mapping[str, Any]
) -> Figure:
    """Of two means, as sure as both: the tasks are these and no sample."""
    apart = mean(figure.value for figure in one) - mean(figure.value for figure in other)
    reach = math.hypot(reach_of_mean(one), reach_of_mean(other))
    note = f"greedy, mean over {len(one)} tasks, {what}; 95 % interval over their episodes"
    return Figure(
        name=name,
        value=round(apart, 4),
        low=round(apart - reach, 4),
        high=round(apart + reach, 4),
        unit="share",
        note=note,
        **shared,
    )
