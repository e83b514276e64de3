"""Fitting the critic to Monte-Carlo returns of a fixed policy, before PPO begins.

VC-PPO (arXiv:2503.01491) §3.2 and VAPO: λ = 1 targets, the policy does not move, and training goes on
until the held-out loss is flat AND the held-out explained variance passes a threshold. A critic that reads
the policy's states reads them as they are, so they are computed once; one with a model of its own, as in the
papers, is trained whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import ActorCritic, by_beginning
from deskhand_trainer.batches import explained_variance
from deskhand_trainer.choices import BY_TOKEN, AdvantageKind
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.diagnostics import Alarm
from deskhand_trainer.errors import NoTrainableTurns
from deskhand_trainer.estimates import critic_returns
from deskhand_trainer.learner import Learner
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.side_by_side import one_thread
from deskhand_trainer.skipped_steps import SkippedSteps
from deskhand_trainer.types import Episode, TrainingSample
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
    advantage: AdvantageKind = "turn",
    microbatch: int = 64,
    max_skipped_steps: int = 20,
    trunk: TrunkSteps | None = None,
    on_epoch: Callable[[int, float, float], None] | None = None,
) -> ValueReport:
    """Fit the critic and leave it as it was at its best held-out loss; the policy is not touched.

    Args:
        model: whose critic is fitted.
        episodes: rewarded episodes (`batches.with_rewards`) of the policy as it is, and others where the
            config takes them too.
        config: how long and how well.
        gamma: discount of the returns.
        advantage: what the critic is for: where it is read, before every reply token or before every reply,
            and what γ discounts by.
        seed: of the split and the order.
        microbatch: turns per forward pass when states, or values, are computed.
        max_skipped_steps: in a row, left out of a fit to the policy's states, that end it.
        trunk: of a critic with a model of its own; None: it reads the policy's states.
        on_epoch: told epoch, held-out loss and held-out explained variance.

    Raises:
        NoTrainableTurns: fewer than two episodes.
        TrainingDiverged: no step had a finite gradient, many times in a row.
    """
    if len(episodes) < 2:
        raise NoTrainableTurns(
            f"value pretraining needs at least 2 episodes that came to a verdict, got {len(episodes)}: start "
            "the run again, which plays those that broke anew, or raise value_pretraining.episodes"
        )
    generator = torch.Generator().manual_seed(seed)
    by_token = advantage in BY_TOKEN
    returns = critic_returns(episodes, advantage, gamma=gamma)
    chosen = _held_out(episodes, config.held_out, generator)
    each = [sum(len(s.reply_ids) if by_token else 1 for s in e.samples) for e in episodes]
    held = torch.repeat_interleave(chosen, torch.tensor(each))
    if trunk is None:
        states = (token_states if by_token else first_states)(model, episodes, microbatch=microbatch)
        most = min(max_skipped_steps, config.max_epochs * -(-int((~held).sum()) // MINIBATCH))
        skipped = SkippedSteps(most, lower="value_pretraining.lr")
        fit: _Fit = _HeadFit(model, states, returns, held, config.lr, generator, skipped)
    else:
        fit = _TrunkFit(trunk, model, episodes, returns, chosen, by_token=by_token, microbatch=microbatch)
    watch = _StopRule(config)
    best_loss, epoch = math.inf, 0
    for epoch in range(1, config.max_epochs + 1):
        fit.one_epoch()
        loss, explained = fit.judged()
        if loss < best_loss:
            best_loss = loss
            fit.keep()
        if on_epoch is not None:
            on_epoch(epoch, loss, explained)
        if watch.stop(loss, explained):
            break
    fit.take_back()
    loss, explained = fit.judged()
    return ValueReport(
        epochs=epoch,
        stopped_by="flat and explained" if watch.satisfied else "epochs",
        loss=loss,
        explained_variance=explained,
        train_turns=int((~held).sum().item()),
        held_out_turns=int(held.sum().item()),
    )


def value_alarms(report: ValueReport, config: ValuePretrainingConfig) -> tuple[Alarm, ...]:
    """Whether value pretraining came to its last epoch without explaining what it was to explain; not told of
    returns that do not vary, in which there is nothing to explain."""
    explained, limit = report.explained_variance, config.explained_variance
    if report.stopped_by != "epochs" or not explained < limit:
        return ()
    advice = (
        "the critic does not foretell returns, and PPO begins with it: raise value_pretraining.episodes or "
        "value_pretraining.max_epochs, or start from a better policy"
    )
    return (Alarm(name="value_unexplained", data={"value": explained, "limit": limit, "advice": advice}),)


def first_states(model: ActorCritic, episodes: Sequence[Episode], *, microbatch: int = 32) -> Tensor:
    """[N, D] what the critic reads at the beginning of every turn, in order."""
    samples = [s for e in episodes for s in e.samples]
    order = by_beginning(samples, range(len(samples)))
    parts = [
        model.states([samples[i] for i in order[at : at + microbatch]])[:, 0]
        for at in range(0, len(order), microbatch)
    ]
    states = torch.cat(parts).detach()
    return states[torch.tensor(order).argsort()]


def token_states(model: ActorCritic, episodes: Sequence[Episode], *, microbatch: int = 32) -> Tensor:
    """[N, D] what the critic reads before every reply token, in order."""
    samples = [s for e in episodes for s in e.samples]
    order = by_beginning(samples, range(len(samples)))
    found: dict[int, Tensor] = {}
    for at in range(0, len(order), microbatch):
        rows = order[at : at + microbatch]
        states = model.states([samples[i] for i in rows]).detach()
        found |= {i: states[row, : len(samples[i].reply_ids)] for row, i in enumerate(rows)}
    return torch.cat([found[i] for i in range(len(samples))])


@torch.no_grad()
def values_of(
    model: ActorCritic, samples: Sequence[TrainingSample], *, by_token: bool, microbatch: int = 64
) -> Tensor:
    """[N] V before every reply, or `by_token` before every token of it, in order."""
    order = by_beginning(samples, range(len(samples)))
    found: dict[int, Tensor] = {}
    for at in range(0, len(order), microbatch):
        rows = order[at : at + microbatch]
        values, _ = model.values([samples[i] for i in rows])
        read = [len(samples[i].reply_ids) if by_token else 1 for i in rows]
        found |= {i: values[row, :count] for row, (i, count) in enumerate(zip(rows, read, strict=True))}
    return torch.cat([found[i] for i in range(len(order))])


@torch.no_grad()
def evaluate_value(model: ActorCritic, states: Tensor, returns: Tensor) -> tuple[float, float]:
    """½ mean squared error and explained variance of the critic on states [N, D] with returns [N]."""
    return _judged(model.value(states), returns)


class TrunkSteps:
    """Steps on the value loss alone of a critic with a model of its own, on every rank."""

    def __init__(self, model: ActorCritic, config: PpoConfig, ranks: Ranks = ALONE) -> None:
        """
        Args:
            model: whose critic is trained; among several ranks, sharded.
            config: of the run.
            ranks: that share the work; the public methods are rank 0's.
        """
        plain: dict[str, Any] = {"epochs": 1, "minibatch": MINIBATCH, "value_clip": None, "kl_coef": 0.0}
        config = replace(config, **plain, critic_lr=config.value_pretraining.lr, weight_decay=0.0)
        self._learner = Learner(model, config, ranks=ranks, name="value_pretraining")
        self._best = _Best(model)
        self.keep = ranks.everywhere("value_pretraining.keep", self._best.keep)
        self.take_back = ranks.everywhere("value_pretraining.take_back", self._take_back)

    def one_epoch(self, samples: Sequence[TrainingSample]) -> None:
        """Over turns with their returns."""
        self._learner.update(samples, lr=None)

    def _take_back(self) -> None:
        """What was kept; nothing else stays."""
        self._best.take_back()
        self._learner.critic_optimizer.state.clear()


class _Fit(Protocol):
    """A critic that is being fitted to returns."""

    def one_epoch(self) -> None: ...

    def judged(self) -> tuple[float, float]:
        """Held-out loss and explained variance."""
        ...

    def keep(self) -> None: ...

    def take_back(self) -> None: ...


class _Best:
    """The critic's parameters when they were best."""

    def __init__(self, model: ActorCritic) -> None:
        self._critic = [p for _, p in model.critic_parameters()]
        self._kept: list[Tensor] = []

    def keep(self) -> None:
        self._kept = [p.detach().clone() for p in self._critic]

    @torch.no_grad()
    def take_back(self) -> None:
        for parameter, kept in zip(self._critic, self._kept, strict=True):
            parameter.copy_(kept)
        self._kept = []


