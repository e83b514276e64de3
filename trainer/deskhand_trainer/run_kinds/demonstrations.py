"""Episodes that are worth imitating, as a run that imitates takes them from the store."""

from __future__ import annotations

import math
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
        most: of each task so many, shared evenly among the purposes as far as there are some.
        purposes: whose: oracles' ("demonstration"), those that were played first, or policies' own
            ("rollout"), the newest.

    Raises:
        RunRefused: see `RunContext.episodes` and `RunContext.read`.
    """
    ids: list[str] = []
    for task, count in most.items():
        found: dict[str, list[str]] = {}
        for purpose in purposes:
            chosen = TrajectoryFilter(
                task_ids=(task,),
                split=Split.TRAIN,
                outcome=OutcomeFilter.SUCCESS,
                labels={"purpose": purpose},
                ended=True,
            )
            found[purpose] = await context.settled_episodes(chosen)
        # whoever has few of them leaves the others more
        for place, (purpose, own) in enumerate(sorted(found.items(), key=lambda pair: len(pair[1]))):
            share = min(len(own), math.ceil(count / (len(found) - place)))
            ids += own[len(own) - share :] if purpose == "rollout" else own[:share]
            count -= share
    order = list(most)
    read = [t async for t in context.read(ids)]
    return sorted(read, key=lambda t: (order.index(t.start.task.id), t.start.task.seed))
