"""Episodes that others played, as the policy would have said them: to be cloned, or to fit a critic to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Trajectory
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import Split
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.rollouts import Requester, episode_of
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.types import Episode, TrainingSample, last_attempt

Choose: TypeAlias = Callable[[TrajectoryFilter], Awaitable[Sequence[str]]]
"""Ids of those of the store's episodes that a filter chooses and a run may learn from."""


async def successes(choose: Choose, tasks: Sequence[str], split: Split, purpose: str) -> Sequence[str]:
    """Ids of the successes at the tasks that were recorded for a purpose, oldest first."""
    labels = {"purpose": purpose}
    return await choose(
        TrajectoryFilter(
            task_ids=tuple(tasks), split=split, outcome=OutcomeFilter.SUCCESS, labels=labels, ended=True
        )
    )


async def demonstrations(choose: Choose, tasks: Sequence[str], split: Split) -> Sequence[str]:
    """Ids of the demonstrations of the tasks that rollouts may be played beside, oldest first.

    Raises:
        RunRefused: there is none.
    """
    ids = await successes(choose, tasks, split, "demonstration")
    if not ids:
        raise RunRefused(
            f"the store holds no successful demonstration of {', '.join(tasks)} that the run may roll out "
            "against: collect some first"
        )
    return ids


def shown_episodes(
    trajectories: Sequence[Trajectory], bundle: ModelBundle, request: Requester
) -> list[Episode]:
    """Episodes that anybody played as the learner takes them, replies without log-probabilities; those with a
    turn that did nothing are left out.

    Args:
        trajectories: see `episode_of`.
        bundle: the model in whose ids they are told.
        request: see `episode_of`.
    """
    told = [(each, samples_from_trajectories([each], bundle)) for each in trajectories]
    found = [episode_of(each, request, said) for each, said in told if len(said) == len(each.steps)]
    return [episode for episode in found if episode is not None]


def cloning_samples(trajectories: Sequence[Trajectory], bundle: ModelBundle) -> tuple[TrainingSample, ...]:
    """Every turn of the attempts that succeeded, each token with advantage 1 and no behaviour policy.

    Args:
        trajectories: with a verdict, read with images.
        bundle: the model that is to imitate them.
    """
    won = [
        t for t in trajectories if t.end is not None and t.end.outcome is not None and t.end.outcome.success
    ]
    return tuple(
        replace(
            sample,
            advantage=(1.0,) * len(sample.reply_ids),
            returns=(0.0,) * len(sample.reply_ids),
            old_values=(0.0,) * len(sample.reply_ids),
        )
        for each in won
        for sample in last_attempt(samples_from_trajectories([each], bundle))
    )
