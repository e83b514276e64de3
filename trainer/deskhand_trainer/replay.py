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

    def stored(self, episodes: Sequence[Episode]) -> Successes:
        """With the successes among these; the oldest make room."""
        kept = dict(self.of_task)
        for episode in episodes:
            if episode.success:
                kept[episode.task_id] = (*kept.get(episode.task_id, ()), episode)[-self.size :]
        return replace(self, of_task=kept)

    def ids(self) -> dict[str, list[str]]:
        """Trajectory ids by task, as a checkpoint keeps them."""
        return {task: [e.trajectory_id for e in episodes] for task, episodes in self.of_task.items()}

    def gains(self) -> dict[str, list[float]]:
        """What their turns brought to light, by trajectory id: the policy that said so will have moved on."""
        found = [e for episodes in self.of_task.values() for e in episodes]
        return {e.trajectory_id: list(e.information_gains) for e in found if e.information_gains}

    async def restored(
        self, ids: Mapping[str, Sequence[str]], gains: Mapping[str, Sequence[float]], episodes_of: Restorer
    ) -> Successes:
        """With the episodes that a checkpoint names, as far as they can be had.

        Args:
            ids: of `ids`.
            gains: of `gains`; none in checkpoints that kept none.
        """
        kept = dict(self.of_task)
        for task, names in ids.items():
            found = await episodes_of(names)
            kept[task] = tuple(
                replace(e, information_gains=tuple(gains.get(e.trajectory_id, ()))) for e in found
            )
        return replace(self, of_task=kept)


def replayed(episodes: Sequence[Episode], successes: Successes) -> tuple[list[Episode], Successes]:
    """The episodes with one slot of every failed group swapped for a stored success, oldest first in turn.

    Args:
        episodes: of one iteration.
        successes: of iterations before.

    Returns:
        As many episodes in the same order, and the successes with those of this iteration stored.
    """
    groups: dict[str, list[int]] = {}
    for place, episode in enumerate(episodes):
        groups.setdefault(episode.group_id or episode.task_id, []).append(place)
    mixed, turned = list(episodes), dict(successes.of_task)
    for places in groups.values():
        last = episodes[places[-1]]
        kept = turned.get(last.task_id, ())
        if kept and _failed([episodes[i].outcome for i in places]):
            turned[last.task_id] = (*kept[1:], kept[0])
            old = tuple(replace(sample, replayed=True) for sample in kept[0].samples)
            mixed[places[-1]] = replace(kept[0], group_id=last.group_id, samples=old)
    return mixed, replace(successes, of_task=turned).stored(episodes)


def _failed(outcomes: Sequence[float]) -> bool:
    mean = sum(outcomes) / len(outcomes)
    spread = (sum((o - mean) ** 2 for o in outcomes) / len(outcomes)) ** 0.5
    return spread < SPREAD_BELOW and mean < FAILS_BELOW
