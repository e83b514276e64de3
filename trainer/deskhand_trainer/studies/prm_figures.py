"""The figures of the process reward model's study, from what its runs left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import mean
from typing import Any

from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.results import Figure
from deskhand_trainer.student import student_mean
from deskhand_trainer.studies.of_means import gain_figures, mean_figure
from deskhand_trainer.studies.publishing import Unknown, counted_at_start

COMMAND = "deskhand study prm"
AUC_GOAL, ECE_GOAL, SPEEDUP_GOAL = ">= 0.9", "<= 0.05", "> 1"
BEFORE = (
    "; measured on these tasks before: .43 [.25, .67] over 37 steps (2026-11-26, 8b2ba83), then, when the "
    "model read how likely a reply is and learned from more labels, .70 [.57, .82] over 86 (2026-11-26, "
    "0f48e41); since then the policy, how the model reads how likely a reply is, and dropout are others"
)
"""Said of the held-out tasks: they were looked at twice before what is measured was made."""
VALUES = "of who knows how often each state succeeds, as the labels have it, and nothing of the step"
"""Said of a bound to what states alone can tell."""
LEARNED = "test seeds of tasks the model learned from (all but a fifth of them)"
"""Said of the verifier: which tasks it chooses on."""
Points = Sequence[Sequence[float]]
"""Turns played, and success on validation seeds."""


def quality_figures(
    done: Mapping[str, Any], config: Mapping[str, Any], made: Mapping[str, str]
) -> list[Figure | Unknown]:
    """Of the model on tasks it never saw, and of one trained on outcomes beside it.

    Args:
        done: "metrics" of `prm_measuring.measure` by model, and what labelling came to.
        config: the plan's; the tasks measured on are its "unseen".
        made: day, commit and machine of the measurement.
    """
    told: dict[str, Any] = {"config": config, **made}
    model, guessing = done["metrics"]["model"], done["metrics"]["outcome_model"]
    of_all = f"{model['steps']} steps of {model['episodes']} episodes, by Monte-Carlo labels"
    settled = f"{model['settled']} of {of_all}: those that tell whether the step helps"
    if "by_chance" in model:
        settled += f"; chance alone would tell so of {model['by_chance']:.0f}"
    dull = model["steps"] - model["settled"]
    of_most = f"{of_all}; {dull} of these do not tell from 1/2, and saying 1/2 of all does well"
    again = BEFORE if sorted(config["unseen"]) == sorted(HELD_OUT_TASKS) else ""
    return [
        _of("auc_unseen_tasks", model["auc"], "", told, goal=AUC_GOAL, note=settled + again),
        _of("ece", model["ece"], "", told, goal=ECE_GOAL, note=of_most),
        _of("ece_uncalibrated", model["ece_before"], "", told, note=of_all),
        _of("brier", model["brier"], "", told, note=of_all),
        *(
            [_of("auc_unseen_tasks_by_values", model["auc_by_values"], "", told, note=VALUES)]
            if "auc_by_values" in model
            else []
        ),
        _of("auc_unseen_tasks_outcome_labels", guessing["auc"], "", told, note=settled),
        _of("ece_outcome_labels", guessing["ece"], "", told, note=of_most),
        # measurements of before did not take them
        *(
            _of(f"ece_settled{end}", each["ece_settled"], "", told, note=settled)
            for end, each in (("", model), ("_outcome_labels", guessing))
            if "ece_settled" in each
        ),
        *(
            _of(f"auc_unseen_tasks_sure{end}", each["auc_sure"], "", told, note=_sure(each, of_all))
            for end, each in (("", model), ("_outcome_labels", guessing))
            if "auc_sure" in each
        ),
        _of(
            "labelled_steps",
            (done["labelled"]["labelled_steps"],),
            "steps",
            told,
            note="seen and unseen tasks",
        ),
        _of("inexact_labels", (model["inexact"],), "steps", told, note="of unseen tasks: left out"),
    ]


def _sure(model: Mapping[str, Any], of_all: str) -> str:
    by_chance = f"chance alone would bring {model['sure_by_chance']:.0f}"
    return f"{model['sure']} of {of_all}: those 3 standard errors from 1/2; {by_chance}"


def verifier_figures(
    best: Mapping[str, Any],
    single: Mapping[str, Any],
    tasks: Sequence[str],
    config: Mapping[str, Any],
    made: Mapping[str, str],
) -> list[Figure]:
    """What choosing among candidates adds to the mean success over the tasks, on their test seeds.

    Args:
        best: metrics of the evaluation with a verifier.
        single: of that without.
        made: day, commit and machine of both.
    """
    rates = [_rates(metrics, tasks) for metrics in (best, single)]
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": "test", **made}
    note = f"sampled, {LEARNED}, mean over {len(tasks)} tasks"
    gain = f"best above single, {LEARNED}"
    return [
        mean_figure("success_best_of_4", rates[0], shared, note=note),
        mean_figure("success_single", rates[1], shared, note=note),
        *gain_figures("best_of_4_gain", rates[0], rates[1], shared, note=gain, goal="> 0"),
    ]


def _rates(metrics: Mapping[str, Any], tasks: Sequence[str]) -> list[Figure]:
    """Sampled success on every task."""
    found: list[Figure] = []
    for task in tasks:
        name = f"success_sampled:{task}" if len(tasks) > 1 else "success_sampled"
        value, low, high = (float(metrics[f"{name}{end}"]) for end in ("", "_low", "_high"))
        found.append(Figure(name=task, value=value, low=low, high=high, unit="share"))
    return found


def reward_figures(
    done: Mapping[int, Mapping[str, Any]], config: Mapping[str, Any], made: Mapping[str, str]
) -> list[Figure | Unknown]:
    """Of the arms with and without process reward; none before two seeds are done.

    Args:
        done: by seed, "metrics" the curves of both arms, and of those that "diverged", how.
        made: day, commit and machine of the arms.
    """
    if len(done) < 2:
        return []
    told: dict[str, Any] = {"config": config, **made}
    seeds = sorted(done)
    ratios = [speedup(done[s]["metrics"]["outcome"], done[s]["metrics"]["process"]) for s in seeds]
    logs = student_mean([math.log(each) for each in ratios])
    value, low, high = (math.exp(each) for each in (logs.value, logs.low, logs.high))
    steps = sum(int(done[s]["labelled"]["labelled_steps"]) for s in seeds) / len(seeds)
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    note = f"turns halfway to the better arm's best, outcome alone over with process reward; by seed {each}"
    lost = {f"{arm} of seed {s}": how for s in seeds for arm, how in done[s].get("diverged", {}).items()}
    note += counted_at_start(lost)
    lowest = "lower end of the 95 % interval of reward_speedup"
    labelled = "a seed, each gone on from: turns that are not counted"
    return [
        _of("reward_speedup", (value, low, high), "times", told, seeds=seeds, note=note),
        _of("reward_speedup_low", (low,), "times", told, seeds=seeds, goal=SPEEDUP_GOAL, note=lowest),
        _of("reward_labelled_steps", (steps,), "steps", told, seeds=seeds, note=labelled),
        _of("reward_seeds", (len(seeds),), "seeds", told, seeds=seeds, goal=">= 5"),
    ]


def speedup(outcome: Points, process: Points) -> float:
    """Turns that the first arm needs over turns that the second needs, to the success halfway from the start
    to the better one's best; 1 where neither rises above the start.

    Both begin from one policy: its success is the mean of their first measurements.
    """
    start = mean(curve[0][1] for curve in (outcome, process))
    curves = [((curve[0][0], start), *curve[1:]) for curve in (outcome, process)]
    best = max(success for curve in curves for _, success in curve)
    if best == start:
        return 1.0
    needed = [turns_to(curve, (start + best) / 2) for curve in curves]
    return needed[0] / needed[1]


def unimproved(measured: Iterable[Points], turns: float) -> Points:
    """The curve of an arm whose training diverged: all its turns long it does what it did at first.

    Args:
        measured: its curve, then that of the other arm, which begins from the same policy.
        turns: of a whole training.
    """
    first = next((curve[0][1] for curve in measured if curve), 0.0)
    return (0.0, first), (turns, first)


def turns_to(curve: Points, success: float) -> float:
    """Turns after which a curve first has a success above its first, between two measurements on a line; all
    its turns where it never does."""
    for (before, low), (after, high) in pairwise(curve):
        if high >= success:
            return before + (after - before) * (success - low) / (high - low)
    return curve[-1][0]


def _of(
    name: str,
    value: Sequence[float] | None,
    unit: str,
    told: Mapping[str, Any],
    *,
    goal: str | None = None,
    note: str = "",
    seeds: Sequence[int] = (),
) -> Figure | Unknown:
    """A figure of [value] or [value, low, high]; None: it is not known, and the note says of what."""
    if value is None:
        kind = "there is none of them" if note.startswith("0 ") else "they are all of one kind"
        return Unknown(name=name, why=f"{kind}: {note}")
    low, high = (value[1], value[2]) if len(value) == 3 else (None, None)
    return Figure(
        name=name,
        value=float(value[0]),
        unit=unit,
        low=low,
        high=high,
        goal=goal,
        note=note,
        command=COMMAND,
        seeds=[*seeds],
        **told,
    )