class _HeadFit(_Best):
    """On states [N, D], which stay as they are."""

    def __init__(
        self,
        model: ActorCritic,
        states: Tensor,
        returns: Tensor,
        held: Tensor,
        lr: float,
        generator: torch.Generator,
        skipped: SkippedSteps,
    ) -> None:
        super().__init__(model)
        self._skipped = skipped
        self._model, self._generator = model, generator
        self._fitted = states[~held], returns[~held]
        self._held = states[held], returns[held]
        self._optimizer = torch.optim.AdamW(self._critic, lr=lr, weight_decay=0.0)
        self.keep()

    def one_epoch(self) -> None:
        states, returns = self._fitted
        with one_thread():
            for rows in torch.randperm(len(states), generator=self._generator).split(MINIBATCH):
                self._optimizer.zero_grad(set_to_none=True)
                loss = 0.5 * (self._model.value(states[rows]) - returns[rows]).square().mean()
                loss.backward()
                norm = torch.nn.utils.get_total_norm([p.grad for p in self._critic if p.grad is not None])
                if not self._skipped.left_out(norm):
                    self._optimizer.step()

    def judged(self) -> tuple[float, float]:
        return evaluate_value(self._model, *self._held)


class _TrunkFit:
    """On turns, which the critic's own model reads anew each time."""

    def __init__(
        self,
        steps: TrunkSteps,
        model: ActorCritic,
        episodes: Sequence[Episode],
        returns: Tensor,
        chosen: Tensor,
        *,
        by_token: bool,
        microbatch: int,
    ) -> None:
        self._steps, self._model, self._by_token, self._microbatch = steps, model, by_token, microbatch
        self.keep, self.take_back = steps.keep, steps.take_back
        samples = [s for e in episodes for s in e.samples]
        of_each = returns.split([len(s.reply_ids) if by_token else 1 for s in samples])
        told = [
            replace(s, returns=tuple(own.expand(len(s.reply_ids)).tolist()))
            for s, own in zip(samples, of_each, strict=True)
        ]
        held = torch.repeat_interleave(chosen, torch.tensor([len(e.samples) for e in episodes])).tolist()
        self._fitted = [s for s, out in zip(told, held, strict=True) if not out]
        self._held = [s for s, out in zip(told, held, strict=True) if out]
        self._returns = torch.cat([own for own, out in zip(of_each, held, strict=True) if out])
        self.keep()

    def one_epoch(self) -> None:
        self._steps.one_epoch(self._fitted)

    def judged(self) -> tuple[float, float]:
        values = values_of(self._model, self._held, by_token=self._by_token, microbatch=self._microbatch)
        return _judged(values, self._returns)


def _judged(values: Tensor, returns: Tensor) -> tuple[float, float]:
    return float(0.5 * (values - returns).square().mean()), explained_variance(values, returns)


def _held_out(episodes: Sequence[Episode], share: float, generator: torch.Generator) -> Tensor:
    """[episodes] bool; whole episodes are held out, their turns share one outcome."""
    order = torch.randperm(len(episodes), generator=generator)
    count = min(len(episodes) - 1, max(1, round(share * len(episodes))))
    chosen = torch.zeros(len(episodes), dtype=torch.bool)
    chosen[order[:count]] = True
    return chosen


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
