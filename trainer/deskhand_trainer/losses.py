"""Policy and value losses, as pure functions.

Rows are turns, columns the tokens of their replies. Every loss comes back unreduced beside weights from
`token_weights` or `turn_weights`: the loss of a minibatch is Σ weight·term, so a minibatch split in any
way into micro-batches gives exactly the gradient of the whole. `mask` is True on tokens the model wrote;
whatever stands elsewhere, NaN and Inf included, gets no gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from deskhand_trainer.choices import Aggregation

TurnRatio: TypeAlias = Literal["product", "geometric"]
PolicyRatio: TypeAlias = Literal["token", "product", "geometric"]
LARGEST = 40.0
"""Logarithm of the largest ratio: in float32 its square is finite, too, as norms of gradients need it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyTerms:
    """A policy loss before it is summed up."""

    loss: Tensor
    """[B, T] per token, or [B] per turn; to be weighted and summed."""
    ratio: Tensor
    """New over old probability, detached, same shape; 1 where there is no token."""
    clipped: Tensor
    """Where the clip took the gradient away, bool, same shape."""
    clipped_mass: Tensor
    """w·A where the clip took the gradient away, 0 elsewhere, same shape: its gradient is the clipping bias
    of S-PPO."""


def token_weights(mask: Tensor, whole: Tensor, how: Aggregation) -> Tensor:
    """Weights that make Σ weight·term the mean over tokens, turns or trajectories.

    Args:
        mask: [B, T] bool.
        whole: [B] tokens that count in all of each turn's trajectory, of which a minibatch may hold a part:
            a trajectory then counts over an epoch what any other does, however long it is.
        how: "token" counts every token the same; "turn" takes the mean inside each turn, then over turns;
            "trajectory" the mean over each trajectory's tokens, then over trajectories.

    Returns:
        [B, T] float, summing to 1; 0 where the mask is False.
    """
    kept = mask.to(torch.get_default_dtype())
    per_turn = kept.sum(-1)
    if how == "token":
        divisor = per_turn.sum().expand(per_turn.shape)
    elif how == "turn":
        divisor = per_turn * (per_turn > 0).sum()
    else:
        divisor = whole * (per_turn / whole.clamp(min=1)).sum()
    return kept / divisor.clamp(min=1).unsqueeze(-1)


def turn_weights(mask: Tensor, whole: Tensor, how: Aggregation) -> Tensor:
    """Weights that make Σ weight·term, with one term per turn, a mean.

    Args:
        mask: [B, T] bool.
        whole: [B] as in `token_weights`, but turns that count.
        how: "token" counts a turn by its length; "turn" every turn the same; "trajectory" takes the mean
            over each trajectory's turns, then over trajectories.

    Returns:
        [B] float, summing to 1; 0 for turns without a token.
    """
    lengths = mask.sum(-1).to(torch.get_default_dtype())
    present = (lengths > 0).to(lengths.dtype)
    if how == "token":
        return lengths / lengths.sum().clamp(min=1)
    if how == "turn":
        return present / present.sum().clamp(min=1)
    return present / (whole * (present / whole.clamp(min=1)).sum()).clamp(min=1)


