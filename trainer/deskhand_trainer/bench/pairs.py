"""What the trainer and verl both compute, each pair on the same data and with the same result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from deskhand_trainer.advantages import monte_carlo_returns, spread_over_tokens, token_gae
from deskhand_trainer.baselines import group_relative, leave_one_out
from deskhand_trainer.bench.verl import VerlFunctions
from deskhand_trainer.losses import clipped_value_loss, entropy_of, kl_k3, token_ppo, token_weights
from deskhand_trainer.normalisation import normalise

GAMMA, LAMBDA = 0.99, 0.95
CLIP_LOW, CLIP_HIGH, DUAL_CLIP = 0.2, 0.28, 3.0
VALUE_CLIP = 0.5
GROUP = 8
VOCABULARY = 512

Work: TypeAlias = Callable[[], tuple[Tensor, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """Of the data."""

    rows: int
    tokens: int
    """Of a row, shown and written."""
    turns: int
    reply: int
    """Tokens written in each turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Data:
    """[rows, tokens] each, unless said otherwise."""

    rewards: Tensor
    values: Tensor
    new_values: Tensor
    mask: Tensor
    logprobs: Tensor
    old_logprobs: Tensor
    logits: Tensor
    """[rows, reply, vocabulary] of one turn's tokens."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One thing both compute."""

    name: str
    ours: Work
    theirs: Work
    mask: Tensor
    """Where the results have to agree."""
    scales: tuple[float, ...] = ()
    """What ours are multiplied by where deviations are divided by n on one side and n − 1 on the other."""

    def apart(self) -> tuple[float, float]:
        """The greatest difference between the results, and the greatest number among theirs."""
        differs, greatest = 0.0, 0.0
        ours, theirs = self.ours(), self.theirs()
        for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            scale = self.scales[number] if self.scales else 1.0
            differs = max(differs, float((scale * mine - other)[self.mask].abs().max()))
            greatest = max(greatest, float(other[self.mask].abs().max()))
        return differs, greatest


def multi_turn(size: Size, seed: int = 0) -> Data:
    """Trajectories whose turns write a little after much that is shown, and earn at the end."""
    draw = torch.Generator().manual_seed(seed)
    shape = (size.rows, size.tokens)
    mask = torch.zeros(shape, dtype=torch.bool)
    rewards = torch.zeros(shape)
    each = size.tokens // size.turns
    for turn in range(size.turns):
        mask[:, (turn + 1) * each - size.reply : (turn + 1) * each] = True
    rewards[:, size.turns * each - 1] = torch.randint(0, 2, (size.rows,), generator=draw).float()
    old = -torch.rand(shape, generator=draw)
    values = torch.rand(shape, generator=draw)
    return Data(
        rewards=rewards,
        values=values,
        new_values=values + 0.5 * torch.randn(shape, generator=draw),
        mask=mask,
        logprobs=old + 0.2 * torch.randn(shape, generator=draw),
        old_logprobs=old,
        logits=torch.randn(size.rows, size.reply, VOCABULARY, generator=draw),
    )


def pairs(peer: VerlFunctions, size: Size) -> list[Pair]:
    """All of them; losses are taken with their gradient."""
    data = multi_turn(size)
    written = int(data.mask.sum())
    whitened = ((written - 1) / written) ** 0.5
    floats = data.mask.float()
    groups = torch.arange(size.rows) // GROUP
    names, lengths = groups.numpy(), data.mask.sum(-1)
    gae = token_gae(data.rewards, data.values, data.mask, gamma=GAMMA, lam=LAMBDA)
    advantages = normalise(gae.advantages, data.mask, "batch")

    def our_gae() -> tuple[Tensor, ...]:
        got = token_gae(data.rewards, data.values, data.mask, gamma=GAMMA, lam=LAMBDA)
        return normalise(got.advantages, data.mask, "batch"), got.returns

    def our_returns() -> tuple[Tensor, ...]:
        returns = monte_carlo_returns(data.rewards, data.mask, gamma=GAMMA)
        return normalise(returns, data.mask, "batch"), returns

    def grouped(compare: Callable[[Tensor, Tensor], Tensor]) -> Work:
        return lambda: (spread_over_tokens(compare(data.rewards.sum(-1), groups), data.mask),)

    def token_mean(terms: Tensor) -> Tensor:
        return (token_weights(data.mask, lengths, "token") * terms).sum()

    def our_policy_loss(logprobs: Tensor) -> Tensor:
        terms = token_ppo(
            logprobs, data.old_logprobs, advantages, data.mask,
            clip_low=CLIP_LOW, clip_high=CLIP_HIGH, dual_clip=DUAL_CLIP,
        )  # fmt: skip
        return token_mean(terms.loss)

    def their_policy_loss(logprobs: Tensor) -> Tensor:
        return peer.policy_loss(
            data.old_logprobs, logprobs, advantages, floats, low=CLIP_LOW, high=CLIP_HIGH, dual=DUAL_CLIP
        )

    def our_value_loss(values: Tensor) -> Tensor:
        return token_mean(clipped_value_loss(values, data.values, gae.returns, data.mask, clip=VALUE_CLIP))

    def their_value_loss(values: Tensor) -> Tensor:
        return peer.value_loss(values, gae.returns, data.values, floats, VALUE_CLIP)[0]

    def our_entropy(logits: Tensor) -> Tensor:
        return entropy_of(logits, torch.ones(logits.shape[:-1], dtype=torch.bool)).mean()

    made: list[tuple[str, Work, Work, tuple[float, ...]]] = [
        (
            "gae",
            our_gae,
            lambda: peer.gae(data.rewards, data.values, floats, GAMMA, LAMBDA),
            (whitened, 1.0),
        ),
        (
            "reinforce_plus_plus",
            our_returns,
            lambda: peer.reinforce_plus_plus(data.rewards, floats, GAMMA),
            (whitened, 1.0),
        ),
        (
            "grpo",
            grouped(group_relative),
            lambda: peer.grpo(data.rewards, floats, names)[:1],
            (((GROUP - 1) / GROUP) ** 0.5,),
        ),
        ("rloo", grouped(leave_one_out), lambda: peer.rloo(data.rewards, floats, names)[:1], ()),
        (
            "policy_loss",
            _gradient(our_policy_loss, data.logprobs),
            _gradient(their_policy_loss, data.logprobs),
            (),
        ),
        (
            "value_loss",
            _gradient(our_value_loss, data.new_values),
            _gradient(their_value_loss, data.new_values),
            (),
        ),
        (
            "kl",
            _gradient(lambda new: token_mean(kl_k3(new, data.old_logprobs, data.mask)), data.logprobs),
            _gradient(lambda new: peer.token_mean(peer.kl(new, data.old_logprobs), floats), data.logprobs),
            (),
        ),
    ]
    every = torch.ones(data.logits.shape, dtype=torch.bool)
    entropy = Pair(
        name="entropy",
        ours=_gradient(our_entropy, data.logits),
        theirs=_gradient(lambda logits: peer.entropy(logits).mean(), data.logits),
        mask=every,
    )
    return [
        *(Pair(name=n, ours=o, theirs=t, mask=data.mask, scales=scales) for n, o, t, scales in made),
        entropy,
    ]


def _gradient(loss: Callable[[Tensor], Tensor], at: Tensor) -> Work:
    def work() -> tuple[Tensor, ...]:
        inputs = at.clone().requires_grad_()
        return torch.autograd.grad(loss(inputs), inputs)

    return work
