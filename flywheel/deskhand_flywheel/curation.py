"""Which episodes of a task are worth how much, by what is known of all of them (DART, arXiv:2509.23866).

Fewer of tasks that mostly succeed, none that took longer than the longest success, and a stored success for
tasks of which all failed. There the rules say what is rolled out next (`curate` of a ppo run); here they say
what of the episodes that there are goes into a dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from deskhand_flywheel.types import Sieve


class Candidate(NamedTuple):
    """A whole episode with a verdict."""

    id: str
    task_id: str
    success: bool
    turns: int


def success_rates(candidates: Sequence[Candidate]) -> Mapping[str, float]:
    """Task -> share of its episodes that succeeded."""
    verdicts: defaultdict[str, list[bool]] = defaultdict(list)
    for candidate in candidates:
        verdicts[candidate.task_id].append(candidate.success)
    return {task: sum(of_it) / len(of_it) for task, of_it in verdicts.items()}


def out_of_band(candidates: Sequence[Candidate], sieve: Sieve) -> set[str]:
    """Tasks that succeed too seldom, or too often, for the band."""
    rates = success_rates(candidates)
    return {task for task, rate in rates.items() if not sieve.least_success <= rate <= sieve.most_success}


def overlong(candidates: Sequence[Candidate]) -> set[str]:
    """Ids of episodes with more turns than the longest success of their task; none of a task without one."""
    longest: dict[str, int] = {}
    for each in candidates:
        if each.success:
            longest[each.task_id] = max(longest.get(each.task_id, 0), each.turns)
    return {each.id for each in candidates if each.turns > longest.get(each.task_id, each.turns)}


def thinned(candidates: Sequence[Candidate], kept: Collection[str], sieve: Sieve) -> set[str]:
    """Of the kept ids those to be left out, of tasks that succeed more often than `thin_above`: all but the
    newest `thin_to`."""
    if not sieve.thin_to:
        return set()
    rates, kept = success_rates(candidates), set(kept)
    of_task: defaultdict[str, list[str]] = defaultdict(list)
    for each in candidates:
        if each.id in kept and rates[each.task_id] > sieve.thin_above:
            of_task[each.task_id].append(each.id)
    return {each for ids in of_task.values() for each in sorted(ids)[: -sieve.thin_to]}


def all_failed(candidates: Sequence[Candidate]) -> list[str]:
    """Tasks of which no episode succeeded."""
    return sorted(task for task, rate in success_rates(candidates).items() if rate == 0)
