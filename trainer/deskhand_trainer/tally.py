"""What one update did, counted over its minibatches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from deskhand_trainer.losses import kl_k3
from deskhand_trainer.types import TrainingSample


@dataclass(frozen=True, kw_only=True, slots=True)
class UpdateReport:
    """What one update did."""

    policy_loss: float
    value_loss: float
    entropy: float
    """Mean token entropy in nats."""
    kl_per_turn: float
    """Mean over turns of the summed k3 estimate between the drawing and the updated policy, last epoch."""
    kl_reference: float = math.nan
    """What the KL penalty weighs: mean k3 estimate to the reference (arXiv:2402.03300, equation 4) over
    tokens, those it leaves free as 0. NaN where none is held."""
    clip_fraction: float
    """Share of ratios whose gradient the clip took, all epochs."""
    ratio_mean: float
    ratio_max: float
    logprob_gap: float
    """Mean |Δ log-prob| between drawing and first scoring, of turns that the weights of before the first step
    drew: 0 when engine and trainer agree; `exp` of it above 1.05 is an alarm. NaN where there is none."""
    actor_grad_norm: float
    critic_grad_norm: float
    bias_norm: float = 0.0
    """Mean norm of the gradient that the clip took away, where the update is scaled by it; else 0."""
    bias_scaled: float = 0.0
    """Share of the steps in which that norm was above 1, so that the policy's gradient was scaled down."""
    optimizer_steps: int
    skipped_steps: int = 0
    """Steps not taken because their gradient was not finite."""
    image_encoder_calls: int = 0
    """Pictures that the vision tower was run on, in the steps taken."""
    effective_share: float = math.nan
    """(Σw)² / (N·Σw²) of the importance weights of the tokens that the first step learns from, before it: 1
    when all are alike. NaN where the trainer had scored them, or the policy is held."""
    held: bool = False
    """The policy stayed as it was: nothing was to be learned, or the critic alone had its turn."""


class Tally:
    """Sums over the minibatches of an update."""

    def __init__(self) -> None:
        self.policy_loss = self.value_loss = self.entropy = 0.0
        self.actor_grad_norm = self.critic_grad_norm = 0.0
        self.gap, self.gap_tokens, self.steps = 0.0, 0, 0
        self.ratio_sum, self.ratio_max, self.ratios, self.clipped = 0.0, 1.0, 0, 0
        self.kl, self.kl_turns = 0.0, 0
        self.kl_reference, self.referred = 0.0, 0
        self.weights, self.weights_squared, self.weighed = 0.0, 0.0, 0
        self.bias_norm, self.bias_scaled, self.skipped, self.pictures = 0.0, 0, 0, 0

    def begin_epoch(self) -> None:
        self.kl, self.kl_turns = 0.0, 0

    def count_ratios(self, ratio: Tensor, clipped: Tensor) -> None:
        self.ratio_sum += ratio.sum().item()
        self.ratio_max = max(self.ratio_max, ratio.max().item() if ratio.numel() else 1.0)
        self.ratios += ratio.numel()
        self.clipped += int(clipped.sum().item())

    def count_first_scores(self, samples: Sequence[TrainingSample]) -> None:
        """How far engine and trainer are apart, of turns with the `old_logprobs` of the weights that drew
        them."""
        for sample in samples:
            pairs = zip(sample.old_logprobs, sample.behaviour_logprobs, strict=True)
            self.gap += sum(abs(ours - drawn) for ours, drawn in pairs)
            self.gap_tokens += len(sample.old_logprobs)

    def count_drift(
        self, logprobs: Tensor, drawn_logprobs: Tensor, mask: Tensor, *, compared: Tensor | None
    ) -> None:
        """How far the policy has moved from the one that drew the replies; [turns, tokens] each.

        Args:
            compared: tokens that the engine drew by the very weights they are scored with, before any step.
        """
        self.kl += kl_k3(drawn_logprobs, logprobs, mask).sum().item()
        self.kl_turns += int(mask.any(-1).sum().item())
        if compared is not None:
            gaps = (logprobs - drawn_logprobs).abs()[compared]
            self.gap += gaps.sum().item()
            self.gap_tokens += gaps.numel()

    def count_reference(self, kl: Tensor) -> None:
        """The mean over a minibatch, or a micro-batch's part of it; []."""
        self.kl_reference += kl.item()
        self.referred += 1

    def count_weights(self, logprobs: Tensor, drawn_logprobs: Tensor, mask: Tensor) -> None:
        """How unlike the importance weights are of tokens scored before any step."""
        weights = (logprobs - drawn_logprobs)[mask].double().exp()
        self.weights += weights.sum().item()
        self.weights_squared += weights.square().sum().item()
        self.weighed += weights.numel()

    def add(self, part: Tally) -> None:
        """Take up what a micro-batch saw."""
        for name, value in vars(part).items():
            if name == "ratio_max":
                self.ratio_max = max(self.ratio_max, value)
            else:
                setattr(self, name, getattr(self, name) + value)

    def report(self, *, held: bool) -> UpdateReport:
        steps = max(1, self.steps)
        told = self.weighed > 0 and not held
        return UpdateReport(
            policy_loss=self.policy_loss / steps,
            value_loss=self.value_loss / steps,
            entropy=self.entropy / steps,
            kl_per_turn=self.kl / max(1, self.kl_turns),
            kl_reference=self.kl_reference / steps if self.referred else math.nan,
            clip_fraction=self.clipped / max(1, self.ratios),
            ratio_mean=self.ratio_sum / self.ratios if self.ratios else 1.0,
            ratio_max=self.ratio_max,
            logprob_gap=self.gap / self.gap_tokens if self.gap_tokens else math.nan,
            actor_grad_norm=self.actor_grad_norm / steps,
            critic_grad_norm=self.critic_grad_norm / steps,
            effective_share=self.weights**2 / (self.weighed * self.weights_squared) if told else math.nan,
            bias_norm=self.bias_norm / steps,
            bias_scaled=self.bias_scaled / steps,
            optimizer_steps=self.steps,
            skipped_steps=self.skipped,
            image_encoder_calls=self.pictures,
            held=held,
        )