def token_ppo(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> PolicyTerms:
    """Clipped surrogate per token, clip-higher: −min(wA, clip(w, 1−ε_l, 1+ε_h)A).

    PPO (arXiv:1707.06347 eq. 7) with the asymmetric clip of DAPO (arXiv:2503.14476 eq. 10).

    Args:
        logprobs: [B, T] under the policy being trained.
        old_logprobs: [B, T] when the tokens were drawn.
        advantages: [B, T].
        mask: [B, T] bool.
        clip_low, clip_high: ε_l and ε_h.
        dual_clip: c of dual-clip PPO (arXiv:1912.09729 eq. 5), for A < 0: min(loss, −cA); None: without.

    Returns:
        Terms [B, T].
    """
    clip = _Clip(low=clip_low, high=clip_high, dual=dual_clip)
    delta = _delta(logprobs, old_logprobs, mask)
    return _surrogate(_ratio(delta), torch.where(mask, advantages, 0.0), mask, clip)


def turn_ppo(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    ratio: TurnRatio,
    clip_low: float,
    clip_high: float,
    dual_clip: float | None = None,
) -> PolicyTerms:
    """Clipped surrogate with one ratio per turn (Turn-PPO, arXiv:2512.17008); "geometric" on one is GSPO.

    "product": w_h = exp(Σ Δlogπ). "geometric": w_h = exp(mean Δlogπ) (arXiv:2507.18071 eq. 7), with token
    gradients through sg[w_h]·π/sg[π] (its eq. 14), which is the same gradient when the turn shares one A.

    Args:
        logprobs, old_logprobs, mask: [B, T].
        advantages: [B], one per turn.
        ratio: which of the two.
        clip_low, clip_high: ε of the turn ratio; each kind wants its own, and the caller sets it (a config
            has one pair for all).
        dual_clip: as in `token_ppo`.

    Returns:
        Terms [B].
    """
    clip = _Clip(low=clip_low, high=clip_high, dual=dual_clip)
    delta = _delta(logprobs, old_logprobs, mask)
    present = mask.any(-1)
    if ratio == "product":
        return _surrogate(_ratio(delta.sum(-1)), torch.where(present, advantages, 0.0), present, clip)
    lengths = mask.sum(-1).clamp(min=1)
    weight = _ratio(delta.sum(-1) / lengths).detach()
    own = torch.where(mask, logprobs, 0.0)
    through = weight.unsqueeze(-1) * (own - own.detach()).exp()
    spread = torch.where(mask, torch.where(present, advantages, 0.0).unsqueeze(-1), 0.0)
    per_token = _surrogate(through, spread, mask, clip)
    return PolicyTerms(
        loss=per_token.loss.sum(-1) / lengths,
        ratio=torch.where(present, weight, 1.0),
        clipped=per_token.clipped.any(-1),
        clipped_mass=per_token.clipped_mass.sum(-1) / lengths,
    )


def truncated_importance(
    old_logprobs: Tensor, rollout_logprobs: Tensor, mask: Tensor, *, cap: float, ratio: PolicyRatio
) -> Tensor:
    """min(π_old/π_rollout, C): what the engine's and the trainer's probabilities differ by (TIS).

    Yao et al., "Your efficient RL framework secretly brings you off-policy RL training" (2025), eq. 5.

    Args:
        old_logprobs: [B, T] by the trainer before the update, without gradient.
        rollout_logprobs: [B, T] by the engine when the tokens were drawn.
        mask: [B, T] bool.
        cap: C.
        ratio: what the policy loss it weighs has a term for: "token", or a turn ratio of `turn_ppo`.

    Returns:
        [B, T], or [B] for turns; exactly 1 where the two agree.
    """
    delta = _delta(old_logprobs, rollout_logprobs, mask)
    if ratio == "token":
        return delta.exp().clamp(max=cap)
    summed = delta.sum(-1)
    lengths = mask.sum(-1).clamp(min=1)
    return (summed if ratio == "product" else summed / lengths).exp().clamp(max=cap)


def reinforce(logprobs: Tensor, advantages: Tensor, mask: Tensor) -> Tensor:
    """−A·logπ per token: Williams 1992, with whatever baseline is already in A.

    Args:
        logprobs, advantages: [B, T].
        mask: [B, T] bool.

    Returns:
        [B, T]; 0 where the mask is False.
    """
    return -torch.where(mask, advantages, 0.0) * torch.where(mask, logprobs, 0.0)


def clipped_value_loss(
    values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, *, clip: float | None
) -> Tensor:
    """½·max((v−R)², (clip(v, v_old±ε)−R)²): a step that leaves the range pays for both.

    PPO's "value function clipping" (arXiv:2005.12729, which prints min); max is that of OpenAI's Baselines.

    Args:
        values, old_values, returns: [...], over tokens or turns.
        mask: [...] bool.
        clip: ε; None for the plain ½(v−R)².

    Returns:
        [...]; 0 where the mask is False.
    """
    v = torch.where(mask, values, 0.0)
    target = torch.where(mask, returns, 0.0)
    plain = (v - target).square()
    if clip is None:
        return 0.5 * plain
    old = torch.where(mask, old_values, 0.0)
    near = old + (v - old).clamp(-clip, clip)
    return 0.5 * torch.maximum(plain, (near - target).square())


def kl_k3(logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor) -> Tensor:
    """Unbiased, non-negative estimate of KL(π‖π_ref) per drawn token: r − 1 − log r with r = π_ref/π.

    Schulman's k3 (joschu.net/blog/kl-approx).

    Args:
        logprobs, reference_logprobs: [...] of the tokens drawn.
        mask: [...] bool.

    Returns:
        [...]; 0 where the mask is False.
    """
    log_ratio = torch.where(mask, reference_logprobs, 0.0) - torch.where(mask, logprobs, 0.0)
    return _ratio(log_ratio) - 1.0 - log_ratio


def entropy_of(logits: Tensor, mask: Tensor) -> Tensor:
    """Entropy in nats of each token's distribution.

    Args:
        logits: [..., V]; −inf for suppressed ids.
        mask: [...] bool.

    Returns:
        [...]; 0 where the mask is False.
    """
    kept = torch.where(mask.unsqueeze(-1), logits, 0.0)
    logp = torch.log_softmax(kept, dim=-1)
    # a suppressed id has p = 0 and log p = −inf; its product counts as 0, in the gradient too
    finite = torch.where(torch.isneginf(logp), 0.0, logp)
    return torch.where(mask, -(logp.exp() * finite).sum(-1), 0.0)


def _delta(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    # masked before the exponential, which would carry a NaN into the gradient
    return torch.where(mask, logprobs - old_logprobs, 0.0)


def _ratio(log: Tensor) -> Tensor:
    # an infinite one would make NaN of an advantage, or of a gradient, of 0; the slope stays beyond the bound
    return (log - (log.detach() - LARGEST).clamp(min=0)).exp()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Clip:
    low: float
    high: float
    dual: float | None


def _surrogate(w: Tensor, advantages: Tensor, mask: Tensor, clip: _Clip) -> PolicyTerms:
    free = w * advantages
    kept = torch.minimum(free, w.clamp(1.0 - clip.low, 1.0 + clip.high) * advantages)
    ratio, bad = w.detach(), advantages < 0
    clipped = ((ratio > 1.0 + clip.high) & (advantages > 0)) | ((ratio < 1.0 - clip.low) & bad)
    if clip.dual is not None:
        kept = torch.where(bad, torch.maximum(kept, clip.dual * advantages), kept)
        clipped = clipped | ((ratio > clip.dual) & bad)
    clipped = clipped & mask
    return PolicyTerms(loss=-kept, ratio=ratio, clipped=clipped, clipped_mass=torch.where(clipped, free, 0.0))
