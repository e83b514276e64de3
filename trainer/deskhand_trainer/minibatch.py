"""A minibatch of turns as tensors, with the weight that each token has in the update."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import padded, reply_mask
from deskhand_trainer.batches import entries_of
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.losses import TurnRatio, token_weights, truncated_importance, turn_weights
from deskhand_trainer.types import TrainingSample

TURN_RATIOS: Mapping[str, TurnRatio] = {"turn_product": "product", "turn_geometric": "geometric"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Minibatch:
    """B turns of T written tokens at most; [B, T] unless said otherwise."""

    samples: Sequence[TrainingSample]
    mask: Tensor
    drawn_logprobs: Tensor
    """By the engine that drew the replies."""
    old_logprobs: Tensor
    """What ratios are taken to: the same, or the trainer's own before the update."""
    advantages: Tensor
    returns: Tensor
    old_values: Tensor
    reference: Tensor
    policy_weights: Tensor
    """[B, T] for token losses, [B] for turn losses; of the whole minibatch. They make a mean of its turns,
    and another of those learned `beside`."""
    value_weights: Tensor
    token_shares: Tensor
    """[B, T] of tokens in the policy loss, but of those learned `beside`."""
    counted: bool = True
    """False: passed through for the sake of the other ranks."""

    def part(self, chosen: Sequence[int]) -> Minibatch:
        """The chosen rows, with the weights they have in the whole."""
        rows = list(chosen)
        width = max(1, int(self.mask[rows].sum(-1).max().item()))
        cut = {
            name: getattr(self, name)[rows, :width]
            for name in (
                "mask",
                "drawn_logprobs",
                "old_logprobs",
                "advantages",
                "returns",
                "old_values",
                "reference",
            )
        }
        weights = self.policy_weights[rows]
        return Minibatch(
            samples=[self.samples[i] for i in rows],
            policy_weights=weights if weights.dim() == 1 else weights[:, :width],
            value_weights=self.value_weights[rows, :width],
            token_shares=self.token_shares[rows, :width],
            **cut,
        )

    def teaching(self) -> Minibatch:
        """Without the turns whose advantage is 0: where nothing but advantages gives a gradient, theirs is 0
        and the sum over the rest is the same. One row stays in any case, with a picture where there is one: a
        weight that no gradient comes to is not stepped, one with a gradient of 0 is. Shares of tokens, which
        then are told and not learned from, add up to 1 again.
        """
        weighted = self.policy_weights if self.policy_weights.dim() == 2 else self.policy_weights[:, None]
        found = ((self.advantages != 0) & (weighted > 0)).any(-1).nonzero().flatten().tolist()
        if not any(self.samples[i].images for i in found):
            found = sorted({*found, next((i for i, s in enumerate(self.samples) if s.images), 0)})
        rest = self.part(found)
        return replace(rest, token_shares=rest.token_shares / rest.token_shares.sum().clamp(min=1e-9))

    def unweighted(self) -> Minibatch:
        """The same turns, counting nothing."""
        weights = ("policy_weights", "value_weights", "token_shares")
        return replace(self, counted=False, **{n: torch.zeros_like(getattr(self, n)) for n in weights})


def minibatch(
    samples: Sequence[TrainingSample],
    chosen: Sequence[int],
    config: PpoConfig,
    reference: Tensor | None,
    whole: Tensor,
) -> Minibatch:
    """The chosen turns as tensors.

    Args:
        samples: of the iteration, with advantages, returns and old values filled in.
        chosen: which of them.
        reference: log-probabilities [samples, T] of the policy held on to; None: zeros.
        whole: of `of_whole_trajectories`.
    """
    picked = [samples[i] for i in chosen]
    mask = reply_mask(picked)
    width = mask.shape[1]
    by_turn = _by_turn(config)
    entries = entries_of(mask, config) & torch.tensor([s.in_value_loss for s in picked]).unsqueeze(-1)
    drawn = padded([s.behaviour_logprobs for s in picked], width)
    old = padded([s.old_logprobs or s.behaviour_logprobs for s in picked], width)
    learned = mask & torch.tensor([s.in_policy_loss for s in picked]).unsqueeze(-1)
    beside = torch.tensor([s.beside for s in picked]).unsqueeze(-1)
    own_turns, others = learned & ~beside, learned & beside
    weighed = partial(turn_weights if by_turn else token_weights, whole=whole[list(chosen)])
    weights = weighed(own_turns, how=config.aggregation) + weighed(others, how=config.aggregation)
    if any(s.policy_weights for s in picked):
        own = padded([s.policy_weights or (1.0,) * len(s.reply_ids) for s in picked], width)
        weights = weights * (own.sum(-1) / mask.sum(-1).clamp(min=1) if by_turn else own)
    if config.importance_cap is not None:
        ratio = TURN_RATIOS[config.ratio] if by_turn else "token"
        weights = weights * truncated_importance(old, drawn, learned, cap=config.importance_cap, ratio=ratio)
    return Minibatch(
        samples=picked,
        mask=mask,
        drawn_logprobs=drawn,
        old_logprobs=old,
        advantages=padded([s.advantage for s in picked], width),
        returns=padded([s.returns for s in picked], width),
        old_values=padded([s.old_values for s in picked], width),
        reference=torch.zeros(mask.shape) if reference is None else reference[list(chosen), :width],
        policy_weights=weights,
        value_weights=entries / entries.sum().clamp(min=1),
        token_shares=own_turns / own_turns.sum().clamp(min=1),
    )


def of_whole_trajectories(samples: Sequence[TrainingSample], config: PpoConfig) -> Tensor:
    """[N] tokens, or turns where the ratio is one of turns, in the policy loss of all of each one's
    trajectory; one that is there twice, a success that was replayed, counts twice."""
    by_turn = _by_turn(config)
    turns = {(s.trajectory_id, s.turn_index): s.reply_ids for s in samples if s.in_policy_loss}
    found = Counter[str]()
    for (name, _), reply in turns.items():
        found[name] += len(reply[:1] if by_turn else reply)
    return torch.tensor([found[s.trajectory_id] for s in samples])


def _by_turn(config: PpoConfig) -> bool:
    return config.algorithm == "ppo" and config.ratio != "token"
