"""The figures of the ladder, from the results its runs left."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskhand_trainer.results import Figure
from deskhand_trainer.student import student_mean
from deskhand_trainer.studies.runs import result_of

COMMAND = "deskhand study ladder"
CONTROL = "shuffled"
COMPARISONS: Mapping[str, tuple[str, str]] = {
    "turn_minus_token": ("turn-ppo", "ppo"),
    "token_minus_grpo": ("ppo", "grpo"),
    "rebn_minus_grpo": ("rebn", "grpo"),
    "st_minus_turn": ("st-ppo", "turn-ppo"),
    "value_pretraining_gain": ("turn-ppo", "unpretrained"),
    "bilevel_minus_token": ("bilevel", "ppo"),
}
"""Name, which the rung's comes before -> what is compared with what."""
NOTHING_LEARNED = 0.05
"""Gain of success, and explained variance, that a control may show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Done:
    """One seed of an arm."""

    before: float
    """Sampled success on test seeds, of the policy it began from."""
    after: float
    greedy: float
    minutes: float
    """Of training."""
    turns: int
    spec: Mapping[str, Any]


def ladder_figures(folder: Path, rungs: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> list[Figure]:
    """Figures of all that is done; an arm counts as reported once all its seeds are.

    Args:
        folder: of the study.
        rungs: name -> its arms.
        seeds: that make an arm whole.
    """
    figures: list[Figure] = []
    whole = 0
    for rung, arms in rungs.items():
        done = {arm: _done(folder, rung, arm, seeds) for arm in arms if arm != CONTROL}
        for arm, found in done.items():
            figures += _arm(f"{rung}_{arm}".replace("-", "_"), found)
            whole += len(found) == len(seeds)
        for name, (one, other) in COMPARISONS.items():
            figures += _difference(f"{rung}_{name}", done.get(one, {}), done.get(other, {}))
        figures += _controls(folder, rung, seeds) if CONTROL in arms else []
    if figures:
        note = f"arms of which {len(seeds)} seeds are done"
        figures.append(_of("arms_reported", whole, "arms", None, [], note=note))
        figures.append(_of("seeds", len(seeds), "seeds", None, seeds, goal=">= 3"))
    return figures


def _arm(name: str, done: Mapping[int, _Done]) -> list[Figure]:
    """What an arm came to; nothing before it has two seeds."""
    if len(done) < 2:
        return []
    runs, seeds = list(done.values()), sorted(done)
    worst = min(runs, key=lambda each: each.after)
    spread = "mean over the seeds, test seeds, {}; Student's interval"
    return [
        _mean(f"{name}_before", [r.before for r in runs], runs[0].spec, seeds, spread.format("sampled")),
        _mean(f"{name}_after", [r.after for r in runs], runs[0].spec, seeds, spread.format("sampled")),
        _mean(f"{name}_after_greedy", [r.greedy for r in runs], runs[0].spec, seeds, spread.format("greedy")),
        _of(f"{name}_after_min", worst.after, "share", worst.spec, seeds, note="worst seed, sampled"),
        _of(
            f"{name}_minutes",
            max(r.minutes for r in runs),
            "minutes",
            runs[0].spec,
            seeds,
            note=f"of training, longest of the seeds; {max(r.turns for r in runs)} turns at most",
        ),
    ]


def _difference(name: str, one: Mapping[int, _Done], other: Mapping[int, _Done]) -> list[Figure]:
    """Of two arms, paired by seed: a pair has one start, and the same test seeds."""
    seeds = sorted(set(one) & set(other))
    if len(seeds) < 2:
        return []
    apart = [one[seed].after - other[seed].after for seed in seeds]
    note = "sampled success on test seeds, mean of the differences of pairs; Student's interval"
    return [_mean(name, apart, one[seeds[0]].spec, seeds, note)]


def _controls(folder: Path, rung: str, seeds: Sequence[int]) -> list[Figure]:
    """What was learned from shuffled rewards: a gain of success, and explained variance of a critic."""
    done = _done(folder, rung, CONTROL, seeds, measure="control")
    critics = {seed: result_of(folder / rung / f"start-{seed}" / "critic") for seed in done}
    if len(done) < len(seeds) or not all(critics.values()):
        return []
    spec = done[seeds[0]].spec
    gain = max(each.after - each.before for each in done.values())
    known = [each["metrics"] for each in critics.values() if each is not None]
    explained = max(abs(float(each["shuffled"])) for each in known)
    real = min(float(each["real"]) for each in known)
    passed = gain <= NOTHING_LEARNED and explained <= NOTHING_LEARNED
    told: dict[str, Any] = {"spec": spec, "seeds": seeds}
    limit = f"<= {NOTHING_LEARNED}"
    return [
        _of("controls_passed", float(passed), "yes or no", **told, goal="== 1"),
        _of(
            "sabotage_gain_max", gain, "share", **told, goal=limit,
            note="largest gain of sampled success under shuffled rewards",
        ),
        _of(
            "sabotage_explained_variance_max", explained, "share", **told, goal=limit,
            note="largest |explained variance| on untouched episodes of a critic trained on shuffled returns",
        ),
        _of(
            "critic_explained_variance_min", real, "share", **told,
            note="the same critic on real returns, least of the seeds",
        ),
    ]  # fmt: skip


def _done(
    folder: Path, rung: str, arm: str, seeds: Sequence[int], *, measure: str = "evaluate"
) -> dict[int, _Done]:
    """The seeds of an arm that are done."""
    found: dict[int, _Done] = {}
    for seed in seeds:
        place = folder / rung / f"{arm}-{seed}"
        start, train, test = (
            result_of(each)
            for each in (folder / rung / f"start-{seed}" / measure, place / "train", place / measure)
        )
        if start is None or train is None or test is None:
            continue
        found[seed] = _Done(
            before=float(start["metrics"]["success_sampled"]),
            after=float(test["metrics"]["success_sampled"]),
            greedy=float(test["metrics"].get("success_greedy", float("nan"))),
            minutes=float(train["metrics"]["minutes"]),
            turns=int(train["metrics"]["turns"]),
            spec=json.loads((place / "train" / "spec.json").read_text()),
        )
    return found


def _mean(
    name: str, values: Sequence[float], spec: Mapping[str, Any], seeds: Sequence[int], note: str
) -> Figure:
    found = student_mean(values)
    return _of(name, found.value, "share", spec, seeds, note=note, low=found.low, high=found.high)


def _of(
    name: str,
    value: float,
    unit: str,
    spec: Mapping[str, Any] | None,
    seeds: Sequence[int],
    *,
    goal: str | None = None,
    low: float | None = None,
    high: float | None = None,
    note: str = "",
) -> Figure:
    """A figure with the commit and the day of a run it stands for; without a run, of now."""
    labels: Mapping[str, Any] = {} if spec is None else {k: spec["labels"][k] for k in ("commit", "date")}
    return Figure(
        name=name,
        value=round(float(value), 4),
        unit=unit,
        low=None if low is None else round(low, 4),
        high=None if high is None else round(high, 4),
        goal=goal,
        note=note,
        command=COMMAND,
        config={} if spec is None else spec["config"],
        seeds=list(seeds),
        **labels,
    )
