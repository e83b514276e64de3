"""The figures of the study of rounds: every task before, after and cloned, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deskhand_trainer.results import Figure
from deskhand_trainer.studies.of_means import gain_figures, mean_figure

COMMAND = "deskhand study rounds"
ARMS = ("before", "after", "cloned")


def rounds_figures(
    tasks: Sequence[str],
    measured: Sequence[Mapping[str, Any]],
    *,
    rounds: int,
    config: Mapping[str, Any],
    made: Mapping[str, str],
) -> list[Figure]:
    """All of them.

    Args:
        tasks: the rounds'.
        measured: metrics of evaluations before, after and cloned, with the seconds of work of each.
        rounds: how many there were.
        config: of a round.
        made: day, commit and machine of the evaluations.
    """
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": "test", **made}
    of_arm = {
        arm: [
            _task(f"rounds_{arm}_{task.rpartition('/')[2]}", task, len(tasks), metrics, shared)
            for task in tasks
        ]
        for arm, metrics in zip(ARMS, measured, strict=True)
    }
    note = f"greedy, mean over {len(tasks)} tasks"
    means = [mean_figure(f"rounds_{arm}_mean", found, shared, note=note) for arm, found in of_arm.items()]
    before, after, cloned = (of_arm[arm] for arm in ARMS)
    note = f"greedy, after {rounds} rounds, less before"
    gain = gain_figures("rounds_gain", after, before, shared, note=note, goal="> 0")
    note = "greedy, rounds less cloning at equal compute"
    beside = gain_figures("rounds_minus_cloning", after, cloned, shared, note=note)
    minutes = [
        Figure(
            name=f"rounds_{arm}_minutes", value=round(float(metrics["seconds"]) / 60, 1), unit="minutes",
            note="of collecting, scoring and training", **shared,
        )
        for arm, metrics in zip(ARMS[1:], measured[1:], strict=True)
    ]  # fmt: skip
    return [*(figure for found in of_arm.values() for figure in found), *means, *gain, *beside, *minutes]


def _task(name: str, task: str, count: int, metrics: Mapping[str, Any], shared: Mapping[str, Any]) -> Figure:
    mode = f"greedy:{task}" if count > 1 else "greedy"
    value, low, high = (round(float(metrics[f"success_{mode}{end}"]), 4) for end in ("", "_low", "_high"))
    note = f"greedy, {metrics[f'episodes_{mode}']} test seeds"
    return Figure(name=name, value=value, low=low, high=high, unit="share", note=note, **shared)
