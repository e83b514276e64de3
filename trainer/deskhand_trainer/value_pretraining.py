"""Fitting the critic to Monte-Carlo returns of a fixed policy, before PPO begins.

VC-PPO (arXiv:2503.01491) §3.2 and VAPO: λ = 1 targets, the policy does not move, and training goes on
until the held-out loss is flat AND the held-out explained variance passes a threshold. Left out: training
the trunk of the model with the critic; the critic reads the policy's states as they are, so states are
computed once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import ActorCritic, by_length
from deskhand_trainer.batches import explained_variance
from deskhand_trainer.estimates import token_returns, turn_returns
from deskhand_trainer.side_by_side import one_thread
from deskhand_trainer.types import Episode
from deskhand_trainer.value_config import ValuePretrainingConfig

MINIBATCH = 64


@dataclass(frozen=True, kw_only=True, slots=True)
class ValueReport:
    """How the fit went."""

    epochs: int
    stopped_by: Literal["flat and explained", "epochs"]
    loss: float
    """Held out, ½ mean squared error."""
    explained_variance: float
    """Held out; NaN when the held-out returns do not vary."""
    train_turns: int
    """Or tokens, where the critic is read before each of them."""
    held_out_turns: int


def pretrain_value(
    model: ActorCritic,
    episodes: Sequence[Episode],
    config: ValuePretrainingConfig,
    *,
    gamma: float,
    seed: int,
    by_token: bool = False,
    microbatch: int = 64,
    on_epoch: Callable[[int, float, float], None] | None = None,
) -> ValueReport:
    """Fit the critic and leave it as it was at its best held-out loss; the policy is not touched.

    Args:
        model: whose critic is fitted.
        episodes: rewarded episodes (`batches.with_rewards`) of the policy as it is, and others where the
            config takes them too.
        config: how long and how well.
        gamma: discount of the returns.
        by_token: the critic is read before every reply token; otherwise before every reply.
        seed: of the split and the order.
        microbatch: turns per forward pass when states are computed.
        on_epoch: told epoch, held-out loss and held-out explained variance.

    Raises:
        ValueError: fewer than two episodes.
    """
    if len(episodes) < 2:
        raise ValueError(f"value pretraining needs at least 2 episodes, got {len(episodes)}")
    generator = torch.Generator().manual_seed(seed)
    states = (token_states if by_token else first_states)(model, episodes, microbatch=microbatch)
    returns = (token_returns if by_token else turn_returns)(episodes, gamma=gamma)
    held = _held_out(episodes, config.held_out, generator, by_token=by_token)
    optimizer = torch.optim.AdamW([p for _, p in model.critic_parameters()], lr=config.lr, weight_decay=0.0)
    watch = _StopRule(config)
    best_loss, best, epoch = math.inf, _copy(model), 0
    for epoch in range(1, config.max_epochs + 1):
        _one_epoch(model, states[~held], returns[~held], optimizer, generator)
        loss, explained = evaluate_value(model, states[held], returns[held])
        if loss < best_loss:
            best_loss, best = loss, _copy(model)
        if on_epoch is not None:
            on_epoch(epoch, loss, explained)
        if watch.stop(loss, explained):
            break
    with torch.no_grad():
        for name, parameter in model.critic_parameters():
            parameter.copy_(best[name])
    loss, explained = evaluate_value(model, states[held], returns[held])
    return ValueReport(
        epochs=epoch,
        stopped_by="flat and explained" if watch.satisfied else "epochs",
        loss=loss,
        explained_variance=explained,
        train_turns=int((~held).sum().item()),
        held_out_turns=int(held.sum().item()),
    )


def first_states(model: ActorCritic, episodes: Sequence[Episode], *, microbatch: int = 32) -> Tensor:
    """[N, D] what the critic reads at the beginning of every turn, in order."""
    samples = [s for e in episodes for s in e.samples]
    order = by_length(samples, range(len(samples)))
    parts = [
        model.states([samples[i] for i in order[at : at + microbatch]])[:, 0]
        for at in range(0, len(order), microbatch)
    ]
    states = torch.cat(parts).detach()
    return states[torch.tensor(order).argsort()]


def token_states(model: ActorCritic, episodes: Sequence[Episode], *, microbatch: int = 32) -> Tensor:
    """[N, D] what the critic reads before every reply token, in order."""
    samples = [s for e in episodes for s in e.samples]
    order = by_length(samples, range(len(samples)))
    found: dict[int, Tensor] = {}
    for at in range(0, len(order), microbatch):
        rows = order[at : at + microbatch]
        states = model.states([samples[i] for i in rows]).detach()
        found |= {i: states[row, : len(samples[i].reply_ids)] for row, i in enumerate(rows)}
    return torch.cat([found[i] for i in range(len(samples))])


@torch.no_grad()
def evaluate_value(model: ActorCritic, states: Tensor, returns: Tensor) -> tuple[float, float]:
    """½ mean squared error and explained variance of the critic on states [N, D] with returns [N]."""
    values = model.value(states)
    return float(0.5 * (values - returns).square().mean()), explained_variance(values, returns)


def _copy(model: ActorCritic) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in model.critic_parameters()}


def _held_out(
    episodes: Sequence[Episode], share: float, generator: torch.Generator, *, by_token: bool
) -> Tensor:
    """[N] bool over turns or tokens; whole episodes are held out, their turns share one outcome."""
    order = torch.randperm(len(episodes), generator=generator)
    count = min(len(episodes) - 1, max(1, round(share * len(episodes))))
    chosen = torch.zeros(len(episodes), dtype=torch.bool)
    chosen[order[:count]] = True
    each = [sum(len(s.reply_ids) if by_token else 1 for s in e.samples) for e in episodes]
    return torch.repeat_interleave(chosen, torch.tensor(each))


def _one_epoch(
    model: ActorCritic,
    states: Tensor,
    returns: Tensor,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    with one_thread():
        for rows in torch.randperm(len(states), generator=generator).split(MINIBATCH):
            optimizer.zero_grad(set_to_none=True)
            loss = 0.5 * (model.value(states[rows]) - returns[rows]).square().mean()
            loss.backward()
            optimizer.step()


class _StopRule:
    """Flat held-out loss and enough explained variance, both."""

    def __init__(self, config: ValuePretrainingConfig) -> None:
        self._config = config
        self._best = float("inf")
        self._flat_for = 0
        self.satisfied = False

    def stop(self, loss: float, explained: float) -> bool:
        if loss < self._best * (1.0 - self._config.flat):
            self._best, self._flat_for = loss, 0
        else:
            self._flat_for += 1
        self.satisfied = (
            self._flat_for >= self._config.patience and explained >= self._config.explained_variance
        )
        return self.satisfied
