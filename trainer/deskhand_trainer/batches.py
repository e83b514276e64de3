"""From finished episodes to samples ready for the learner: rewards, old values, advantages, targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from deskhand_agent.precision import device_named, resolved
from deskhand_trainer.actor_critic import ActorCritic, TurnScores, by_beginning, padded, reply_mask
from deskhand_trainer.archer import TurnCritic
from deskhand_trainer.branches import repeated_turns, shared_advantages
from deskhand_trainer.choices import BY_TOKEN
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.estimates import by_attempt, estimated, groups_of, token_returns, turn_returns
from deskhand_trainer.filters import high_entropy_turns, in_policy_loss, low_covariance
from deskhand_trainer.normalisation import alike, normalise
from deskhand_trainer.rewards import RewardRule, turn_rewards
from deskhand_trainer.side_by_side import side_by_side
from deskhand_trainer.types import Episode, TrainingSample

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True, slots=True)
class Batch:
    """One iteration's samples with everything the update needs."""

    samples: tuple[TrainingSample, ...]
    """Turns of whole trajectories, in order."""
    explained_variance: float
    """Of the value targets by the values before the update; NaN when the targets do not vary."""
    reward_parts: tuple[tuple[str, float], ...]
    """Mean per episode of every part of the reward."""
    entropy: float | None = None
    """Mean token entropy before the update, in nats, where the config asks for it."""
    replayed: int = 0
    """Episodes of earlier iterations among them."""
    skipped_steps: int = 0
    """Of the critic of turns, left out because their gradient was not finite."""
    effective_share: float | None = None
    """(Σw)² / (N·Σw²) of the tokens' importance weights, up to `importance_cap`, where the trainer scored
    them before the update: 1 when all are alike. Elsewhere the update tells that of its first step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FirstScores:
    """Replies under policy and critic before the update, [N, T] each; 0 beyond a reply's end."""

    logprobs: Tensor
    entropies: Tensor
    """Nats."""
    values: Tensor
    """V before each reply token."""


def reward_rule(config: PpoConfig) -> RewardRule:
    """The reward rule a config asks for."""
    return RewardRule(
        process_weight=config.process_weight,
        process_cap=config.process_cap,
        process_form=config.process_form,
        gamma=config.gamma,
        gate=config.gate,
        environment_weight=config.environment_weight,
        information_weight=config.information_weight,
        progress_bonus=config.progress_bonus,
        shaping=config.shaping,
    )


def with_rewards(
    episodes: Sequence[Episode], rule: RewardRule, *, shuffle: torch.Generator | None = None
) -> tuple[Episode, ...]:
    """Put rewards on the turns.

    Args:
        episodes: finished trajectories.
        rule: how the parts are weighed; process scores are centred on the batch's mean.
        shuffle: deals outcomes out at random among the episodes, and scores among the attempts that failed
            (the sabotage control); None leaves them.
    """
    outcomes = [e.outcome for e in episodes]
    if shuffle is not None:
        outcomes = [outcomes[i] for i in torch.randperm(len(outcomes), generator=shuffle).tolist()]
    attempts = [e.failed_attempts for e in episodes]
    if shuffle is not None and rule.progress_bonus > 0:
        attempts = _dealt(attempts, shuffle)
    scores = [s for e in episodes for s in e.process_scores]
    centre = sum(scores) / len(scores) if scores else 0.5
    done: list[Episode] = []
    for episode, outcome, failed in zip(episodes, outcomes, attempts, strict=True):
        rewards = turn_rewards(
            rule,
            turns=len(episode.samples),
            outcome=outcome,
            process=episode.process_scores or None,
            centre=centre,
            potentials=episode.potentials or None,
            environment=episode.environment_rewards or None,
            information=episode.information_gains or None,
            conduct=episode.conduct or None,
            failed=failed,
        )
        samples = tuple(
            replace(sample, reward=reward.total, reward_parts=reward.parts)
            for sample, reward in zip(episode.samples, rewards, strict=True)
        )
        done.append(replace(episode, samples=samples))
    return tuple(done)


def _dealt(
    attempts: Sequence[tuple[tuple[int, float | None], ...]], shuffle: torch.Generator
) -> list[tuple[tuple[int, float | None], ...]]:
    scores = [score for own in attempts for _, score in own]
    dealt = iter([scores[i] for i in torch.randperm(len(scores), generator=shuffle).tolist()])
    return [tuple((turn, next(dealt)) for turn, _ in own) for own in attempts]


