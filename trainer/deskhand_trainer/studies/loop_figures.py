"""The figures of the loop study, from the results its runs left."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from deskhand_trainer.click_targets import Hit
from deskhand_trainer.results import Figure
from deskhand_trainer.studies.publishing import counted_at_start, made_by
from deskhand_trainer.studies.runs import result_of
from deskhand_trainer.wilson import wilson

COMMAND = "deskhand study loop"
LEARNERS = ("ppo", "reinforce", "rejection", "cloning")
CONTROL_TASK = "collapsible"
SEEING_TASK = "sequence"
MINUTES_GOAL = 15


def study_figures(folder: Path, tasks: Sequence[str], seeds: Sequence[int]) -> list[Figure]:
    """The figures of the arms that are done: of PPO once all its seeds are, of the arms beside it of any.

    Args:
        folder: of the study.
        tasks: their short names.
        seeds: that make an arm whole.
    """
    figures: list[Figure] = []
    for task in tasks:
        for arm in LEARNERS:
            done = [seed for seed in seeds if _whole(folder, task, arm, [seed], "evaluate")]
            if done and (arm != "ppo" or done == list(seeds)):
                figures += _arm_figures(task, arm, _whole(folder, task, arm, done, "evaluate"), done)
    figures += _perception_figures(folder, seeds) + _control_figures(folder, seeds)
    ppo = [_whole(folder, task, "ppo", seeds, "evaluate") for task in tasks]
    trained = [_minutes(after) for pairs in ppo for _, after in pairs if "diverged" not in after]
    if all(ppo) and trained:
        longest = max(trained)
        of = partial(_figure, runs=[after for pairs in ppo for _, after in pairs], seeds=seeds)
        figures.append(of("ppo_minutes_max", value=longest, unit="minutes", goal=f"<= {MINUTES_GOAL}"))
        figures.append(of("seeds", value=float(len(seeds)), unit="seeds", goal=">= 3"))
    return figures


def pooled_gain(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[float, float, float]:
    """Difference of two pooled success rates with Newcombe's hybrid score interval (1998, method 10).

    Args:
        before: metrics of the starts' evaluations.
        after: metrics of the evaluations of the trained policies.

    Returns:
        gain, and the ends of its 95 % interval.
    """
    old, new = _pooled(before), _pooled(after)
    gain = new.value - old.value
    low = gain - ((new.value - new.low) ** 2 + (old.high - old.value) ** 2) ** 0.5
    high = gain + ((new.high - new.value) ** 2 + (old.value - old.low) ** 2) ** 0.5
    return gain, low, high


def _pooled(metrics: Sequence[Mapping[str, Any]]) -> Any:
    trials = sum(int(m["episodes_sampled"]) for m in metrics)
    wins = round(sum(float(m["success_sampled"]) * int(m["episodes_sampled"]) for m in metrics))
    return wilson(wins, trials)


def _whole(
    folder: Path, task: str, arm: str, seeds: Sequence[int], measure: str
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Per seed: test metrics of the start, and of the arm with its training's metrics, config and labels, and
    with "diverged" where it did.

    Empty until every seed is done.
    """
    found: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for seed in seeds:
        start = _metrics(folder / f"{task}-start-{seed}" / measure)
        train = result_of(folder / f"{task}-{arm}-{seed}" / "train")
        test = _metrics(folder / f"{task}-{arm}-{seed}" / measure)
        if start is None or train is None or test is None:
            return []
        spec = json.loads((folder / f"{task}-{arm}-{seed}" / "train" / "spec.json").read_text())
        told = {"training": train["metrics"], "config": spec["config"], **spec["labels"]}
        told |= {"diverged": train["diverged"]} if "diverged" in train else {}
        found.append((start, {**test, **told}))
    return found


def _metrics(folder: Path) -> dict[str, Any] | None:
    found = result_of(folder)
    return None if found is None else found["metrics"]


def _minutes(metrics: Mapping[str, Any]) -> float:
    return float(metrics["training"]["minutes"])


def _arm_figures(
    task: str, arm: str, pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], seeds: Sequence[int]
) -> list[Figure]:
    before, after = [b for b, _ in pairs], [a for _, a in pairs]
    prefix = f"{arm}_{task}"
    of = partial(_figure, runs=after, seeds=seeds)
    best_start = max(before, key=lambda m: float(m["success_sampled"]))
    worst = min(after, key=lambda m: float(m["success_sampled"]))
    worst_greedy = min(after, key=lambda m: float(m["success_greedy"]))
    judged = arm == "ppo" and task != "sequence"
    figures = [
        of(f"{prefix}_before_sampled_max", goal="< 0.4" if judged else None, **_rate(best_start, "sampled")),
        of(f"{prefix}_after_sampled_min", goal=">= 0.9" if judged else None, **_rate(worst, "sampled")),
        of(f"{prefix}_after_greedy_min", goal=">= 0.95" if judged else None, **_rate(worst_greedy, "greedy")),
    ]
    gain, low, high = pooled_gain(before, after)
    note = (
        "sampled success pooled over these training seeds, less the starts'; 95 % Newcombe interval over "
        "their episodes, which tells nothing of other seeds"
    )
    figures.append(of(f"{prefix}_gain", value=gain, unit="share", low=low, high=high, note=note))
    goal = "> 0" if arm == "ppo" and task == "sequence" else None
    figures.append(of(f"{prefix}_gain_low", value=low, unit="share", goal=goal, note=note + ", lower end"))
    if arm == "ppo":
        figures += _first_clicks(of, f"{prefix}_before", before) + _first_clicks(of, f"{prefix}_after", after)
    passes, said = after[0]["config"]["epochs"], _lost(after, seeds)
    if arm == "reinforce" and passes > 1:
        said += f"; {passes} passes over each batch, without a ratio that corrects those after the first"
    figures = [
        replace(f, note=f.note + said) if "_after_" in f.name or "_gain" in f.name else f for f in figures
    ]
    return figures + _cost_figures(arm, prefix, after, seeds)


