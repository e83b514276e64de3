"""The figures of the ladder, from what is kept of its arms."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from deskhand_trainer.results import Figure
from deskhand_trainer.student import student_mean
from deskhand_trainer.studies.ladder_record import ArmRecord, FailedArm, LadderRecord, common_seeds
from deskhand_trainer.studies.publishing import made_by

Arm = TypeVar("Arm", ArmRecord, FailedArm)
COMMAND = "deskhand study ladder"
CONTROL = "shuffled"
COMPARISONS: Mapping[str, tuple[str, str]] = {
    "turn_minus_token": ("turn-ppo", "ppo"),
    "token_minus_grpo": ("ppo", "grpo"),
    "rebn_minus_grpo": ("rebn", "grpo"),
    "st_minus_turn": ("st-ppo", "turn-ppo"),
    "value_pretraining_gain": ("turn-ppo", "unpretrained"),
    "bilevel_minus_token": ("bilevel", "ppo"),
    "critic_50_minus_5": ("critic-50", "critic-5"),
    "critic_500_minus_5": ("critic-500", "critic-5"),
}
"""Name, which the rung's comes before -> what is compared with what."""
OVERALL = ("value_pretraining_gain",)
"""Of these, those told of all rungs together whose seeds are all there, too, under the bare name."""
NOTHING_LEARNED = 0.05
"""Gain of success, and explained variance, that a control may show; a critic that explains no more of real
returns could not have shown any."""


def ladder_figures(
    record: LadderRecord, rungs: Mapping[str, Sequence[str]], seeds: Sequence[int]
) -> list[Figure]:
    """Figures of all that is done; an arm counts as reported once all its seeds are, or have failed.

    Args:
        rungs: name -> its arms.
        seeds: that make an arm whole.
    """
    figures: list[Figure] = []
    whole = 0
    by_rung = {
        rung: {arm: _named(record.arms, rung, arm, seeds) for arm in arms} for rung, arms in rungs.items()
    }
    for rung, done in by_rung.items():
        lost = {arm: _named(record.failed, rung, arm, seeds) for arm in done}
        for arm, found in done.items():
            figures += _failed(failed_figure(rung, arm), lost[arm])
            if arm == CONTROL:
                figures += _controls(found, seeds)
                continue
            figures += _arm(f"{rung}_{arm}".replace("-", "_"), found, _left_out(lost[arm]))
            whole += len(found) + len(lost[arm]) == len(seeds)
        for name, (one, other) in COMPARISONS.items():
            without = _left_out({**lost.get(one, {}), **lost.get(other, {})})
            pair = done.get(one, {}), done.get(other, {})
            figures += _difference(f"{rung}_{name}", [pair], without)
    for name in OVERALL:
        one, other = COMPARISONS[name]
        pairs = [(done.get(one, {}), done.get(other, {})) for done in by_rung.values()]
        figures += _difference(name, [pair for pair in pairs if len(common_seeds(pair)) == len(seeds)])
    if figures:
        note = f"arms of which {len(seeds)} seeds are done, those that failed among them"
        figures.append(_of("arms_reported", whole, "arms", [], [], note=note))
        figures.append(_of("seeds", len(seeds), "seeds", [], seeds, goal=">= 3"))
    return figures


def failed_figure(rung: str, arm: str) -> str:
    """The name of how often an arm failed; there is such a figure where it did."""
    return f"{rung}_{arm}_failed".replace("-", "_")


def _failed(name: str, lost: Mapping[int, FailedArm]) -> list[Figure]:
    """Seeds in which an arm's training diverged."""
    if not lost:
        return []
    told = (f"seed {seed} after {arm.iterations} iterations: {arm.reason}" for seed, arm in lost.items())
    note = f"training diverged; {'; '.join(told)}"
    return [_of(name, len(lost), "seeds", [*lost.values()], sorted(lost), note=note)]


def _left_out(lost: Iterable[int]) -> str:
    """For a note: which seeds are in no mean, for they failed."""
    seeds = ", ".join(map(str, sorted(lost)))
    return f"; without the seeds that failed: {seeds}" if seeds else ""


def _arm(name: str, done: Mapping[int, ArmRecord], without: str) -> list[Figure]:
    """What an arm came to; nothing before it has two seeds."""
    if len(done) < 2:
        return []
    runs, seeds = list(done.values()), sorted(done)
    ranked = sorted(runs, key=lambda each: each.after)
    greedy = [run.greedy for run in runs if run.greedy is not None]
    spread = "mean over the seeds, test seeds, {}; Student's interval" + without
    longest = f"of training, longest of the seeds; {max(r.turns for r in runs)} turns at most{without}"
    return [
        _mean(f"{name}_before", [r.before for r in runs], runs, seeds, spread.format("sampled")),
        _mean(f"{name}_after", [r.after for r in runs], runs, seeds, spread.format("sampled")),
        _mean(f"{name}_after_greedy", greedy, runs, seeds, spread.format("greedy")),
        _of(
            f"{name}_after_min", ranked[0].after, "share", ranked, seeds, note=f"worst seed, sampled{without}"
        ),
        _of(f"{name}_minutes", max(r.minutes for r in runs), "minutes", runs, seeds, note=longest),
    ]