def prepare(
    episodes: Sequence[Episode],
    model: ActorCritic,
    config: PpoConfig,
    *,
    shuffle: torch.Generator | None = None,
    turn_critic: TurnCritic | None = None,
    update: int | None = None,
) -> Batch:
    """Everything between the rollouts and the first gradient of an iteration.

    Args:
        episodes: finished trajectories, each with at least one turn.
        model: whose critic gives the old values.
        config: estimator, λ, γ, normalisation.
        shuffle: for the sabotage control.
        turn_critic: learns from them and gives the advantages of "archer".
        update: that the model's weights have seen: of turns drawn by these very weights ratios are taken to
            the model's own log-probabilities, so that an engine that rounds otherwise clips nothing; None:
            of no turn.

    Raises:
        TrainingDiverged: the turn critic's gradient was not finite, many times in a row.
    """
    rewarded = with_rewards(episodes, reward_rule(config), shuffle=shuffle)
    parts = _mean_parts(rewarded)
    skipped = 0
    if turn_critic is not None:
        before = turn_critic.skipped.count
        rewarded = turn_critic.judged(rewarded, model)
        skipped = turn_critic.skipped.count - before
    rewarded = by_attempt(rewarded, config)
    samples = [s for e in rewarded for s in e.samples]
    mask = reply_mask(samples)
    first = first_scores(samples, model, config) if needs_first_scores(config) else None
    values = torch.zeros(mask.shape) if first is None or not config.by_critic else first.values
    chosen = in_policy_loss(rewarded, config)
    estimates = estimated(rewarded, values, _bootstraps(rewarded, model, config), chosen, config)
    # whitened once for the whole iteration: a minibatch of another size must not change what a turn is worth
    counted = torch.tensor([keep for e, keep in zip(rewarded, chosen, strict=True) for _ in e.samples])
    # what branches share with the episode they left is learned once and for all of them
    repeated = repeated_turns(rewarded, chosen)
    counted = counted & ~repeated
    entries = (mask if config.advantage in BY_TOKEN else mask[:, :1]) & counted.unsqueeze(-1)
    seen = shared_advantages(estimates.advantages, rewarded, chosen)[:, : entries.shape[1]]
    of_episodes: dict[str, Tensor] = {
        "groups": _of_each_turn(rewarded, groups_of(rewarded)).expand(entries.shape),
        "weights": _episodes_alike(rewarded, entries),
    }
    scaled = normalise(seen, entries, config.normalisation, **of_episodes)
    if config.by_critic and alike(_returns(rewarded, mask, config)[entries]):
        # the difference is the critic's own error, which would be scaled up to a step of full size
        scaled = torch.zeros_like(scaled)
    advantages = torch.where(mask, scaled.expand(mask.shape), 0.0)
    learned = counted
    if first is not None and config.entropy_quantile > 0:
        learned = high_entropy_turns(first.entropies, mask, counted, quantile=config.entropy_quantile)
    judged = entries_of(mask, config)
    done = _completed(samples, learned.tolist(), values, advantages, estimates.returns)
    done = [replace(s, in_value_loss=not again) for s, again in zip(done, repeated.tolist(), strict=True)]
    if config.covariance_clip > 0:
        drawn = padded([s.behaviour_logprobs for s in samples], mask.shape[1])
        logprobs = drawn if first is None else first.logprobs
        stay = low_covariance(
            logprobs, advantages, mask & learned.unsqueeze(-1), share=config.covariance_clip
        )
        done = _weighted(done, stay)
    if first is not None:
        weighed = config.importance_cap is not None
        own = [weighed or (not s.replayed and s.policy_update == update) for s in done]
        done = with_old_logprobs(done, first.logprobs, own)
    return Batch(
        samples=tuple(done),
        explained_variance=explained_variance(values[judged], estimates.returns[judged]),
        reward_parts=parts,
        skipped_steps=skipped,
        entropy=float(first.entropies.sum() / mask.sum()) if first and config.entropy_smoothing else None,
        effective_share=None if first is None else _effective_share(done, first.logprobs, mask, config),
    )


def entries_of(mask: Tensor, config: PpoConfig) -> Tensor:
    """[B, T] bool: where the critic is trained, the first token of each turn or every reply token; nowhere
    where there is none."""
    if not config.by_critic:
        return torch.zeros_like(mask)
    if config.advantage in BY_TOKEN:
        return mask
    first = torch.zeros_like(mask)
    first[:, 0] = mask[:, 0]
    return first


def needs_first_scores(config: PpoConfig) -> bool:
    """Whether the trainer scores all replies once before the update: its critic does, and ratios begin at 1
    only so where it rounds to bfloat16."""
    asked = (config.by_critic, config.entropy_quantile, config.entropy_smoothing)
    rounds = resolved(config.precision, device_named(config.device).type) is torch.bfloat16
    return config.importance_cap is not None or any(asked) or (rounds and config.algorithm == "ppo")


def first_scores(samples: Sequence[TrainingSample], model: ActorCritic, config: PpoConfig) -> FirstScores:
    """What the trainer itself makes of the replies before the first gradient."""
    shape = reply_mask(samples).shape
    logprobs, entropies, values = (torch.zeros(shape) for _ in range(3))

    def scored(part: Sequence[TrainingSample]) -> TurnScores:
        return model.score(part, temperature=config.temperature)

    for rows, found in _in_microbatches(
        samples, scored, microbatch=config.microbatch, threads=config.threads
    ):
        width = found.logprobs.shape[1]
        logprobs[rows, :width], entropies[rows, :width] = found.logprobs, found.entropies
        values[rows, :width] = found.values
    return FirstScores(logprobs=logprobs, entropies=entropies, values=values)


