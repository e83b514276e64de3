"""Successes of earlier iterations, for groups in which nobody succeeds: replay of ARPO (arXiv:2505.16282).

A group of failures has no advantage to learn from. One of its slots is given to a success the task had
before; the ratio to the policy that drew it is PPO's to clip.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deskhand_trainer.types import Episode

Restorer = Callable[[Sequence[str]], Awaitable[Sequence[Episode]]]
"""Episodes of the store by the ids of their trajectories."""
FAILS_BELOW = 0.2
"""Mean outcome under which a group has failed."""
SPREAD_BELOW = 0.05
"""Population std of its outcomes under which a group has nothing to tell apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Successes:
    """The newest successes of each task."""

    size: int
    """Of each task's, at most."""
    of_task: Mapping[str, tuple[Episode, ...]] = field(default_factory=dict[str, tuple[Episode, ...]])
    """Oldest first."""
    waiting: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many of each task's newest have their turn still to come; 0: all of them, from the oldest on."""

    def stored(self, episodes: Sequence[Episode]) -> Successes:
        """With the successes among these; the oldest make room."""
        kept, waiting = dict(self.of_task), dict(self.waiting)
        for episode in episodes:
            if episode.success:
                kept[episode.task_id] = (*kept.get(episode.task_id, ()), episode)[-self.size :]
                waiting[episode.task_id] = waiting.get(episode.task_id, 0) + 1
        return replace(self, of_task=kept, waiting=waiting)

    def newest(self, count: int) -> Successes:
        """With so many of each task's at most."""
        return replace(self, of_task={task: own[-count:] for task, own in self.of_task.items()})

    def ids(self) -> dict[str, list[str]]:
        """Trajectory ids by task, as a checkpoint keeps them."""
        return {task: [e.trajectory_id for e in episodes] for task, episodes in self.of_task.items()}

    def gains(self) -> dict[str, list[float]]:
        """What their turns brought to light, by trajectory id: the policy that said so will have moved on."""
        found = [e for episodes in self.of_task.values() for e in episodes]
        return {e.trajectory_id: list(e.information_gains) for e in found if e.information_gains}

    async def restored(
        self,
        ids: Mapping[str, Sequence[str]],
        gains: Mapping[str, Sequence[float]],
        waiting: Mapping[str, int],
        episodes_of: Restorer,
    ) -> Successes:
        """With the episodes that a checkpoint names, as far as they can be had.

        Args:
            ids: of `ids`.
            gains: of `gains`; none in checkpoints that kept none.
            waiting: as here; none in checkpoints that kept none, whose first `ids` are next.
        """
        kept = dict(self.of_task)
        waiting = {task: waiting.get(task, len(names)) for task, names in ids.items()}
        for task, names in ids.items():
            found = await episodes_of(names)
            kept[task] = tuple(
                replace(e, information_gains=tuple(gains.get(e.trajectory_id, ()))) for e in found
            )
        return replace(self, of_task=kept, waiting=waiting)


def replayed(
    episodes: Sequence[Episode], successes: Successes, *, newest: int
) -> tuple[list[Episode], Successes]:
    """The episodes with one slot of every failed group swapped for a stored success, oldest first in turn
    (ARPO, arXiv:2505.16282, its experience replay).

    Args:
        episodes: of one iteration.
        successes: of iterations before.
        newest: of each task's that take turns.

    Returns:
        As many episodes in the same order, and the successes with those of this iteration stored.
    """
    groups: dict[str, list[int]] = {}
    for place, episode in enumerate(episodes):
        groups.setdefault(episode.group_id or episode.task_id, []).append(place)
    mixed, waiting = list(episodes), dict(successes.waiting)
    for places in groups.values():
        last = episodes[places[-1]]
        kept = successes.of_task.get(last.task_id, ())[-newest:]
        if kept and _failed([episodes[i].outcome for i in places]):
            left = min(waiting.get(last.task_id, 0), len(kept)) or len(kept)
            chosen = kept[-left]
            waiting[last.task_id] = left - 1
            old = tuple(replace(sample, replayed=True) for sample in chosen.samples)
            mixed[places[-1]] = replace(chosen, group_id=last.group_id, samples=old)
    return mixed, replace(successes, waiting=waiting).stored(episodes)


def _failed(outcomes: Sequence[float]) -> bool:
    mean = sum(outcomes) / len(outcomes)
    spread = (sum((o - mean) ** 2 for o in outcomes) / len(outcomes)) ** 0.5
    return spread < SPREAD_BELOW and mean < FAILS_BELOW
