"""Whole episodes as what policies wrote in them: every turn by its own ids, those without an action too."""

from __future__ import annotations

from deskhand_agent.types import Step, Trajectory
from deskhand_trainer.preferences.pairs import Played
from deskhand_trainer.rollouts import episode_of


def played(trajectory: Trajectory, processor_hash: str) -> Played | None:
    """An episode as it was drawn; None where the ids of a turn are unknown, or another processor's.

    Args:
        trajectory: with a verdict and at least one step, pictures with their bytes.
        processor_hash: of the policy that is to learn.
    """
    if not all(_by(step, processor_hash) for step in trajectory.steps):
        return None
    episode = episode_of(trajectory, None)
    if episode is None:
        return None
    return Played(
        task_id=episode.task_id,
        seed=episode.seed,
        samples=episode.samples,
        outcome=episode.outcome,
        success=episode.success,
    )


def _by(step: Step, processor_hash: str) -> bool:
    asked = step.decision.request
    return asked is not None and asked.processor_hash == processor_hash
