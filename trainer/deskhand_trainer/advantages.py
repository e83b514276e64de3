"""How much better than expected: generalised advantage estimation over tokens, over turns, and over both.

Pure functions on tensors; the last dimension is time. `mask` is True where the model wrote (a token) or
where a turn exists, False on what it was shown and on padding: whatever stands there, NaN included, is
never looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from deskhand_trainer.written import Rows, Written, discounted_sums


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimates:
    """What an estimator gives for every time step."""

    advantages: Tensor
    """[..., T]; 0 where the mask is False. Not whitened."""
    returns: Tensor
    """[..., T]; the value target, 0 where the mask is False."""


def length_adaptive_lambda(lengths: Tensor, *, alpha: float) -> Tensor:
    """λ = 1 − 1/(α·l), VAPO (arXiv:2504.05118) eq. 8, clamped at 0 where l < 1/α.

    Args:
        lengths: [...] tokens (α = .05) or turns (α = 1) the model wrote in the trajectory; at least 1.
        alpha: how fast λ nears 1.

    Returns:
        [...] λ of each trajectory, in [0, 1).
    """
    return (1.0 - 1.0 / (alpha * lengths.to(torch.get_default_dtype()))).clamp(min=0.0)


def token_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    gamma: float,
    lam: float | Tensor,
    bootstrap: Tensor | None = None,
) -> Estimates:
    """GAE(γ, λ) over the tokens the model wrote (arXiv:1506.02438 eq. 16), shown tokens stepped over.

    δ = r + γV⁺ − V with V⁺ at the next written token, A = δ + γλA⁺, return = A + V: inserting shown tokens
    anywhere changes nothing.

    Args:
        rewards: [..., T]; one on a shown token moves to the nearest written token before it, and one before
            the first written token was earned by no action and is dropped.
        values: [..., T], V before each token was written.
        mask: [..., T] bool, True where the model wrote.
        gamma: discount in [0, 1].
        lam: λ in [0, 1]; one number, or [...] with one per trajectory.
        bootstrap: [...] V of the state after the last token of truncated trajectories, 0 for terminated
            ones; None when all terminated.

    Returns:
        Advantages and returns, [..., T].
    """
    written = Written(mask)
    value = written.of(values)
    deltas = _deltas(written.rows, written.moved(rewards), value, gamma, bootstrap)
    advantages = written.rows.flat(discounted_sums(deltas, _factor(gamma, lam)))
    return Estimates(advantages=written.spread(advantages), returns=written.spread(advantages + value))


def turn_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    gamma: float,
    lam: float | Tensor,
    bootstrap: Tensor | None = None,
) -> Estimates:
    """GAE with a whole turn as one action: δ_h = r_h + γV(s_{h+1}) − V(s_h) (Turn-PPO, arXiv:2512.17008).

    All tokens of turn h share A_h; `spread_over_tokens` writes it onto them.

    Args:
        rewards: [..., H] reward of each turn.
        values: [..., H] V(s_h), read at the last prompt token of the turn.
        mask: [..., H] bool, True where the trajectory has such a turn.
        gamma, lam, bootstrap: as in `token_gae`.

    Returns:
        Advantages and returns, [..., H].
    """
    return token_gae(rewards, values, mask, gamma=gamma, lam=lam, bootstrap=bootstrap)


def decoupled_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    *,
    gamma: float,
    lam_policy: float | Tensor,
    lam_critic: float | Tensor,
    bootstrap: Tensor | None = None,
    gae: Callable[..., Estimates] = token_gae,
) -> Estimates:
    """Advantages with one λ, value targets with another, from the same δ (VC-PPO, arXiv:2503.01491, there
    "decoupled GAE").

    With λ_critic = 1 the target is the discounted return, unbiased whatever the critic says.

    Args:
        rewards, values, mask, gamma, bootstrap: as in `token_gae`, over tokens or turns.
        lam_policy: λ of the advantages.
        lam_critic: λ of the value targets.
        gae: `token_gae`, or `bilevel_gae` with its turns bound.

    Returns:
        Advantages by λ_policy and returns by λ_critic, [..., T].
    """
    policy = gae(rewards, values, mask, gamma=gamma, lam=lam_policy, bootstrap=bootstrap)
    critic = gae(rewards, values, mask, gamma=gamma, lam=lam_critic, bootstrap=bootstrap)
    return Estimates(advantages=policy.advantages, returns=critic.returns)


def bilevel_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    turns: Tensor,
    *,
    gamma: float,
    lam: float | Tensor,
    bootstrap: Tensor | None = None,
) -> Estimates:
    """GAE over turns, then inside each turn (VAGEN, arXiv:2510.16907, there "Bi-Level GAE").

    Turn GAE reads V for each turn's last token; what it returns there takes the place of that token's reward,
    and token GAE runs inside the turn, where nothing follows the last token. A turn ends where its index
    does, so turns that earn nothing count like any other.

    Args:
        rewards: [..., T]; those of a turn are summed at its last token, one on a shown token belongs to the
            written token before it.
        values: [..., T], V before each token was written.
        mask: [..., T] bool, True where the model wrote.
        turns: [..., T] integer, which turn a written token belongs to; never falls along time.
        gamma, lam, bootstrap: as in `token_gae`, of both levels.

    Returns:
        Advantages and returns, [..., T].
    """
    written = Written(mask)
    value = written.of(values)
    rows = len(written.rows.counts)
    whose = written.rows.each(torch.arange(rows))
    named = torch.stack([whose, written.of(turns)])
    _, turn, lengths = torch.unique_consecutive(named, dim=1, return_inverse=True, return_counts=True)
    last = lengths.cumsum(0) - 1
    earned = value.new_zeros(len(lengths)).index_add(0, turn, written.moved(rewards))
    turns_of = Rows(torch.bincount(whose[last], minlength=rows))
    over_turns = _deltas(turns_of, earned, value[last], gamma, bootstrap)
    factor = _factor(gamma, lam)
    ends = turns_of.flat(discounted_sums(over_turns, factor))
    inside = gamma * torch.cat([value[1:], value[:1]]) - value
    inside[last] = ends
    each = Rows(lengths)
    own = factor.expand(rows)[whose[last]] if isinstance(factor, Tensor) else factor
    within = discounted_sums(each.table(inside), own)
    advantages = each.flat(within)
    return Estimates(advantages=written.spread(advantages), returns=written.spread(advantages + value))


def monte_carlo_returns(
    rewards: Tensor, mask: Tensor, *, gamma: float, bootstrap: Tensor | None = None
) -> Tensor:
    """Discounted sum of the rewards from each step on: G_t = r_t + γG_{t+1}.

    Args:
        rewards: [..., T]; one on a shown token moves to the nearest written token before it.
        mask: [..., T] bool.
        gamma: discount in [0, 1].
        bootstrap: [...] V after the end of truncated trajectories; None when all terminated.

    Returns:
        [..., T]; 0 where the mask is False.
    """
    written = Written(mask)
    deltas = _deltas(written.rows, written.moved(rewards), None, gamma, bootstrap)
    return written.spread(written.rows.flat(discounted_sums(deltas, gamma)))


def spread_over_tokens(per_turn: Tensor, mask: Tensor) -> Tensor:
    """Write each turn's number onto the tokens of its reply.

    Args:
        per_turn: [B], one per turn.
        mask: [B, T] bool, True on reply tokens.

    Returns:
        [B, T]; 0 where the mask is False.
    """
    return torch.where(mask, per_turn.unsqueeze(-1), 0.0)


def _deltas(
    rows: Rows, rewards: Tensor, values: Tensor | None, gamma: float, bootstrap: Tensor | None
) -> Tensor:
    """[R, longest row] r + γV⁺ − V of each entry; without values r, and V⁺ after the last one alone."""
    after = rewards.new_zeros(len(rows.counts)) if bootstrap is None else bootstrap.reshape(-1).to(rewards)
    ends = (rows.counts.cumsum(0) - 1)[rows.counts > 0]
    following = torch.zeros_like(rewards) if values is None else torch.cat([values[1:], values[:1]])
    following[ends] = after[rows.counts > 0]
    return rows.table(rewards + gamma * following - (0.0 if values is None else values))


def _factor(gamma: float, lam: float | Tensor) -> float | Tensor:
    """γλ, one number or [R] one per row."""
    return gamma * lam.reshape(-1) if isinstance(lam, Tensor) else float(gamma * lam)
