"""Learning again from what went well: self-imitation beside the iteration's own episodes.

After SPEAR (arXiv:2509.22601): stored successes come back with an advantage against what is usual now, not
against what was usual when they were drawn, and count little until exploration has had its time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, median

from torch import Tensor

from deskhand_trainer.batches import with_old_logprobs
from deskhand_trainer.replay import Successes
from deskhand_trainer.types import Episode, TrainingSample, last_attempt

USUAL_OF = 256
"""Groups whose mean outcomes say what is usual; the newest."""


def usual(earlier: Sequence[float], episodes: Sequence[Episode]) -> list[float]:
    """Mean outcomes of groups, oldest first, with those of one more iteration."""
    groups: dict[str, list[float]] = {}
    for episode in episodes:
        groups.setdefault(episode.group_id or episode.task_id, []).append(episode.outcome)
    return [*earlier, *(fmean(outcomes) for outcomes in groups.values())][-USUAL_OF:]


def warmed_up(iteration: int, *, iterations: int) -> float:
    """What self-imitation counts: ½(1 − cos(π·t/T)) up to T, then 1.

    Args:
        iteration: t, from 0.
        iterations: T.
    """
    return 0.5 * (1 - math.cos(math.pi * iteration / iterations)) if iteration < iterations else 1.0


def imitated(
    successes: Successes,
    baselines: Sequence[float],
    *,
    weight: float,
    scored: Callable[[Sequence[TrainingSample]], Tensor] | None = None,
) -> list[TrainingSample]:
    """Turns of the stored successes whose outcome is above the running median of what is usual; of several
    attempts those of the last.

    Args:
        baselines: of `usual`.
        weight: of `warmed_up`; 0 gives none.
        scored: log-probabilities [samples, T] under the policy that ratios are taken to; None: to the policy
            that drew each.

    Returns:
        Samples for the policy loss alone: every token's advantage is outcome − median.
    """
    if weight <= 0 or not baselines:
        return []
    middle = median(baselines)
    again = [
        replace(
            sample,
            advantage=(episode.outcome - middle,) * len(sample.reply_ids),
            policy_weights=(weight,) * len(sample.reply_ids),
            in_value_loss=False,
            replayed=True,
            beside=True,
        )
        for kept in successes.of_task.values()
        for episode in kept
        if episode.outcome > middle
        for sample in last_attempt(episode.samples)
    ]
    if scored is None or not again:
        return again
    return with_old_logprobs(again, scored(again), [True] * len(again))
