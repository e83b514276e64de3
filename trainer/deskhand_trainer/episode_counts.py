"""How many episodes an iteration has: whole groups, a start state for every task, both sides of a game."""

from __future__ import annotations

from deskhand_trainer.choices import Rollouts


def refuse_counts(episodes: int, *, group: int, tasks: int, rollouts: Rollouts) -> None:
    """
    Args:
        episodes: of an iteration.
        group: episodes of each start state.
        tasks: how many there are.
        rollouts: where they come from.

    Raises:
        ValueError: they do not come out even; says the nearest number that does.
    """
    if episodes % group:
        fewer = episodes - episodes % group
        near = f"{fewer} or {fewer + group}" if fewer else str(group)
        raise ValueError(
            f"episodes_per_iteration {episodes} is no whole number of groups of {group}: try {near}"
        )
    starts = episodes // group
    if rollouts == "batch" and starts < tasks:
        raise ValueError(
            f"episodes_per_iteration {episodes} in groups of {group} come to {starts} start states, and "
            f"there are {tasks} tasks: try {tasks * group}"
        )
    if rollouts == "self_play" and episodes % 2:
        raise ValueError(
            f"episodes_per_iteration {episodes} is no whole number of games, which have two sides: try "
            f"{episodes + 1}"
        )