def _in_microbatches(
    samples: Sequence[TrainingSample],
    work: Callable[[Sequence[TrainingSample]], Result],
    *,
    microbatch: int,
    threads: int,
) -> Iterator[tuple[list[int], Result]]:
    """What work without gradients gives for samples that begin alike, and which rows they are."""
    order = by_beginning(samples, range(len(samples)))
    parts = [order[begin : begin + microbatch] for begin in range(0, len(order), microbatch)]

    def done(rows: list[int]) -> Result:
        with torch.no_grad():
            return work([samples[i] for i in rows])

    return zip(parts, side_by_side(done, parts, threads=threads), strict=True)


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 − Var(R − V)/Var(R); NaN when the returns do not vary, or there are none."""
    if alike(returns):
        return math.nan
    returns = returns.double()
    return float(1.0 - (returns - values.double()).var(unbiased=False) / returns.var(unbiased=False))


def _returns(episodes: Sequence[Episode], mask: Tensor, config: PpoConfig) -> Tensor:
    """What was earned from each entry on, nothing expected of what a limit cut off: [N, T] by tokens, [N, 1]
    by turns."""
    if config.advantage not in BY_TOKEN:
        return turn_returns(episodes, gamma=config.gamma).unsqueeze(-1)
    returns = torch.zeros(mask.shape)
    returns[mask] = token_returns(episodes, gamma=config.gamma)
    return returns


def _bootstraps(episodes: Sequence[Episode], model: ActorCritic, config: PpoConfig) -> Tensor:
    out = torch.zeros(len(episodes))
    if not config.by_critic:
        return out
    cut = [i for i, e in enumerate(episodes) if e.after is not None]
    following = [e.after for e in episodes if e.after is not None]
    for rows, (values, _) in _in_microbatches(
        following, model.values, microbatch=config.microbatch, threads=config.threads
    ):
        out[[cut[row] for row in rows]] = values[:, 0]
    return out


def _of_each_turn(episodes: Sequence[Episode], each: Tensor) -> Tensor:
    """[turns, 1] with what its episode has."""
    return each.repeat_interleave(torch.tensor([len(e.samples) for e in episodes])).unsqueeze(-1)


def _episodes_alike(episodes: Sequence[Episode], entries: Tensor) -> Tensor:
    """[turns, T] weights by which every episode's entries come to 1 together."""
    per_episode = torch.stack([part.sum() for part in entries.split([len(e.samples) for e in episodes])])
    return (1 / _of_each_turn(episodes, per_episode.clamp(min=1))).expand(entries.shape)


def _completed(
    samples: Sequence[TrainingSample],
    counted: Sequence[bool],
    values: Tensor,
    advantages: Tensor,
    returns: Tensor,
) -> list[TrainingSample]:
    done: list[TrainingSample] = []
    for b, sample in enumerate(samples):
        n = len(sample.reply_ids)
        done.append(
            replace(
                sample,
                in_policy_loss=counted[b],
                old_value=float(values[b, 0]),
                old_values=tuple(values[b, :n].tolist()),
                advantage=tuple(advantages[b, :n].tolist()),
                returns=tuple(returns[b, :n].tolist()),
            )
        )
    return done


def _weighted(samples: Sequence[TrainingSample], stay: Tensor) -> list[TrainingSample]:
    return [
        replace(sample, policy_weights=tuple(row[: len(sample.reply_ids)].float().tolist()))
        for sample, row in zip(samples, stay, strict=True)
    ]


def with_old_logprobs(
    samples: Sequence[TrainingSample], logprobs: Tensor, own: Sequence[bool]
) -> list[TrainingSample]:
    """The trainer's log-probabilities in place of the engine's, where they are its own to judge by."""
    return [
        replace(sample, old_logprobs=tuple(row[: len(sample.reply_ids)].tolist())) if taken else sample
        for sample, row, taken in zip(samples, logprobs, own, strict=True)
    ]


def _effective_share(
    samples: Sequence[TrainingSample], logprobs: Tensor, mask: Tensor, config: PpoConfig
) -> float:
    drawn = padded([s.behaviour_logprobs for s in samples], mask.shape[1])
    cap = math.inf if config.importance_cap is None else config.importance_cap
    weights = (logprobs - drawn)[mask].double().exp().clamp(max=cap)
    return float(weights.sum() ** 2 / (len(weights) * (weights**2).sum()))


def _mean_parts(episodes: Sequence[Episode]) -> tuple[tuple[str, float], ...]:
    sums: dict[str, float] = {}
    for episode in episodes:
        for sample in episode.samples:
            for name, amount in sample.reward_parts:
                sums[name] = sums.get(name, 0.0) + amount
    return tuple((name, total / len(episodes)) for name, total in sorted(sums.items()))
