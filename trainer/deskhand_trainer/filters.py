"""Which of an iteration's episodes the policy learns from; the critic learns from all.

What is left out of the policy loss is out of the statistics of its group and batch, too: otherwise it would
still say how good the others were.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from deskhand_agent.types import StopReason
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.estimates import groups_of
from deskhand_trainer.types import Episode, TrainingSample
from deskhand_trainer.written import Written


def in_policy_loss(episodes: Sequence[Episode], config: PpoConfig) -> list[bool]:
    """Whether each episode is in the policy loss; all of them unless the config leaves some out. Rejection
    keeps those alone that earned no less than the least of their task's successes (RAFT, arXiv:2304.06767);
    `skip_void` drops whole episodes with a void turn (SimpleTIR, arXiv:2509.02479).

    Args:
        episodes: with their rewards.
    """
    kept = [
        not (config.skip_overlong and ran_over(e)) and not (config.skip_void and e.void_turns > 0)
        for e in episodes
    ]
    if config.keep_spread < 1 and any(kept):
        returns = torch.tensor([sum(s.reward for s in e.samples) for e in episodes])
        spread = widest_groups(returns, groups_of(episodes), torch.tensor(kept), share=config.keep_spread)
        kept = spread.tolist()
    if config.algorithm != "rejection":
        return kept
    enough: dict[str, float] = {}
    for e in episodes:
        if e.success:
            enough[e.task_id] = min(e.outcome, enough.get(e.task_id, math.inf))
    return [
        keep and 0 < earned(e.samples) >= enough.get(e.task_id, math.inf)
        for keep, e in zip(kept, episodes, strict=True)
    ]


def earned(turns: Sequence[TrainingSample]) -> float:
    """What an episode's outcome paid."""
    return sum(dict(turn.reward_parts)["outcome"] for turn in turns)


def ran_over(episode: Episode) -> bool:
    """Whether it ran into the turn limit: a longer one might have succeeded (Mini-o3, arXiv:2509.07969)."""
    return episode.stop_reason is StopReason.TURN_LIMIT


def widest_groups(returns: Tensor, groups: Tensor, kept: Tensor, *, share: float) -> Tensor:
    """Episodes of the groups whose returns differ most (StarPO-S of RAGEN, arXiv:2504.20073 §4.2).

    A start state that always or never ends well teaches a policy nothing and only adds noise.

    Args:
        returns: [N] what each episode earned.
        groups: [N] integer.
        kept: [N] bool, episodes that count; a group without any is gone already.
        share: of the groups, rounded up, those with the largest std stay; ties go to the lower index.

    Returns:
        [N] bool, never more than `kept`.
    """
    names, index = torch.unique(groups, return_inverse=True)
    deviations = torch.full((len(names),), -1.0)
    for group in range(len(names)):
        own = returns[(index == group) & kept]
        if len(own):
            deviations[group] = own.std(unbiased=False)
    there = int((deviations >= 0).sum().item())
    order = torch.argsort(deviations, descending=True, stable=True)
    stays = torch.zeros(len(names), dtype=torch.bool)
    stays[order[: math.ceil(share * there - 1e-9)]] = True
    return stays[index] & kept


def high_entropy_turns(entropies: Tensor, mask: Tensor, kept: Tensor, *, quantile: float) -> Tensor:
    """Turns at or above a quantile of the mean token entropy (DART, arXiv:2509.23866 §3.4).

    The policy is sure of the rest already; learning them further only sharpens it.

    Args:
        entropies: [N, T] nats, before the update.
        mask: [N, T] bool, reply tokens.
        kept: [N] bool, turns in the policy loss so far: the quantile is theirs.
        quantile: in [0, 1); "nearest" of the turns' means, so that 0 keeps all.

    Returns:
        [N] bool, never more than `kept`.
    """
    if not kept.any():
        return kept
    means = torch.where(mask, entropies, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
    least = torch.quantile(means[kept], quantile, interpolation="nearest")
    return kept & (means >= least)


def low_covariance(logprobs: Tensor, advantages: Tensor, mask: Tensor, *, share: float) -> Tensor:
    """All tokens but those whose log-probability goes most with their advantage (Clip-Cov, arXiv:2505.22617
    eq. 10; SPEAR, arXiv:2509.22601): few tokens take most of the entropy away.

    The papers draw among the tokens of a band of covariances; here the highest are left out, so that a batch
    decides alone.

    Args:
        logprobs, advantages: [N, T].
        mask: [N, T] bool, tokens in the policy loss: means are over them.
        share: of them left out, rounded up; ties at the edge stay.

    Returns:
        [N, T] bool, never more than `mask`.
    """
    kept = Written(mask)
    means = [kept.of(each) - kept.of(each).mean() for each in (logprobs, advantages)]
    covariance = means[0] * means[1]
    out = math.ceil(share * len(covariance) - 1e-9)
    if not out:
        return mask
    edge = covariance.topk(min(out + 1, len(covariance))).values[-1]
    stays = covariance <= edge
    return kept.spread(stays.to(logprobs.dtype)) > 0
