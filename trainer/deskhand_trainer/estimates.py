"""The estimator a config names, applied to an iteration's episodes: advantages and targets per token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import padded, reply_mask
from deskhand_trainer.advantages import (
    Estimates,
    bilevel_gae,
    decoupled_gae,
    length_adaptive_lambda,
    monte_carlo_returns,
    spread_over_tokens,
    token_gae,
)
from deskhand_trainer.baselines import (
    group_relative,
    leave_one_out,
    return_batch_normalised,
    step_and_episode,
)
from deskhand_trainer.choices import BY_TOKEN, AdvantageKind
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.types import Episode

ADAPTIVE_ALPHA = {"turn": 1.0, "token": 0.05, "bilevel": 0.05}
"""α of the length-adaptive λ, by what its lengths count."""


def estimated(
    episodes: Sequence[Episode],
    values: Tensor,
    bootstraps: Tensor,
    counted: Sequence[bool],
    config: PpoConfig,
) -> Estimates:
    """What a config's estimator gives for every reply token.

    Args:
        episodes: with their rewards.
        values: [N, T] V before each reply token of their turns, in order; not looked at without a critic.
        bootstraps: [len(episodes)] V after truncated episodes, 0 for others.
        counted: which episodes are in the statistics of groups and batch.

    Returns:
        [N, T] each; not normalised, except by GRPO and ReBN themselves. Returns are 0 without a critic.
    """
    if config.by_critic:
        per_episode = torch.split(values, [len(e.samples) for e in episodes])
        if config.advantage in BY_TOKEN:
            return _token_estimates(episodes, per_episode, bootstraps, config)
        return _turn_estimates(episodes, [v[:, 0] for v in per_episode], bootstraps, config)
    tokens = reply_mask([s for e in episodes for s in e.samples])
    rewards, mask = _turn_table(episodes)
    kept = torch.tensor(counted)
    if config.advantage == "return":
        usual = torch.tensor([e.baseline for e in episodes]).unsqueeze(-1)
        table = torch.where(mask, monte_carlo_returns(rewards, mask, gamma=config.gamma) - usual, 0.0)
    elif config.advantage == "rebn":
        table = return_batch_normalised(rewards, mask & kept.unsqueeze(-1), gamma=config.gamma)
    elif config.advantage == "archer":
        table = padded([e.turn_advantages for e in episodes], mask.shape[1])
    elif config.advantage == "step_episode":
        table = step_and_episode(
            rewards, mask, groups_of(episodes), kept, gamma=config.gamma, weight=config.episode_weight
        )
    else:
        compare = group_relative if config.advantage == "grpo" else leave_one_out
        returns = (rewards * config.gamma ** torch.arange(mask.shape[1])).sum(-1)
        table = compare(returns, groups_of(episodes), kept).unsqueeze(-1).expand(mask.shape)
    return Estimates(advantages=spread_over_tokens(table[mask], tokens), returns=torch.zeros(tokens.shape))


def by_attempt(episodes: Sequence[Episode], config: PpoConfig) -> tuple[Episode, ...]:
    """Rewarded episodes as their turns are compared; where progress is paid each attempt by itself, among
    those of its number: an attempt that failed did not earn what the next one gained."""
    if config.progress_bonus == 0:
        return tuple(episodes)
    return tuple(attempt for episode in episodes for attempt in _attempts(episode))


def groups_of(episodes: Sequence[Episode]) -> Tensor:
    """[len(episodes)] the group of each: those of one start state, or of one task where each begins anew."""
    own = [e.group_id or e.task_id for e in episodes]
    names = {name: number for number, name in enumerate(sorted(set(own)))}
    return torch.tensor([names[name] for name in own])


def critic_returns(episodes: Sequence[Episode], advantage: AdvantageKind, *, gamma: float) -> Tensor:
    """[N] Monte-Carlo return wherever the critic of such an advantage is read, in order: of every turn, or of
    every reply token. It is what the estimator's own target with λ = 1 comes to, truncation taken as an end.

    With "bilevel" γ discounts by turns, and by tokens from a turn's last one back to its first (VAGEN,
    arXiv:2510.16907).
    """
    if advantage == "bilevel":
        rewards, mask, turns = _token_table(episodes)
        nothing = torch.zeros(rewards.shape)
        return bilevel_gae(rewards, nothing, mask, turns, gamma=gamma, lam=1.0).returns[mask]
    return (token_returns if advantage == "token" else turn_returns)(episodes, gamma=gamma)


def turn_returns(episodes: Sequence[Episode], *, gamma: float) -> Tensor:
    """[N] Monte-Carlo return of every turn of rewarded episodes, in order; truncation counts as an end."""
    rewards, mask = _turn_table(episodes)
    return monte_carlo_returns(rewards, mask, gamma=gamma)[mask]


def token_returns(episodes: Sequence[Episode], *, gamma: float) -> Tensor:
    """[N] as `turn_returns`, of every reply token; γ is per token."""
    rewards, mask, _ = _token_table(episodes)
    return monte_carlo_returns(rewards, mask, gamma=gamma)[mask]


def _attempts(episode: Episode) -> list[Episode]:
    group, begin = episode.group_id or episode.task_id, 0
    found: list[Episode] = []
    for number, turns in groupby(episode.samples, key=lambda sample: sample.attempt):
        own = tuple(turns)
        end = begin + len(own)
        found.append(
            replace(
                episode,
                samples=own,
                group_id=f"{group} attempt {number}",
                after=episode.after if end == len(episode.samples) else None,
                turn_advantages=episode.turn_advantages[begin:end],
            )
        )
        begin = end
    return found


def _turn_table(episodes: Sequence[Episode]) -> tuple[Tensor, Tensor]:
    longest = max(len(e.samples) for e in episodes)
    rewards = padded([[s.reward for s in e.samples] for e in episodes], longest)
    mask = torch.arange(longest) < torch.tensor([len(e.samples) for e in episodes]).unsqueeze(-1)
    return rewards, mask


def _turn_estimates(
    episodes: Sequence[Episode], values: Sequence[Tensor], bootstraps: Tensor, config: PpoConfig
) -> Estimates:
    rewards, mask = _turn_table(episodes)
    table = padded([v.tolist() for v in values], mask.shape[1])
    got = decoupled_gae(
        rewards,
        table,
        mask,
        gamma=config.gamma,
        lam_policy=_lambda(config, mask.sum(-1)),
        lam_critic=config.lambda_critic,
        bootstrap=bootstraps,
    )
    tokens = reply_mask([s for e in episodes for s in e.samples])
    return Estimates(
        advantages=spread_over_tokens(got.advantages[mask], tokens),
        returns=spread_over_tokens(got.returns[mask], tokens),
    )


def _token_estimates(
    episodes: Sequence[Episode], values: Sequence[Tensor], bootstraps: Tensor, config: PpoConfig
) -> Estimates:
    rewards, mask, turns = _token_table(episodes)
    rows = [reply_mask(e.samples) for e in episodes]
    flat = [v[:, : m.shape[1]][m].tolist() for v, m in zip(values, rows, strict=True)]
    gae = partial(bilevel_gae, turns=turns) if config.advantage == "bilevel" else token_gae
    got = decoupled_gae(
        rewards,
        padded(flat, mask.shape[1]),
        mask,
        gamma=config.gamma,
        lam_policy=_lambda(config, mask.sum(-1)),
        lam_critic=config.lambda_critic,
        bootstrap=bootstraps,
        gae=gae,
    )
    tokens = reply_mask([s for e in episodes for s in e.samples])
    advantages, returns = torch.zeros(tokens.shape), torch.zeros(tokens.shape)
    advantages[tokens], returns[tokens] = got.advantages[mask], got.returns[mask]
    return Estimates(advantages=advantages, returns=returns)


def _token_table(episodes: Sequence[Episode]) -> tuple[Tensor, Tensor, Tensor]:
    """Rewards, mask and numbers of turns of every episode's reply tokens in a row, [episodes, T] each; a
    turn's reward is earned by its last token."""
    lengths = torch.tensor([sum(len(s.reply_ids) for s in e.samples) for e in episodes])
    longest = int(lengths.max().item())
    rewards = torch.zeros(len(episodes), longest)
    turns = torch.zeros(len(episodes), longest, dtype=torch.long)
    for row, episode in enumerate(episodes):
        at = 0
        for number, sample in enumerate(episode.samples):
            turns[row, at : at + len(sample.reply_ids)] = number
            at += len(sample.reply_ids)
            rewards[row, at - 1] = sample.reward
    return rewards, torch.arange(longest) < lengths.unsqueeze(-1), turns


def _lambda(config: PpoConfig, lengths: Tensor) -> float | Tensor:
    if config.lambda_policy == "adaptive":
        return length_adaptive_lambda(lengths, alpha=ADAPTIVE_ALPHA[config.advantage])
    return config.lambda_policy
