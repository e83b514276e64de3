"""Which tasks the study of the base model works: those it was shown, and those it was not."""

from __future__ import annotations

from collections.abc import Sequence

from deskhand_agent.policies.scripted import oracle_tasks
from deskhand_sandbox.tasks import workflows
from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS
from deskhand_trainer.results import Figure
from deskhand_trainer.studies.base_figures import task_figure_name

CANDIDATE, LEARNABLE = "candidate", "learnable"
"""The parts in which candidates are measured: greedy, and by whether one of several tries succeeds."""
CANDIDATES = workflows.PROVEN
"""Tasks of several turns of which the base was shown nothing: no demonstration, and no page like theirs."""
NEVER_SHOWN = tuple(
    f"miniwob/{name}"
    for name in (
        "ascending-numbers",
        "choose-list",
        "click-button-sequence",
        "click-checkboxes",
        "click-checkboxes-large",
        "click-collapsible",
        "click-collapsible-2",
        "click-collapsible-2-nodelay",
        "click-collapsible-nodelay",
        "click-option",
    )
)
"""MiniWoB++ tasks with an oracle that the base was shown nothing of either, less those held out for good."""
TEN = 10
BELOW = 0.4
"""Greedy success on validation seeds that none of the ten has before PPO."""


def train_tasks() -> tuple[str, ...]:
    """MiniWoB++ tasks the base was shown demonstrations of."""
    miniwob = [task for task in oracle_tasks() if task.startswith("miniwob/")]
    return tuple(task for task in miniwob if task not in HELD_OUT_TASKS and task not in NEVER_SHOWN)


def done_seldom(figures: Sequence[Figure], policy: str) -> tuple[str, ...]:
    """Candidates that a policy does less often than `BELOW`, greedy; none where one was not measured."""
    rates = _rates(CANDIDATE, CANDIDATES, figures, policy)
    return tuple(task for task, rate in rates.items() if rate < BELOW)


def the_ten(figures: Sequence[Figure], policy: str) -> tuple[str, ...]:
    """Of the candidates that are done seldom, those of which most start states have a success among several
    tries: there PPO has something to learn from. Of equals those done most often, then the first by name.

    Args:
        figures: of candidates, on validation seeds, and others.
        policy: whose they are.

    Returns:
        ids of tasks, sorted; none where one that matters was not measured.
    """
    seldom = done_seldom(figures, policy)
    tries, greedy = (_rates(part, seldom, figures, policy) for part in (LEARNABLE, CANDIDATE))
    best = sorted(tries, key=lambda task: (-tries[task], -greedy[task], task))
    return tuple(sorted(best[:TEN]))


def _rates(part: str, tasks: Sequence[str], figures: Sequence[Figure], policy: str) -> dict[str, float]:
    """Of every task; empty where one was not measured."""
    known = {each.name: each.value for each in figures if each.config.get("policy") == policy}
    names = {task: task_figure_name(part, task) for task in tasks}
    if any(name not in known for name in names.values()):
        return {}
    return {task: known[name] for task, name in names.items()}
