"""Episodes that are worth imitating, as a run that imitates takes them from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deskhand_agent.types import Trajectory
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import Split
from deskhand_trainer.run_kinds.context import RunContext


async def demonstrations(
    context: RunContext, most: Mapping[str, int], *, purposes: Sequence[str] = ("demonstration",)
) -> list[Trajectory]:
    """Successful episodes of the train split, by task and seed: the same ones make the same policy, in
    whichever order they were played.

    Args:
        most: of each task so many of those that were played first.
        purposes: whose: oracles' ("demonstration"), or policies' own ("rollout").

    Raises:
        RunRefused: see `RunContext.episodes` and `RunContext.read`.
    """
    ids: list[str] = []
    for task, count in most.items():
        found: list[str] = []
        for purpose in purposes:
            chosen = TrajectoryFilter(
                task_ids=(task,),
                split=Split.TRAIN,
                outcome=OutcomeFilter.SUCCESS,
                labels={"purpose": purpose},
                ended=True,
            )
            found += await context.settled_episodes(chosen)
        ids += found[:count]
    order = list(most)
    read = [t async for t in context.read(ids)]
    return sorted(read, key=lambda t: (order.index(t.start.task.id), t.start.task.seed))
