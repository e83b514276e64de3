"""The figures of the study of the base model: of single tasks, and means over them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from deskhand_trainer.config import EvaluateConfig, PpoConfig, parse_config
from deskhand_trainer.errors import ConfigError
from deskhand_trainer.results import Figure
from deskhand_trainer.student import student_mean
from deskhand_trainer.studies.publishing import DIVERGED, made_by

COMMAND = "deskhand study base"
_NORMAL = 1.96
MEANS: Mapping[str, tuple[str, str | None, type[EvaluateConfig | PpoConfig]]] = {
    "train": ("miniwob_train_mean", ">= 0.8", EvaluateConfig),
    "never-shown": ("miniwob_never_shown_mean", None, EvaluateConfig),
    "held-out": ("miniwob_heldout_zero", None, EvaluateConfig),
    "held-out-50": ("miniwob_heldout_50", None, PpoConfig),
    "held-out-500": ("miniwob_heldout_500", None, PpoConfig),
}
"""Part -> name and goal of its mean, and whose fields the config of its figures has."""


def task_figures(
    part: str, tasks: Sequence[str], metrics: Mapping[str, Any], config: Mapping[str, Any]
) -> list[Figure]:
    """Greedy success of every task of an evaluation; where start states were tried several times, how many of
    them had a success."""
    split, tries = str(config.get("split", "test")), int(config.get("tries", 1))
    mode = "greedy" if tries == 1 else "sampled"
    return [
        Figure(
            name=task_figure_name(part, task),
            unit="share",
            command=COMMAND,
            config={**config, "tasks": [task]} if len(tasks) > 1 else config,
            seeds=split,
            **_rate(metrics, f"{mode}:{task}" if len(tasks) > 1 else mode, split, tries),
        )
        for task in tasks
    ]


def ten_figures(
    short: str,
    seed: int,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    training: Mapping[str, Any],
    measuring: Mapping[str, Any],
    config: Mapping[str, Any],
) -> list[Figure]:
    """One of the ten tasks, trained with one seed; `measuring` is the evaluations' config, `config` PPO's.

    Args:
        training: its metrics; none where it diverged, and what it took is in no figure.
    """
    shared: dict[str, Any] = {"command": COMMAND, "config": config, "seeds": [seed]}
    names = ten_figure_names(short, seed)
    figures = [
        Figure(
            name=names[0],
            unit="share",
            command=COMMAND,
            config=measuring,
            seeds="test",
            **_rate(before, "greedy"),
        ),
        Figure(name=names[1], unit="share", **shared, **_rate(after, "greedy")),
    ]
    if not training:
        return figures
    note = f"of training, {int(training['episodes'])} episodes"
    minutes = round(float(training["minutes"]), 2)
    return [
        *figures,
        Figure(name=names[2], value=minutes, unit="minutes", goal="<= 15", note=note, **shared),
    ]


def means(
    figures: Sequence[Figure],
    *,
    policy: str,
    measured: Mapping[str, Sequence[str]],
    ten: Sequence[str],
    seeds: Sequence[int] = (0, 1, 2),
) -> list[Figure]:
    """Means over tasks, of every part that is whole for a policy, all of it by one setting.

    Args:
        measured: the tasks of each part of `MEANS`.
        seeds: of the ten after PPO; of fewer than two there is no mean.

    The intervals: over measured tasks, by the binomial variance of each (the tasks are these and no sample);
    of the ten after PPO, Student's over the seeds' means.
    """
    known = {figure.name: figure for figure in figures if figure.config.get("policy") == policy}
    made: list[Figure] = []
    for part, (name, goal, kind) in MEANS.items():
        names = [task_figure_name(part, task) for task in measured[part]]
        found = [known[each] for each in names if each in known]
        if len(found) == len(names) and _alike(found, kind):
            made.append(
                _mean(name, found, measured[part], goal=goal, note=f"greedy, mean over {len(found)} tasks")
            )
    names = [short_name(task) for task in ten]
    before = [known[each] for each in (ten_figure_names(name, 0)[0] for name in names) if each in known]
    if ten and len(before) == len(ten) and _alike(before, EvaluateConfig):
        note = "greedy, mean over ten tasks, before PPO"
        made.append(_mean("ppo_ten_tasks_before_mean", before, ten, goal="< 0.4", note=note))
    after = [
        [known[each] for each in (ten_figure_names(name, seed)[1] for name in names) if each in known]
        for seed in seeds
    ]
    whole = len(seeds) > 1 and all(len(each) == len(ten) for each in after)
    if ten and whole and _alike([figure for each in after for figure in each], PpoConfig):
        made += _over_seeds(after, ten, seeds)
    return made


def _alike(figures: Sequence[Figure], kind: type[EvaluateConfig | PpoConfig]) -> bool:
    """Whether they were measured by one setting, but for the task and the seed; one that came since has its
    default where it was not told."""
    own = {"tasks": ["all"], "seed": 0, "seed_offset": 0}
    told = [{**figure.config, **own} for figure in figures]
    policies = {str(each.pop("policy", "")) for each in told}
    try:
        settings = [parse_config(kind, each) for each in told]
    except ConfigError:
        return False
    return len(policies) == 1 and all(each == settings[0] for each in settings)


def _over_seeds(
    after: Sequence[Sequence[Figure]], tasks: Sequence[str], seeds: Sequence[int]
) -> list[Figure]:
    found = student_mean([mean(figure.value for figure in figures) for figures in after])
    low, high = round(max(0.0, found.low), 4), round(min(1.0, found.high), 4)
    shared: dict[str, Any] = {
        "unit": "share",
        **_of_all([figure for figures in after for figure in figures], tasks),
        "seeds": list(seeds),
        "note": f"greedy, mean over ten tasks and {len(seeds)} seeds; Student's interval over the seeds"
        + _how_many_diverged([figure for figures in after for figure in figures]),
    }
    name = "ppo_ten_tasks_after"
    return [
        Figure(name=f"{name}_mean", value=round(found.value, 4), low=low, high=high, goal=">= 0.9", **shared),
        Figure(name=f"{name}_low", value=low, goal=">= 0.85", **shared),
    ]


def _of_all(figures: Sequence[Figure], tasks: Sequence[str]) -> dict[str, Any]:
    """Command and config of a mean, day, commit and machine: those of the figures that it is of."""
    made = made_by({"date": f.date, "commit": f.commit, "machine": f.machine} for f in figures)
    return {"command": COMMAND, "config": {**figures[0].config, "tasks": [*tasks]}, **made}


def reach_of_mean(figures: Sequence[Figure]) -> float:
    """Half the width of the 95 % interval of the mean of rates, by the binomial variance of each."""
    # a rate of 0 or 1 is not known without error: its interval's half width stands for the deviation
    errors = [((figure.high or 0.0) - (figure.low or 0.0)) / (2 * _NORMAL) for figure in figures]
    return _NORMAL * math.sqrt(sum(error**2 for error in errors)) / len(figures)


def _mean(
    name: str, figures: Sequence[Figure], tasks: Sequence[str], *, goal: str | None, note: str
) -> Figure:
    middle = mean(figure.value for figure in figures)
    reach = reach_of_mean(figures)
    return Figure(
        name=name,
        value=round(middle, 4),
        unit="share",
        low=round(max(0.0, middle - reach), 4),
        high=round(min(1.0, middle + reach), 4),
        goal=goal,
        note=note + _how_many_diverged(figures),
        seeds="test",
        **_of_all(figures, tasks),
    )


def _how_many_diverged(figures: Sequence[Figure]) -> str:
    """For the end of a note of a mean."""
    lost = sum(DIVERGED in figure.note for figure in figures)
    return f"; {DIVERGED} in {lost} of {len(figures)}, counted as their starts are" if lost else ""


def task_figure_name(part: str, task: str) -> str:
    """What a task's success is called."""
    family, _, name = task.partition("/")
    return f"{family}_{part.replace('held-out', 'heldout').replace('-', '_')}_{name}"


def short_name(task: str) -> str:
    """What a task is called in folders, and in figures of the ten."""
    return task.removeprefix("miniwob/").replace("/", "-")


def ten_figure_names(short: str, seed: int) -> tuple[str, str, str]:
    """Success of one of the ten before PPO and after, and the minutes it took."""
    name = f"ppo_ten_{short}"
    return f"{name}_before", f"{name}_after_{seed}", f"{name}_minutes_{seed}"


def _rate(metrics: Mapping[str, Any], mode: str, split: str = "test", tries: int = 1) -> dict[str, Any]:
    """Value, interval and note of a success rate; of several tries, where one of them succeeded."""
    name, how = (f"success_{mode}", "greedy") if tries == 1 else (f"passed_{mode}", f"pass@{tries}")
    return {
        "value": round(float(metrics[name]), 4),
        "low": round(float(metrics[f"{name}_low"]), 4),
        "high": round(float(metrics[f"{name}_high"]), 4),
        "note": f"{how}, {int(metrics[f'episodes_{mode}']) // tries} {split} seeds",
    }
