"""What the arms that imitate see of an iteration: their own successes, or the oracle's episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from deskhand_trainer.batches import Batch
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.filters import earned
from deskhand_trainer.rollouts import Collected
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import Episode, TrainingSample, last_attempt


def to_learn(config: PpoConfig, episodes: Sequence[Episode], batch: Batch) -> tuple[TrainingSample, ...]:
    """What the update sees. Of rejection's what is in the policy loss, of last attempts alone, all of whose
    tokens have as their advantage what the episode earned: 1, but where a task pays by degrees.

    Args:
        episodes: whose turns the batch holds, replayed ones among them.
    """
    if config.algorithm != "rejection":
        return batch.samples
    samples = iter(batch.samples)
    each = [list(islice(samples, len(e.samples))) for e in episodes]
    return tuple(
        replace(turn, advantage=(earned(turns),) * len(turn.reply_ids))
        for turns in map(last_attempt, each)
        for turn in turns
        if turn.in_policy_loss
    )


def oracle_episodes(collected: Collected) -> list[Episode]:
    """Oracle episodes for the figures only: how many, how long, how they ended."""
    episodes: list[Episode] = []
    for t in collected.trajectories:
        assert t.end is not None and t.end.outcome is not None
        blank = TrainingSample(
            trajectory_id=t.id, turn_index=0, prompt_ids=(), reply_ids=(), images=(),
            behaviour_logprobs=(), reward=0.0,
        )  # fmt: skip
        episodes.append(
            Episode(
                trajectory_id=t.id,
                task_id=t.start.task.id,
                seed=t.start.task.seed,
                samples=(blank,) * len(t.steps),
                outcome=t.end.outcome.score,
                success=t.end.outcome.success,
                stop_reason=t.end.stop_reason,
            )
        )
    return episodes


def nothing_learned() -> UpdateReport:
    """Of an iteration whose episodes gave nothing to imitate."""
    nothing = dict.fromkeys(
        ("policy_loss", "value_loss", "entropy", "kl_per_turn", "clip_fraction", "actor_grad_norm",
         "critic_grad_norm", "bias_norm"), 0.0,
    )  # fmt: skip
    return UpdateReport(**nothing, logprob_gap=math.nan, ratio_mean=1.0, ratio_max=1.0, optimizer_steps=0)
