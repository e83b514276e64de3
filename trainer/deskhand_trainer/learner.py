"""One iteration's update: minibatches of turns, a policy loss, a value loss, two optimizers.

Left out of the Turn-PPO and VC-PPO papers: nothing of the update; sharding over devices comes later.
Gradients are sums of weighted terms, so any split of a minibatch into micro-batches gives the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from deskhand_trainer.actor_critic import ActorCritic, TurnScores, by_length, padded, reply_mask
from deskhand_trainer.batches import entries_of
from deskhand_trainer.clipping_bias import BiasGradients, ClippingBias
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import TrainingDiverged
from deskhand_trainer.losses import (
    PolicyTerms,
    TurnRatio,
    clipped_value_loss,
    kl_k3,
    reinforce,
    token_ppo,
    token_weights,
    truncated_importance,
    turn_ppo,
    turn_weights,
)
from deskhand_trainer.side_by_side import add_gradients, side_by_side
from deskhand_trainer.tally import Tally, UpdateReport
from deskhand_trainer.types import TrainingSample

TURN_RATIOS: Mapping[str, TurnRatio] = {"turn_product": "product", "turn_geometric": "geometric"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rows:
    """A minibatch as tensors, [B, T] unless said otherwise."""

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
    """[B, T] for token losses, [B] for turn losses; of the whole minibatch."""
    value_weights: Tensor
    token_shares: Tensor
    """[B, T] of tokens in the policy loss."""

    def part(self, begin: int, end: int) -> _Rows:
        """Rows begin to end, with the weights they have in the whole."""
        width = max(1, int(self.mask[begin:end].sum(-1).max().item()))
        cut = {
            name: getattr(self, name)[begin:end, :width]
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
        weights = self.policy_weights[begin:end]
        return _Rows(
            samples=self.samples[begin:end],
            policy_weights=weights if weights.dim() == 1 else weights[:, :width],
            value_weights=self.value_weights[begin:end, :width],
            token_shares=self.token_shares[begin:end, :width],
            **cut,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Losses:
    """Of a micro-batch, each a number to be differentiated."""

    policy: Tensor
    rest: Tensor
    """Critic, entropy and KL."""
    clipped_mass: Tensor


class Learner:
    """Holds a model and its two optimizers; `update` is one iteration."""

    def __init__(
        self,
        model: ActorCritic,
        config: PpoConfig,
        *,
        reference: ActorCritic | None = None,
    ) -> None:
        """
        Args:
            model: what is trained.
            config: how.
            reference: policy the KL penalty holds on to; needed when `kl_coef` is above 0.
        """
        if config.kl_coef > 0 and reference is None:
            raise ValueError("a KL penalty needs the policy to hold on to")
        self.model, self.config, self.reference = model, config, reference
        self._actor = [p for _, p in model.actor_parameters()]
        self._critic = [p for _, p in model.critic_parameters()]
        options: dict[str, Any] = {"betas": config.betas, "weight_decay": config.weight_decay}
        self.actor_optimizer = torch.optim.AdamW(self._actor, lr=config.lr, **options)
        self.critic_optimizer = torch.optim.AdamW(self._critic, lr=config.critic_lr, **options)
        self.order = torch.Generator().manual_seed(config.seed)
        self.updates = 0
        self.skipped_in_row = 0
        """Steps since the last whose gradient was finite."""
        self._entropy_coef = config.entropy_coef

    # ---- state ----

    def state(self) -> dict[str, Any]:
        """Everything that decides how the next update goes on."""
        return {
            "actor": {name: p.detach() for name, p in self.model.actor_parameters()},
            "critic": {name: p.detach() for name, p in self.model.critic_parameters()},
            "actor_optimizer": self.actor_optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict(),
            "order": self.order.get_state(),
            "updates": self.updates,
            "skipped_in_row": self.skipped_in_row,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up a state kept by `state`."""
        with torch.no_grad():
            for name, parameter in self.model.actor_parameters():
                parameter.copy_(state["actor"][name])
            for name, parameter in self.model.critic_parameters():
                parameter.copy_(state["critic"][name])
        self.actor_optimizer.load_state_dict(state["actor_optimizer"])
        self.critic_optimizer.load_state_dict(state["critic_optimizer"])
        self.order.set_state(state["order"])
        self.updates = int(state["updates"])
        self.skipped_in_row = int(state.get("skipped_in_row", 0))

    # ---- update ----

    def update(
        self, samples: Sequence[TrainingSample], *, lr: float, entropy_push: float = 0.0
    ) -> UpdateReport:
        """Train on one iteration's samples.

        Args:
            samples: turns with advantages, returns and old values filled in.
            lr: the actor's rate for this iteration.
            entropy_push: of `deskhand_trainer.entropy.band_push`, times the config's weight of it.

        Raises:
            TrainingDiverged: no gradient was finite in `max_skipped_steps` steps in a row.
        """
        self._entropy_coef = self.config.entropy_coef + self.config.entropy_smoothing * entropy_push
        for group in self.actor_optimizer.param_groups:
            group["lr"] = lr
        tally = Tally()
        reference = self._reference_logprobs(samples)
        for epoch in range(self.config.epochs):
            tally.begin_epoch()
            order = torch.randperm(len(samples), generator=self.order).tolist()
            for begin in range(0, len(order), self.config.minibatch):
                # of like length, a micro-batch holds little padding
                chosen = by_length(samples, order[begin : begin + self.config.minibatch])
                self._step(self._rows(samples, chosen, reference), tally, first=epoch == 0 and begin == 0)
        self.updates += 1
        return tally.report(turns=len(samples))

    def _step(self, rows: _Rows, tally: Tally, *, first: bool) -> None:
        size = self.config.microbatch
        parts = [rows.part(begin, begin + size) for begin in range(0, len(rows.samples), size)]
        trained = [*self._actor, *self._critic]
        for parameter in trained:
            parameter.grad = None
        bias = ClippingBias(self._actor) if self.config.scale_by_clipping_bias else None

        def gradients(part: _Rows) -> tuple[Sequence[Tensor | None], BiasGradients | None, Tally]:
            seen = Tally()
            scores = self.model.score(part.samples, temperature=self.config.temperature)
            seen.pictures = scores.pictures_encoded
            loss = self._loss(part, scores, seen, first=first)
            if bias is None:
                return torch.autograd.grad(loss.policy + loss.rest, trained, allow_unused=True), None, seen
            apart = bias.gradients(loss.policy, loss.clipped_mass)
            return torch.autograd.grad(loss.rest, trained, allow_unused=True), apart, seen

        parts_seen: list[Tally] = []
        for found, apart, seen in side_by_side(gradients, parts, threads=self.config.threads):
            parts_seen.append(seen)
            add_gradients(trained, found)
            if bias is not None and apart is not None:
                bias.add(apart)
        bias_norm = 0.0 if bias is None else bias.apply()
        actor_norm = _clipped(self._actor, self.config.max_grad_norm)
        critic_norm = _clipped(self._critic, self.config.critic_max_grad_norm)
        if not math.isfinite(actor_norm + critic_norm):
            self._skip(tally)
            return
        self.skipped_in_row = 0
        for seen in parts_seen:
            tally.add(seen)
        _stepped(self._actor, self.actor_optimizer)
        _stepped(self._critic, self.critic_optimizer)
        tally.bias_norm += bias_norm
        tally.actor_grad_norm += actor_norm
        tally.critic_grad_norm += critic_norm
        tally.steps += 1

    def _skip(self, tally: Tally) -> None:
        """Leave weights and optimizers as they are: one step on NaN would end them all."""
        tally.skipped += 1
        self.skipped_in_row += 1
        if self.skipped_in_row >= self.config.max_skipped_steps:
            raise TrainingDiverged(
                f"no gradient was finite in {self.skipped_in_row} steps in a row: lower lr or critic_lr, or "
                "start from an earlier policy; the weights are those of the last good step"
            )

    def _loss(self, rows: _Rows, scores: TurnScores, tally: Tally, *, first: bool) -> _Losses:
        c = self.config
        logprobs = scores.logprobs
        terms = self._policy_terms(rows, logprobs)
        unreduced = reinforce(logprobs, rows.advantages, rows.mask) if terms is None else terms.loss
        policy = (rows.policy_weights * unreduced).sum()
        value_mask = rows.value_weights > 0
        squared = clipped_value_loss(
            scores.values, rows.old_values, rows.returns, value_mask, clip=c.value_clip
        )
        value = (rows.value_weights * squared).sum()
        entropy = (rows.token_shares * torch.where(rows.mask, scores.entropies, 0.0)).sum()
        # imitation has no value target: its critic stays as it is
        imitates = c.algorithm in ("rejection", "cloning")
        rest = (0.0 if imitates else value) - self._entropy_coef * entropy
        if c.kl_coef > 0:
            held = rows.token_shares
            if c.kl_on == "first_attempt":
                held = held * torch.tensor([[s.attempt == 0] for s in rows.samples])
            rest = rest + c.kl_coef * (held * kl_k3(logprobs, rows.reference, rows.mask)).sum()
        tally.policy_loss += policy.item()
        tally.value_loss += value.item()
        tally.entropy += entropy.item()
        mass = torch.zeros(()) if terms is None else (rows.policy_weights * terms.clipped_mass).sum()
        with torch.no_grad():
            if terms is not None:
                counted = rows.policy_weights > 0
                tally.count_ratios(terms.ratio[counted], terms.clipped[counted])
            # an oracle's replies were not drawn from the policy: no ratio, no KL
            if c.algorithm != "cloning":
                own = torch.tensor([not s.replayed for s in rows.samples]).unsqueeze(-1)
                now = torch.tensor([s.policy_update == self.updates for s in rows.samples]).unsqueeze(-1)
                drawn = rows.drawn_logprobs
                tally.count_drift(
                    logprobs, drawn, rows.mask & own, compared=rows.mask & own & now if first else None
                )
        return _Losses(policy=policy, rest=rest, clipped_mass=mass)

    def _policy_terms(self, rows: _Rows, logprobs: Tensor) -> PolicyTerms | None:
        """Of PPO; None for the arms without a ratio."""
        c = self.config
        if c.algorithm != "ppo":
            return None
        clip: dict[str, Any] = {"clip_low": c.clip_low, "clip_high": c.clip_high, "dual_clip": c.dual_clip}
        if c.ratio == "token":
            return token_ppo(logprobs, rows.old_logprobs, rows.advantages, rows.mask, **clip)
        kind = TURN_RATIOS[c.ratio]
        return turn_ppo(logprobs, rows.old_logprobs, rows.advantages[:, 0], rows.mask, ratio=kind, **clip)

    def _rows(
        self, samples: Sequence[TrainingSample], chosen: Sequence[int], reference: Tensor | None
    ) -> _Rows:
        c = self.config
        picked = [samples[i] for i in chosen]
        mask = reply_mask(picked)
        width = mask.shape[1]
        names: dict[str, int] = {}
        trajectory = torch.tensor([names.setdefault(s.trajectory_id, len(names)) for s in picked])
        by_turn = c.algorithm == "ppo" and c.ratio != "token"
        entries = entries_of(mask, c) & torch.tensor([s.in_value_loss for s in picked]).unsqueeze(-1)
        drawn = padded([s.behaviour_logprobs for s in picked], width)
        old = padded([s.old_logprobs or s.behaviour_logprobs for s in picked], width)
        learned = mask & torch.tensor([s.in_policy_loss for s in picked]).unsqueeze(-1)
        weights = (turn_weights if by_turn else token_weights)(learned, trajectory, c.aggregation)
        if any(s.policy_weights for s in picked):
            own = padded([s.policy_weights or (1.0,) * len(s.reply_ids) for s in picked], width)
            weights = weights * (own.sum(-1) / mask.sum(-1).clamp(min=1) if by_turn else own)
        if c.importance_cap is not None:
            ratio = TURN_RATIOS[c.ratio] if by_turn else "token"
            weights = weights * truncated_importance(old, drawn, learned, cap=c.importance_cap, ratio=ratio)
        return _Rows(
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
            token_shares=learned / learned.sum().clamp(min=1),
        )

    @torch.no_grad()
    def _reference_logprobs(self, samples: Sequence[TrainingSample]) -> Tensor | None:
        if self.reference is None or self.config.kl_coef == 0:
            return None
        out = torch.zeros(reply_mask(samples).shape)
        order = by_length(samples, range(len(samples)))
        for begin in range(0, len(order), self.config.microbatch):
            rows = order[begin : begin + self.config.microbatch]
            part = [samples[i] for i in rows]
            scored = self.reference.score(part, temperature=self.config.temperature).logprobs
            out[rows, : scored.shape[1]] = scored
        return out


def actor_lr(config: PpoConfig, *, iteration: int, progress: float) -> float:
    """The actor's rate: linear warm-up over the first iterations, then linear decay to `lr_final`.

    Args:
        config: the schedule.
        iteration: from 0.
        progress: share of the budget that is spent, 0 to 1, by iterations or by the clock.
    """
    warm = min(1.0, (iteration + 1) / (config.lr_warmup_iterations + 1))
    decayed = 1.0 - (1.0 - config.lr_final) * min(1.0, max(0.0, progress))
    return config.lr * warm * decayed


def _clipped(parameters: list[torch.nn.Parameter], limit: float) -> float:
    """Clip the gradient to `limit` (0: not at all), and give the norm before."""
    if all(p.grad is None for p in parameters):
        return 0.0
    return float(torch.nn.utils.clip_grad_norm_(parameters, limit if limit > 0 else math.inf))


def _stepped(parameters: list[torch.nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    if any(p.grad is not None for p in parameters):
        optimizer.step()