def _difference(
    name: str,
    rungs: Sequence[tuple[Mapping[int, ArmRecord], Mapping[int, ArmRecord]]],
    without: str = "",
) -> list[Figure]:
    """Of two arms on some rungs, paired by seed: a pair has one start, and the same test seeds."""
    pairs = [(seed, one[seed], other[seed]) for one, other in rungs for seed in common_seeds([one, other])]
    seeds = sorted({seed for seed, _, _ in pairs})
    if len(seeds) < 2:
        return []
    apart = [one.after - other.after for _, one, other in pairs]
    note = "sampled success on test seeds, mean of the differences of pairs; Student's interval" + without
    note += _told_apart(pairs[0][1].config, pairs[0][2].config)
    runs = [run for _, *both in pairs for run in both]
    return [_mean(name, apart, runs, seeds, note)]


def _told_apart(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """For a note: every setting that two arms were told differently, for a method is more than its name."""
    differ = sorted(name for name in one.keys() & other.keys() if one[name] != other[name])
    said = ", ".join(f"{name} {_short(one[name])} against {_short(other[name])}" for name in differ)
    return f"; they differ in {said}" if said else ""


def _short(value: Any) -> str:
    """A setting's value, or of a group of them whether it is on."""
    return str(value["enabled"]).lower() if isinstance(value, dict) else json.dumps(value).strip('"')


def _controls(done: Mapping[int, ArmRecord], seeds: Sequence[int]) -> list[Figure]:
    """What was learned from shuffled rewards: a gain of success, and explained variance of a critic."""
    if len(done) < len(seeds):
        return []
    runs = [done[seed] for seed in seeds]
    gain = max(each.after - each.before for each in done.values())
    critics = [each.critic for each in done.values() if each.critic is not None]
    explained = max(abs(each["shuffled"]) for each in critics)
    real = min(each["real"] for each in critics)
    passed = max(gain, explained) <= NOTHING_LEARNED < real
    limit = f"<= {NOTHING_LEARNED}"
    note = (
        f"gain of success under shuffled rewards, and variance of shuffled returns that a critic explains, "
        f"{limit} in every seed; of real returns it must explain more there, and the least is {real:.3f}"
    )
    figures = [
        _of("controls_passed", float(passed), "yes or no", runs, seeds, goal="== 1", note=note),
        _of(
            "sabotage_gain_max", gain, "share", runs, seeds, goal=limit,
            note="largest gain of sampled success under shuffled rewards",
        ),
        _of(
            "sabotage_explained_variance_max", explained, "share", runs, seeds, goal=limit,
            note="largest |explained variance| on untouched episodes of a critic trained on shuffled returns",
        ),
        _of(
            "critic_explained_variance_min", real, "share", runs, seeds,
            note="the same critic on real returns, least of the seeds",
        ),
    ]  # fmt: skip
    whole = [each["separate"] for each in critics if "separate" in each]
    if len(whole) == len(critics):
        note = "on the same episodes a critic with a model of its own, least of the seeds"
        figures.append(
            _of("critic_separate_explained_variance_min", min(whole), "share", runs, seeds, note=note)
        )
    return figures


def _named(arms: Mapping[str, Arm], rung: str, arm: str, seeds: Sequence[int]) -> dict[int, Arm]:
    """The seeds of an arm that are among these."""
    named = {seed: f"{rung}/{arm}-{seed}" for seed in seeds}
    return {seed: arms[name] for seed, name in named.items() if name in arms}


def _mean(
    name: str, values: Sequence[float], runs: Sequence[ArmRecord], seeds: Sequence[int], note: str
) -> Figure:
    found = student_mean(values)
    return _of(name, found.value, "share", runs, seeds, note=note, low=found.low, high=found.high)


def _of(
    name: str,
    value: float,
    unit: str,
    runs: Sequence[ArmRecord | FailedArm],
    seeds: Sequence[int],
    *,
    goal: str | None = None,
    low: float | None = None,
    high: float | None = None,
    note: str = "",
) -> Figure:
    """A figure with commit, day and machine of the runs it stands on, and the first one's config; without
    any, of now."""
    made = made_by({"commit": run.commit, "date": run.date, "machine": run.machine} for run in runs)
    measured: Mapping[str, Any] = {"config": dict(runs[0].config), **made} if runs else {}
    return Figure(
        name=name,
        value=round(float(value), 4),
        unit=unit,
        low=None if low is None else round(low, 4),
        high=None if high is None else round(high, 4),
        goal=goal,
        note=note,
        command=COMMAND,
        seeds=list(seeds),
        **measured,
    )
