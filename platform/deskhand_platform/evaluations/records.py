"""Every evaluation of this home, from the folders of its runs: of rounds, by hand, and asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskhand_platform.evaluations.verdicts import Verdict
from deskhand_platform.rounds.run_queue import ENDED, state_of
from deskhand_platform.rounds.runs import read_asked, read_result
from deskhand_platform.rounds.table import rate
from deskhand_platform.states import WorkState
from deskhand_trainer.run_folder import read_state
from deskhand_trainer.runs import RunKind

MODES = ("sampled", "greedy")
ALL_TASKS = "all"
"""Stands where a task's id does, for all tasks of a suite together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Success on one task, or on all together, with its 95 % Wilson interval."""

    task: str
    mode: str
    success: float
    low: float
    high: float
    episodes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationRecord:
    """One policy on one suite."""

    id: str
    """Of the run; its events are of "run:" and this."""
    policy_id: str | None
    """None: the scripted oracle, or random weights."""
    scripted: bool
    tasks: tuple[str, ...]
    split: str
    round: str | None
    """The round it belongs to, and its phase."""
    phase: str | None
    state: WorkState
    reason: str | None
    done: int
    """Episodes, and how many in all; 0 of 0 before it began."""
    total: int
    asked_at_s: float
    ended_at_s: float | None
    rows: tuple[Measured, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One task in one mode, by two policies."""

    task: str
    mode: str
    split: str
    old: Measured
    new: Measured
    difference: float
    """New less old, with its 95 % interval."""
    low: float
    high: float
    verdict: Verdict


def evaluations(runs: Path) -> tuple[EvaluationRecord, ...]:
    """Those of a folder of runs, newest first."""
    folders = runs.iterdir() if runs.is_dir() else ()
    found = [record for folder in folders if (record := read_evaluation(folder)) is not None]
    return tuple(sorted(found, key=lambda one: (one.asked_at_s, one.id), reverse=True))


def read_evaluation(folder: Path) -> EvaluationRecord | None:
    """The evaluation whose run a folder is; None where it is none."""
    try:
        spec: Mapping[str, Any] = json.loads((folder / "spec.json").read_text())
        asked_at_s = read_asked(folder)
    except (OSError, json.JSONDecodeError):
        return None
    if spec.get("kind") != RunKind.EVALUATE:
        return None
    config: Mapping[str, Any] = spec.get("config") or {}
    labels: Mapping[str, str] = spec.get("labels") or {}
    tasks = tuple(str(task) for task in config.get("tasks") or ())
    state, reason = state_of(folder)
    progress, result = read_state(folder), read_result(folder)
    ended = folder / ("result.json" if result is not None else ENDED)
    return EvaluationRecord(
        id=folder.name,
        policy_id=spec.get("policy_in"),
        scripted=config.get("policy") == "scripted",
        tasks=tasks,
        split=str(config.get("split", "test")),
        round=labels.get("round"),
        phase=labels.get("phase"),
        state=state,
        reason=reason,
        done=progress.done if progress else 0,
        total=progress.total if progress else 0,
        asked_at_s=asked_at_s,
        ended_at_s=ended.stat().st_mtime if ended.exists() else None,
        rows=_rows(result.metrics, tasks) if result is not None else (),
    )


def compare(records: Iterable[EvaluationRecord], old: str, new: str) -> tuple[Comparison, ...]:
    """Two policies, by their newest measurements of the same task, mode and split; what got worse first."""
    before, after = _newest(records := tuple(records), old), _newest(records, new)
    found = [_compared(key, before[key], after[key]) for key in before if key in after]
    return tuple(sorted(found, key=lambda one: (one.high, one.task, one.mode)))


def _compared(key: tuple[str, str, str], old: Measured, new: Measured) -> Comparison:
    """Newcombe's interval of a difference (1998, method 10), from the two Wilson intervals."""
    difference = new.success - old.success
    low = difference - math.hypot(new.success - new.low, old.high - old.success)
    high = difference + math.hypot(new.high - new.success, old.success - old.low)
    verdict = Verdict.BETTER if low > 0 else Verdict.WORSE if high < 0 else Verdict.UNCLEAR
    task, mode, split = key
    return Comparison(
        task=task,
        mode=mode,
        split=split,
        old=old,
        new=new,
        difference=difference,
        low=low,
        high=high,
        verdict=verdict,
    )


def _newest(records: Sequence[EvaluationRecord], policy_id: str) -> dict[tuple[str, str, str], Measured]:
    """(task, mode, split) -> the newest measurement. All tasks together go by which tasks those are."""
    found: dict[tuple[str, str, str], Measured] = {}
    for record in records:
        if record.policy_id == policy_id:
            for row in record.rows:
                together = f"{ALL_TASKS}: {', '.join(sorted(record.tasks))}"
                name = together if row.task == ALL_TASKS else row.task
                found.setdefault((name, row.mode, record.split), row)
    return found


def _rows(metrics: Mapping[str, Any], tasks: Sequence[str]) -> tuple[Measured, ...]:
    named = [(tasks[0], "")] if len(tasks) == 1 else [(ALL_TASKS, ""), *((t, f":{t}") for t in tasks)]
    found: list[Measured] = []
    for mode in MODES:
        for task, suffix in named:
            measured = rate(metrics, f"{mode}{suffix}")
            if measured is not None:
                found.append(
                    Measured(
                        task=task,
                        mode=mode,
                        success=measured.success,
                        low=measured.low,
                        high=measured.high,
                        episodes=measured.episodes,
                    )
                )
    return tuple(found)
