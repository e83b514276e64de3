"""One iteration's update: minibatches of turns, a policy loss, a value loss, two optimizers.

Left out of the Turn-PPO and VC-PPO papers: nothing of the update. Gradients are sums of weighted terms, so
any split of a minibatch into micro-batches, and of these among ranks, gives the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from deskhand_trainer.actor_critic import ActorCritic, TurnScores, by_beginning, by_length, reply_mask
from deskhand_trainer.checkpoints import check_architecture
from deskhand_trainer.clipping_bias import BiasGradients, ClippingBias
from deskhand_trainer.config import PpoConfig
from deskhand_trainer.errors import TrainingDiverged
from deskhand_trainer.losses import (
    PolicyTerms,
    clipped_value_loss,
    kl_k3,
    reinforce,
    token_ppo,
    turn_ppo,
)
from deskhand_trainer.minibatch import TURN_RATIOS, Minibatch, minibatch, of_whole_trajectories
from deskhand_trainer.ranks import ALONE, Ranks
from deskhand_trainer.sharding import gradients as sharded_gradients
from deskhand_trainer.sharding import load_moments, place, whole, whole_tree, without_values
from deskhand_trainer.side_by_side import add_gradients, side_by_side
from deskhand_trainer.tally import Tally, UpdateReport
from deskhand_trainer.types import TrainingSample


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
        ranks: Ranks = ALONE,
        name: str = "learner",
    ) -> None:
        """
        Args:
            model: what is trained; among several ranks, sharded.
            config: how.
            reference: policy the KL penalty holds on to; needed when `kl_coef` is above 0, on rank 0.
            ranks: that share the work; the public methods are rank 0's.
            name: what they know it by.
        """
        if config.kl_coef > 0 and reference is None and ranks.rank == 0:
            raise ValueError("a KL penalty needs the policy to hold on to")
        self.ranks = ranks
        self._gradients = torch.autograd.grad if ranks.alone else sharded_gradients
        self._threads = config.threads if ranks.alone else 1
        self._update_everywhere = ranks.everywhere(f"{name}.update", self._update)
        self._state_everywhere = ranks.everywhere(f"{name}.state", self._state)
        self._load_everywhere = ranks.everywhere(f"{name}.load", self._load, told=_told)
        self.model, self.config, self.reference = model, config, reference
        self._actor = [p for _, p in model.actor_parameters()]
        self._critic = [p for _, p in model.critic_parameters()]
        self._alike = [p for p in self._critic if not isinstance(p, DTensor)]
        """What every rank has all of."""
        options: dict[str, Any] = {"betas": config.betas, "weight_decay": config.weight_decay}
        self.actor_optimizer = torch.optim.AdamW(self._actor, lr=config.lr, **options)
        self.critic_optimizer = torch.optim.AdamW(self._critic, lr=config.critic_lr, **options)
        self.order = torch.Generator().manual_seed(config.seed)
        self.updates = 0
        self.skipped_in_row = 0
        """Steps since the last whose gradient was finite."""
        self._entropy_coef, self._kl_coef = config.entropy_coef, config.kl_coef

    # ---- state ----

    def state(self) -> dict[str, Any]:
        """Everything that decides how the next update goes on."""
        return self._state_everywhere()

    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = {
            "actor": {name: p.detach() for name, p in self.model.actor_parameters()},
            "critic": {name: p.detach() for name, p in self.model.critic_parameters()},
            "actor_optimizer": self.actor_optimizer.state_dict(),
            "critic_optimizer": self.critic_optimizer.state_dict(),
            "order": self.order.get_state(),
            "updates": self.updates,
            "skipped_in_row": self.skipped_in_row,
        }
        return whole_tree(state, keep=self.ranks.rank == 0)

    def load(self, state: Mapping[str, Any]) -> None:
        """Take up a state kept by `state`, with however many ranks.

        Raises:
            CheckpointMismatch: it is of a model of another architecture.
        """
        check_architecture(dict(self.model.actor_parameters()), state["actor"])
        check_architecture(dict(self.model.critic_parameters()), state["critic"])
        self._load_everywhere(state, state["order"])

    def _load(self, state: Mapping[str, Any], order: Tensor) -> None:
        place(state["actor"], dict(self.model.actor_parameters()))
        place(state["critic"], dict(self.model.critic_parameters()))
        load_moments(self.actor_optimizer, state["actor_optimizer"])
        load_moments(self.critic_optimizer, state["critic_optimizer"])
        self.order.set_state(order)
        self.updates = int(state["updates"])
        self.skipped_in_row = int(state.get("skipped_in_row", 0))

    # ---- update ----

    def update(
        self,
        samples: Sequence[TrainingSample],
        *,
        lr: float | None,
        entropy_push: float = 0.0,
        held: bool = True,
    ) -> UpdateReport:
        """Train on one iteration's samples.

        Where no turn has an advantage and nothing else pulls at the policy, its optimizer takes no step: by
        momentum alone it would go on with what earlier batches said.

        Args:
            samples: turns with advantages, returns and old values filled in.
            lr: the actor's rate for this iteration; None: the critic alone learns, and nothing is told of the
                policy, whose weights are no newer then.
            entropy_push: of `deskhand_trainer.entropy.band_push`, times the config's weight of it.
            held: whether the KL penalty still holds the policy.

        Raises:
            TrainingDiverged: no gradient was finite in `max_skipped_steps` steps in a row.
        """
        reference = self._reference_logprobs(samples) if held and lr is not None else None
        return self._update_everywhere(samples, reference, lr, entropy_push)

    def _update(
        self,
        samples: Sequence[TrainingSample],
        reference: Tensor | None,
        lr: float | None,
        entropy_push: float,
    ) -> UpdateReport:
        # rank 0 alone may have fitted it since
        self.ranks.take_over([p.detach() for p in self._alike])
        self._entropy_coef = self.config.entropy_coef + self.config.entropy_smoothing * entropy_push
        self._kl_coef = 0.0 if reference is None else self.config.kl_coef
        if lr is not None:
            for group in self.actor_optimizer.param_groups:
                group["lr"] = lr
        whole = of_whole_trajectories(samples, self.config)
        learns = lr is not None and self._teach(samples)
        tally = Tally()
        scored = [s for s in samples if s.old_logprobs and self._drawn_now(s)]
        tally.count_first_scores(scored)
        for epoch in range(self.config.epochs):
            tally.begin_epoch()
            order = torch.randperm(len(samples), generator=self.order).tolist()
            for begin in range(0, len(order), self.config.minibatch):
                # padded, a micro-batch is to hold turns of like length
                arranged = by_beginning if self.config.packing else by_length
                chosen = arranged(samples, order[begin : begin + self.config.minibatch])
                rows = minibatch(samples, chosen, self.config, reference, whole)
                first = epoch == 0 and begin == 0 and not scored
                self._step(rows, tally, first=first, critic_only=lr is None, actor=learns)
        self.updates += learns
        return tally.report(held=not learns)

    def _drawn_now(self, sample: TrainingSample) -> bool:
        """By the very weights that an update begins with."""
        return not sample.replayed and sample.policy_update == self.updates

    def _teach(self, samples: Sequence[TrainingSample]) -> bool:
        """Whether the policy learns anything from these."""
        c = self.config
        also = self._entropy_coef or self._kl_coef or (c.by_critic and c.critic == "shared")
        return bool(also) or any(s.in_policy_loss and any(s.advantage) for s in samples)

    def _step(self, rows: Minibatch, tally: Tally, *, first: bool, critic_only: bool, actor: bool) -> None:
        parts = self._parts(rows.teaching() if by_advantages_alone(self.config) else rows)
        for parameter in (*self._actor, *self._critic):
            parameter.grad = None
        # shared out, what a pass of the policy gathered is let go of on its way back
        back = actor or not (critic_only or self.ranks.alone)
        trained = [*self._actor, *self._critic] if back else self._critic
        differentiate = partial(self._gradients, allow_unused=True)
        scaled = self.config.scale_by_clipping_bias and actor
        bias = ClippingBias(self._actor, differentiate) if scaled else None

        def gradients(part: Minibatch) -> tuple[Sequence[Tensor | None], BiasGradients | None, Tally]:
            seen = Tally()
            if critic_only:
                values, seen.pictures = self.model.values(part.samples)
                return differentiate(self._value_loss(part, values, seen), trained), None, seen
            scores = self.model.score(part.samples, temperature=self.config.temperature)
            seen.pictures = scores.pictures_encoded
            loss = self._loss(part, scores, seen, first=first)
            if bias is None:
                return differentiate(loss.policy + loss.rest, trained), None, seen
            apart = bias.gradients(loss.policy, loss.clipped_mass)
            return differentiate(loss.rest, trained), apart, seen

        parts_seen: list[Tally] = []
        done = side_by_side(gradients, parts, threads=self._threads)
        for part, (found, apart, seen) in zip(parts, done, strict=True):
            parts_seen += [seen] * part.counted
            add_gradients(trained, found)
            if bias is not None and apart is not None:
                bias.add(apart)
        self.ranks.add_up([p.grad for p in self._alike if p.grad is not None])
        parts_seen = [seen for of_rank in self.ranks.gathered(parts_seen) for seen in of_rank]
        bias_norm = 0.0 if bias is None else bias.apply()
        actor_norm = _clipped(self._actor, self.config.max_grad_norm)
        critic_norm = _clipped(self._critic, self.config.critic_max_grad_norm)
        if not math.isfinite(actor_norm + critic_norm):
            self._skip(tally)
            return
        self.skipped_in_row = 0
        for seen in parts_seen:
            tally.add(seen)
        if actor:
            _stepped(self._actor, self.actor_optimizer)
        _stepped(self._critic, self.critic_optimizer)
        tally.bias_norm += bias_norm
        tally.bias_scaled += bias_norm > 1
        tally.actor_grad_norm += actor_norm
        tally.critic_grad_norm += critic_norm
        tally.steps += 1

    def _parts(self, rows: Minibatch) -> list[Minibatch]:
        """This rank's micro-batches; as many on every rank, for they meet in each."""
        ranks, count = self.ranks, len(rows.samples)
        size = min(self.config.microbatch, -(-count // ranks.size))
        parts = [rows.part(range(begin, min(begin + size, count))) for begin in range(0, count, size)]
        parts += [parts[0].unweighted()] * (-len(parts) % ranks.size)
        return list(ranks.mine(parts))

    def _skip(self, tally: Tally) -> None:
        """Leave weights and optimizers as they are: one step on NaN would end them all."""
        tally.skipped += 1
        self.skipped_in_row += 1
        if self.skipped_in_row >= self.config.max_skipped_steps:
            raise TrainingDiverged(
                f"no gradient was finite in {self.skipped_in_row} steps in a row: lower lr or critic_lr, or "
                "start from an earlier policy; the weights are those of the last good step"
            )

    def _loss(self, rows: Minibatch, scores: TurnScores, tally: Tally, *, first: bool) -> _Losses:
        c = self.config
        logprobs = scores.logprobs
        terms = self._policy_terms(rows, logprobs)
        unreduced = reinforce(logprobs, rows.advantages, rows.mask) if terms is None else terms.loss
        policy = (rows.policy_weights * unreduced).sum()
        value = self._value_loss(rows, scores.values, tally)
        entropy = (rows.token_shares * torch.where(rows.mask, scores.entropies, 0.0)).sum()
        # without a value target the critic stays as it is
        weight = c.value_coef if c.critic == "shared" else 1.0
        rest = (weight * value if c.by_critic else 0.0) - self._entropy_coef * entropy
        if self._kl_coef > 0:
            held = rows.token_shares
            if c.kl_on == "first_attempt":
                held = held * torch.tensor([[s.attempt == 0] for s in rows.samples])
            kl = (held * kl_k3(logprobs, rows.reference, rows.mask)).sum()
            rest = rest + self._kl_coef * kl
            tally.count_reference(kl)
        tally.policy_loss += policy.item()
        tally.entropy += entropy.item()
        mass = torch.zeros(()) if terms is None else (rows.policy_weights * terms.clipped_mass).sum()
        with torch.no_grad():
            if terms is not None:
                counted = rows.policy_weights > 0
                tally.count_ratios(terms.ratio[counted], terms.clipped[counted])
            # an oracle's replies were not drawn from the policy: no ratio, no KL
            if c.algorithm != "cloning":
                own = torch.tensor([not s.replayed for s in rows.samples]).unsqueeze(-1)
                now = torch.tensor([self._drawn_now(s) for s in rows.samples]).unsqueeze(-1)
                drawn = rows.drawn_logprobs
                tally.count_drift(
                    logprobs, drawn, rows.mask & own, compared=rows.mask & now if first else None
                )
                if first:
                    beside = torch.tensor([s.beside for s in rows.samples]).unsqueeze(-1)
                    tally.count_weights(logprobs, drawn, rows.mask & ~beside)
        return _Losses(policy=policy, rest=rest, clipped_mass=mass)

    def _value_loss(self, rows: Minibatch, values: Tensor, tally: Tally) -> Tensor:
        value_mask = rows.value_weights > 0
        squared = clipped_value_loss(
            values, rows.old_values, rows.returns, value_mask, clip=self.config.value_clip
        )
        value = (rows.value_weights * squared).sum()
        tally.value_loss += value.item()
        return value

    def _policy_terms(self, rows: Minibatch, logprobs: Tensor) -> PolicyTerms | None:
        """Of PPO; None for the arms without a ratio."""
        c = self.config
        if c.algorithm != "ppo":
            return None
        clip: dict[str, Any] = {"clip_low": c.clip_low, "clip_high": c.clip_high, "dual_clip": c.dual_clip}
        if c.ratio == "token":
            return token_ppo(logprobs, rows.old_logprobs, rows.advantages, rows.mask, **clip)
        kind = TURN_RATIOS[c.ratio]
        return turn_ppo(logprobs, rows.old_logprobs, rows.advantages[:, 0], rows.mask, ratio=kind, **clip)

    @torch.no_grad()
    def _reference_logprobs(self, samples: Sequence[TrainingSample]) -> Tensor | None:
        if self.reference is None or self.config.kl_coef == 0:
            return None
        out = torch.zeros(reply_mask(samples).shape)
        order = by_beginning(samples, range(len(samples)))
        for begin in range(0, len(order), self.config.microbatch):
            rows = order[begin : begin + self.config.microbatch]
            part = [samples[i] for i in rows]
            scored = self.reference.score(part, temperature=self.config.temperature).logprobs
            out[rows, : scored.shape[1]] = scored
        return out


def by_advantages_alone(c: PpoConfig) -> bool:
    """Whether a turn whose advantage is 0 changes no weight."""
    return not (c.by_critic or c.entropy_coef or c.entropy_smoothing or c.kl_coef or c.scale_by_clipping_bias)


def actor_lr(config: PpoConfig, *, iteration: int, progress: float) -> float | None:
    """The actor's rate: linear warm-up over its first iterations, then linear decay to `lr_final`; None in
    those before, of `critic_warmup`.

    Args:
        config: the schedule.
        iteration: from 0.
        progress: share of the budget that is spent, 0 to 1, by iterations or by the clock.
    """
    begun = iteration - config.critic_warmup
    if begun < 0:
        return None
    warm = min(1.0, (begun + 1) / (config.lr_warmup_iterations + 1))
    decayed = 1.0 - (1.0 - config.lr_final) * min(1.0, max(0.0, progress))
    return config.lr * warm * decayed


def _clipped(parameters: list[torch.nn.Parameter], limit: float) -> float:
    """Clip the gradient to `limit` (0: not at all), and give the norm before."""
    if all(p.grad is None for p in parameters):
        return 0.0
    return float(whole(torch.nn.utils.clip_grad_norm_(parameters, limit if limit > 0 else math.inf)))


def _stepped(parameters: list[torch.nn.Parameter], optimizer: torch.optim.Optimizer) -> None:
    if any(p.grad is not None for p in parameters):
        optimizer.step()


def _told(state: Mapping[str, Any], order: Tensor) -> tuple[Mapping[str, Any], Tensor]:
    """What the other ranks are told of a state: its weights come to them one by one."""
    return without_values(state), order
