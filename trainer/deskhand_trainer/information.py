"""What a turn brought to light: how much likelier the right answer has become (IGPO, arXiv:2510.14967).

Only for tasks whose right answer is written down in the task; others gain nothing by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.prompting import tokenise_reply
from deskhand_trainer.actor_critic import reply_mask
from deskhand_trainer.types import Episode, TrainingSample

Scorer = Callable[[Sequence[TrainingSample]], Tensor]
"""Turns -> [N, T] log-probability of every reply token under the policy as it is now."""


def gains(probabilities: Sequence[float]) -> list[float]:
    """r_h = p_{h+1} − p_h of every turn but the last, whose reward is the outcome: the last gains 0 (IGPO,
    arXiv:2510.14967, its turn-level reward).

    Args:
        probabilities: of the right answer before each turn.
    """
    return [*(after - before for before, after in pairwise(probabilities)), 0.0]


def informed(episodes: Sequence[Episode], bundle: ModelBundle, score: Scorer) -> list[Episode]:
    """The episodes with what each of their turns brought to light.

    The probability of an answer is exp of its tokens' mean log-probability, as the reply that says it in the
    policy's own form (IGPO, arXiv:2510.14967).
    """
    asked = [_asked(episode, bundle) for episode in episodes]
    flat = [sample for samples in asked for sample in samples]
    if not flat:
        return list(episodes)
    logprobs, mask = score(flat), reply_mask(flat)
    means = torch.where(mask, logprobs, 0.0).sum(-1) / mask.sum(-1)
    found = iter(means.exp().tolist())
    return [
        replace(episode, information_gains=tuple(gains([next(found) for _ in samples])))
        if samples
        else episode
        for episode, samples in zip(episodes, asked, strict=True)
    ]


def _asked(episode: Episode, bundle: ModelBundle) -> list[TrainingSample]:
    """Each turn with the right answer as its reply; none where it is not known."""
    if episode.answer is None:
        return []
    ids = tokenise_reply(bundle, bundle.form.answering(episode.answer))
    return [
        replace(sample, reply_ids=ids, behaviour_logprobs=(0.0,) * len(ids), old_logprobs=())
        for sample in episode.samples
    ]
