"""How many episodes an iteration has: whole groups, a start state for every task, both sides of a game."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deskhand_trainer.config import PpoConfig


def refuse_counts(config: PpoConfig) -> None:
    """
    Raises:
        ValueError: episodes, groups and tasks do not come out even, or leave no two episodes to compare; says
            the nearest number that does.
    """
    episodes, group, tasks = config.episodes_per_iteration, config.group_size, len(config.tasks)
    if episodes % group:
        fewer = episodes - episodes % group
        near = f"{fewer} or {fewer + group}" if fewer else str(group)
        raise ValueError(
            f"episodes_per_iteration {episodes} is no whole number of groups of {group}: try {near}"
        )
    starts = episodes // group
    if config.rollouts == "batch" and starts < tasks:
        raise ValueError(
            f"episodes_per_iteration {episodes} in groups of {group} come to {starts} start states, and "
            f"there are {tasks} tasks: try {tasks * group}"
        )
    # where every start state is played once, a task's episodes are the group
    alone = config.rollouts in ("batch", "stream") and group == 1 and episodes < 2 * tasks
    if alone and config.compares_groups:
        raise ValueError(
            f"group_size 1: {episodes} episodes of {tasks} tasks are not two of each, and an episode is "
            "compared with the others of its group: try group_size=2 with "
            f"episodes_per_iteration={2 * tasks}"
        )
    if config.rollouts == "self_play" and episodes % 2:
        raise ValueError(
            f"episodes_per_iteration {episodes} is no whole number of games, which have two sides: try "
            f"{episodes + 1}"
        )
