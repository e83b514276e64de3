"""A policy gradient that is smaller the more of it was clipped: S-PPO and ST-PPO (arXiv:2511.20718).

Clipped terms no longer pull back what the step before moved too far: the gradient is biased by their mass
C = E[1{clipped}·w·A·∇log π]. The published equation could not be verified; the policy's gradient is divided
by max(1, ‖C‖), with C of the whole minibatch, so that no split into micro-batches changes it.

The limit of this is that AdamW steps after it. It divides a gradient by the root of its own moving mean
square, and with that a factor that stays: a steady bias of whatever size leaves the steps about as long as
they were. What is shortened is the step of a minibatch that is clipped more than those before it, and what
such a minibatch weighs in the moments. The clip of the gradient's norm stands between the two, and sees the
scaled gradient: where it binds either way, nothing of the scaling is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from deskhand_trainer.sharding import whole
from deskhand_trainer.side_by_side import add_gradients

GRADIENTS = partial(torch.autograd.grad, allow_unused=True)


@dataclass(frozen=True, kw_only=True, slots=True)
class BiasGradients:
    """Of one micro-batch, one per parameter."""

    policy: Sequence[Tensor | None]
    mass: Sequence[Tensor | None]


class ClippingBias:
    """Sums a minibatch's policy gradient and clipped mass, and adds the one scaled by the other."""

    def __init__(
        self,
        parameters: Sequence[torch.nn.Parameter],
        differentiate: Callable[..., Sequence[Tensor | None]] = GRADIENTS,
    ) -> None:
        """
        Args:
            parameters: the policy's.
            differentiate: loss, parameters and `retain_graph` -> gradients, None where it is not reached.
        """
        self._parameters, self._differentiate = parameters, differentiate
        self._policy = [_Sum() for _ in parameters]
        self._mass = [_Sum() for _ in parameters]

    def gradients(self, policy: Tensor, mass: Tensor) -> BiasGradients:
        """Differentiate both; the graph stays for whatever else hangs on it.

        Args:
            policy: the micro-batch's share of the policy loss.
            mass: Σ weight·w·A over its clipped terms.
        """
        parameters = self._parameters
        biased: Sequence[Tensor | None] = [None] * len(parameters)
        if mass.requires_grad:
            biased = self._differentiate(mass, parameters, retain_graph=True)
        own = self._differentiate(policy, parameters, retain_graph=True)
        return BiasGradients(policy=own, mass=biased)

    def add(self, part: BiasGradients) -> None:
        """Take up a micro-batch."""
        add_gradients(self._policy, part.policy)
        add_gradients(self._mass, part.mass)

    def apply(self) -> float:
        """Add the scaled policy gradient to the parameters' own; ‖C‖."""
        found = [each.grad for each in self._mass if each.grad is not None]
        norm = float(torch.stack([whole(g.norm()) for g in found]).norm()) if found else 0.0
        scale = 1.0 / max(1.0, norm)
        scaled = [None if each.grad is None else each.grad * scale for each in self._policy]
        add_gradients(self._parameters, scaled)
        return norm


@dataclass(slots=True)
class _Sum:
    """Where gradients add up beside a parameter's own."""

    grad: Tensor | None = None
