"""What rollouts are allowed as training goes on: functions of how far it is, so nothing is to be resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOSTLY = 0.6
"""Success above which a task gets fewer episodes (DART, arXiv:2509.23866 §3.3)."""
FEWER = 0.5
"""Of an even share, then."""
DART_BAND = (0.0, MOSTLY)


def turn_limit(limits: Sequence[int], *, every: int, iteration: int) -> int | None:
    """The turn limit of an iteration's episodes (ScalingInter-RL of AgentGym-RL, arXiv:2509.08755 §4.2).

    Short horizons teach basic skills first; longer ones let the policy explore with them.

    Args:
        limits: one after another, as [10, 20, 30]; none: None.
        every: iterations each of them holds; the last one stays.
        iteration: from 0; before, the first one holds.
    """
    return limits[min(max(0, iteration) // every, len(limits) - 1)] if limits else None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskRecord:
    """How a task has gone so far."""

    success: float
    """Of its last iteration."""
    longest: int = 0
    """Turns of its longest success; 0 before the first."""


def shares(
    tasks: Sequence[str],
    starts: int,
    records: Mapping[str, TaskRecord],
    *,
    band: tuple[float, float] = DART_BAND,
) -> list[int]:
    """How many start states each task gets of `starts`: fewer where its success lies outside a band.

    What those give up goes to the rest; where all lie outside, all get the same. Every task gets one at
    least where there are enough, so that its record stays true. With both ends inside 0 and 1 this is a
    curriculum by difficulty (CRAFT-GUI, arXiv:2508.11360): neither what is known nor what is out of reach.

    Args:
        tasks: in order.
        starts: in all.
        records: of tasks that were tried.
        band: least and most success of the last iteration, both inside.
    """
    low, high = band
    inside = [task not in records or low <= records[task].success <= high for task in tasks]
    weights = [1.0 if each else FEWER for each in inside]
    exact = [starts * weight / sum(weights) for weight in weights]
    counts = [max(1, int(share)) if starts >= len(tasks) else int(share) for share in exact]
    by_remainder = sorted(range(len(tasks)), key=lambda i: (int(exact[i]) - exact[i], i))
    place = 0
    while sum(counts) < starts:
        counts[by_remainder[place % len(tasks)]] += 1
        place += 1
    while sum(counts) > starts:
        counts[counts.index(max(counts))] -= 1
    return counts


def in_turn(tasks: Sequence[str], counts: Sequence[int]) -> list[str]:
    """Each task as often as its count says, spread evenly: any stretch holds about all shares."""
    places = [((k + 0.5) / count, i) for i, count in enumerate(counts) for k in range(count)]
    return [tasks[i] for _, i in sorted(places)]


def turn_limits(tasks: Sequence[str], limit: int | None, records: Mapping[str, TaskRecord]) -> dict[str, int]:
    """The turn limit of each task's episodes: `limit`, and where it mostly succeeds its longest success.

    DART's tasks are one start state each. Here some may take more turns than any that succeeded so far: a
    task that seldom succeeds is not held to what it could do.

    Args:
        limit: of all; None: none.
        records: of tasks that are held to their longest success once they mostly succeed.

    Returns:
        By task; one that is missing keeps its own.
    """
    longest = {task: r.longest for task, r in records.items() if r.success > MOSTLY and r.longest}
    both = {task: [n for n in (limit, longest.get(task)) if n is not None] for task in tasks}
    return {task: min(found) for task, found in both.items() if found}


def recorded(
    records: Mapping[str, TaskRecord], outcomes: Sequence[tuple[str, bool, int]]
) -> dict[str, TaskRecord]:
    """Records with an iteration's episodes taken in.

    Args:
        outcomes: task, success and turns of each episode, counted as a turn limit does.
    """
    new = dict(records)
    for task in {task for task, _, _ in outcomes}:
        own = [(won, turns) for each, won, turns in outcomes if each == task]
        before = records[task].longest if task in records else 0
        longest = max([before, *(turns for won, turns in own if won)])
        new[task] = TaskRecord(success=sum(won for won, _ in own) / len(own), longest=longest)
    return new
