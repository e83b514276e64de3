"""Oracle episodes as samples of the cloning arm: each token with advantage 1, no behaviour policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Trajectory
from deskhand_trainer.sft.demonstrations import samples_from_trajectories
from deskhand_trainer.types import TrainingSample


def cloning_samples(trajectories: Sequence[Trajectory], bundle: ModelBundle) -> tuple[TrainingSample, ...]:
    """Every turn of the successful episodes.

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
        for sample in samples_from_trajectories(won, bundle)
    )