def _cost_figures(
    arm: str, prefix: str, after: Sequence[Mapping[str, Any]], seeds: Sequence[int]
) -> list[Figure]:
    """What training took, of the seeds in which it did not diverge."""
    sound = {seed: m for seed, m in zip(seeds, after, strict=True) if "diverged" not in m}
    if not sound:
        return []
    of, trained = partial(_figure, runs=[*sound.values()], seeds=[*sound]), [*sound.values()]
    figures = [
        of(f"{prefix}_minutes_max", value=max(map(_minutes, trained)), unit="minutes"),
        of(
            f"{prefix}_episodes",
            value=fmean(int(m["training"]["episodes"]) for m in trained),
            unit="episodes",
            note="of training, per seed",
        ),
    ]
    for part in ("environment", "inference", "training") if arm == "ppo" else ():
        share = fmean(float(m["training"][f"time_{part}"]) for m in trained)
        note = "of training's wall clock"
        figures.append(of(f"{prefix}_time_{part}", value=share, unit="share", note=note))
    return figures


def _lost(after: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> str:
    """For a note: the seeds in which training diverged."""
    of_seed = zip(seeds, after, strict=True)
    return counted_at_start({f"seed {seed}": m["diverged"] for seed, m in of_seed if "diverged" in m})


def _first_clicks(of: Callable[..., Figure], name: str, metrics: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """What the first turn's click hit, pooled over seeds; empty where nobody asked the page."""
    hits = [hit.value for hit in Hit]
    counts = {hit: sum(int(m.get(f"first_clicks_{hit}_sampled", 0)) for m in metrics) for hit in hits}
    total = sum(counts.values())
    note = "of first turns, sampled: the click hit the right element, a wrong one, nothing, or was none"
    return [
        of(f"{name}_first_{hit}", value=count / total, unit="share", note=note)
        for hit, count in counts.items()
        if total
    ]


def _perception_figures(folder: Path, seeds: Sequence[int]) -> list[Figure]:
    """How well the starts that were taught to see find what they are asked for."""
    starts = [folder / f"{SEEING_TASK}-start-{seed}" / "train" for seed in seeds]
    metrics = [_metrics(start) for start in starts]
    if not all(metrics):
        return []
    specs = [json.loads((start / "spec.json").read_text()) for start in starts]
    runs = [{"config": spec["config"], **spec["labels"]} for spec in specs]
    worst = min(float(m["perception/point_named"]) for m in metrics if m is not None)
    note = "of the things named on pages kept out of training, clicked into; least of the seeds"
    of = partial(_figure, runs=runs, seeds=seeds)
    figures = [of("warm_start_named_min", value=worst, unit="share", note=note)]
    tested = [_metrics(folder / f"{SEEING_TASK}-start-{seed}" / "evaluate") for seed in seeds]
    known = [metrics for metrics in tested if metrics is not None]
    if len(known) == len(tested):
        least = min(known, key=lambda m: float(m["success_sampled"]))
        figures.append(of("warm_start_sequence_sampled_min", **_rate(least, "sampled")))
    return figures


def _control_figures(folder: Path, seeds: Sequence[int]) -> list[Figure]:
    pairs = _whole(folder, CONTROL_TASK, "shuffled", seeds, "control")
    if not pairs:
        return []
    of = partial(_figure, runs=[after for _, after in pairs], seeds=seeds)
    gain = max(float(after["success_sampled"]) - float(before["success_sampled"]) for before, after in pairs)
    episodes = int(pairs[0][0]["episodes_sampled"])
    note = f"largest gain of sampled success under shuffled rewards, {episodes} episodes an arm"
    note += _lost([after for _, after in pairs], seeds)
    figures = [of("sabotage_gain_max", value=gain, unit="share", goal="<= 0.05", note=note)]
    critics = [_metrics(folder / f"{CONTROL_TASK}-start-{seed}" / "critic") for seed in seeds]
    known = [c for c in critics if c is not None]
    if len(known) == len(seeds):
        worst = max(abs(float(c["shuffled"])) for c in known)
        note = "largest |explained variance| on untouched episodes of a critic trained on shuffled returns"
        figures.append(
            of("sabotage_explained_variance_max", value=worst, unit="share", goal="<= 0.05", note=note)
        )
        least = min(float(c["real"]) for c in known)
        note = "the same critic on real returns, least of the seeds"
        figures.append(of("critic_explained_variance_min", value=least, unit="share", note=note))
    return figures


def _rate(metrics: Mapping[str, Any], mode: str) -> dict[str, Any]:
    """Value, unit, interval and note of a success rate."""
    return {
        "value": float(metrics[f"success_{mode}"]),
        "unit": "share",
        "low": float(metrics[f"success_{mode}_low"]),
        "high": float(metrics[f"success_{mode}_high"]),
        "note": f"{metrics[f'episodes_{mode}']} test seeds, {mode}",
    }


def _figure(
    name: str,
    *,
    value: float,
    unit: str,
    runs: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    goal: str | None = None,
    low: float | None = None,
    high: float | None = None,
    note: str = "",
) -> Figure:
    """A figure as old as the latest of the runs it stands for, from the commits and machines they ran at."""
    return Figure(
        name=name, value=value, unit=unit, goal=goal, low=low, high=high, note=note, command=COMMAND,
        config=runs[0]["config"], seeds=list(seeds), **made_by(runs),
    )  # fmt: skip
