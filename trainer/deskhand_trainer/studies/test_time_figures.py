"""The figures of the study of test time: every arm's success and price, and what one gains over another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deskhand_trainer.results import Figure
from deskhand_trainer.studies.of_means import gain_figures, mean_figure
from deskhand_trainer.studies.publishing import Unknown

COMMAND = "deskhand study test-time"
GAINS: Mapping[str, tuple[str, str, str | None]] = {
    "majority_of_4_gain": ("majority", "single", None),
    "best_of_4_gain": ("best", "single", "> 0"),
    "retry_gain": ("retry", "single", None),
    "check_gain": ("check", "greedy", None),
}
"""Name -> the arm, the arm it is above, and the goal of the interval's lower end."""


def part_figures(
    part: str,
    tasks: Sequence[str],
    arms: Mapping[str, Mapping[str, Any]],
    *,
    modes: Mapping[str, str],
    turns: Sequence[int],
    config: Mapping[str, Any],
    made: Mapping[str, str],
) -> list[Figure | Unknown]:
    """All of one part; gains are of arms that are both there.

    Args:
        part: "trained" has its figures without a suffix, others under their own.
        arms: name -> metrics of its evaluation, of those that are done.
        modes: name -> how its replies were drawn.
        turns: limits of the arms "turns-N".
        made: day, commit and machine of the arms' runs.
    """
    told = {**config, "tasks": [*tasks]}
    shared: dict[str, Any] = {"command": COMMAND, "config": told, "seeds": "test", **made}
    end = "" if part == "trained" else f"_{part.replace('-', '')}"
    rates = {name: _rates(metrics, modes[name], tasks) for name, metrics in arms.items()}
    figures: list[Figure | Unknown] = []
    for name, metrics in arms.items():
        called = f"{name.replace('-', '_')}{end}"
        note = f"{modes[name]}, mean over {len(tasks)} tasks"
        figures.append(mean_figure(f"success_{called}", rates[name], shared, note=note))
        figures.append(_price(f"tokens_per_success_{called}", metrics, modes[name], shared))
    most, fewest = f"turns-{max(turns)}", f"turns-{min(turns)}"
    for name, (one, other, goal) in {**GAINS, "more_turns_gain": (most, fewest, "> 0")}.items():
        if one in rates and other in rates:
            note = f"{one} above {other}"
            figures += gain_figures(f"{name}{end}", rates[one], rates[other], shared, note=note, goal=goal)
    return figures


def _rates(metrics: Mapping[str, Any], mode: str, tasks: Sequence[str]) -> list[Figure]:
    """Success on every task."""
    names = [f"{mode}:{task}" if len(tasks) > 1 else mode for task in tasks]
    return [
        Figure(
            name=task,
            value=float(metrics[f"success_{name}"]),
            low=float(metrics[f"success_{name}_low"]),
            high=float(metrics[f"success_{name}_high"]),
            unit="share",
        )
        for task, name in zip(tasks, names, strict=True)
    ]


def _price(name: str, metrics: Mapping[str, Any], mode: str, shared: Mapping[str, Any]) -> Figure | Unknown:
    """Tokens read and written for each success."""
    tokens = float(metrics[f"prompt_tokens_{mode}"]) + float(metrics[f"completion_tokens_{mode}"])
    episodes = float(metrics[f"episodes_{mode}"])
    rate, low, high = (float(metrics[f"success_{mode}{end}"]) for end in ("", "_low", "_high"))
    if rate == 0:
        return Unknown(name=name, why=f"none of {episodes:.0f} episodes succeeded, for {tokens:.0f} tokens")
    return Figure(
        name=name,
        value=round(tokens / (rate * episodes), 1),
        low=round(tokens / (high * episodes), 1),
        high=round(tokens / (low * episodes), 1) if low > 0 else None,
        unit="tokens",
        note="read and written, the prompt of every reply counted whole; by the interval of the success",
        **shared,
    )
