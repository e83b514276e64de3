"""What to look at while a policy trains, and when to raise an alarm.

The limits are where training went wrong when it did: rare successes with large steps damage a policy.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from deskhand_agent.types import Step, StopReason
from deskhand_sandbox.types import JsonValue
from deskhand_trainer.batches import Batch
from deskhand_trainer.rollouts import Collected
from deskhand_trainer.tally import UpdateReport
from deskhand_trainer.types import Episode

SUCCESS_LOW = 0.10
CLIP_HIGH = 0.30
KL_HIGH = 0.15
FALLEN = 0.10
"""Large steps are alarming where success lies so far below what it was: a policy that rises takes many."""
GAP_HIGH = 1.05
"""exp(mean |Δ log-prob|) between engine and trainer: above it they compute different things."""

UNANSWERED_HIGH = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSplit:
    """Where an iteration's wall clock went, in seconds."""

    environment_s: float
    """Rollouts, less the time the model was computing."""
    inference_s: float
    """While rollouts were waited for; what a stream's engine computes beside the update is none of it."""
    training_s: float

    @property
    def seconds(self) -> float:
        return self.environment_s + self.inference_s + self.training_s

    def fractions(self) -> dict[str, JsonValue]:
        total = max(1e-9, self.seconds)
        return {
            "time_environment": self.environment_s / total,
            "time_inference": self.inference_s / total,
            "time_training": self.training_s / total,
        }


class Stopwatch:
    """Tells where the time goes from its making on: rollouts until `rolled`, then training."""

    def __init__(self, busy_s: Callable[[], float]) -> None:
        """
        Args:
            busy_s: for how long the engine has computed so far.
        """
        self._busy_s = busy_s
        self._began, self._busy_before_s = time.monotonic(), busy_s()
        self._rolled, self._inference_s = self._began, 0.0

    def rolled(self) -> None:
        """The rollouts are in."""
        self._rolled = time.monotonic()
        # a reply under way at the begin is counted whole
        self._inference_s = min(self._busy_s() - self._busy_before_s, self._rolled - self._began)

    def split(self) -> TimeSplit:
        """Until now."""
        return TimeSplit(
            environment_s=self._rolled - self._began - self._inference_s,
            inference_s=self._inference_s,
            training_s=time.monotonic() - self._rolled,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Something a person should look at."""

    name: str
    data: Mapping[str, JsonValue]


def success_rate(episodes: Sequence[Episode]) -> float:
    """Share of the episodes that succeeded."""
    return sum(e.success for e in episodes) / len(episodes)


def iteration_metrics(
    episodes: Sequence[Episode], batch: Batch, report: UpdateReport, times: TimeSplit, *, lr: float
) -> dict[str, JsonValue]:
    """The figures of one iteration, flat."""
    turns = [len(e.samples) for e in episodes]
    tokens = sum(len(s.reply_ids) for e in episodes for s in e.samples)
    share = report.effective_share if batch.effective_share is None else batch.effective_share
    return {
        "success_sampled": success_rate(episodes),
        "episodes": len(episodes),
        "turns": sum(turns),
        "mean_turns": sum(turns) / len(turns),
        "tokens_per_turn": tokens / sum(turns),
        "void_turns": (void := sum(e.void_turns for e in episodes)),
        "void_share": void / sum(turns),
        "over_turn_share": sum(e.stop_reason is StopReason.TURN_LIMIT for e in episodes) / len(episodes),
        "questions": sum(e.questions for e in episodes),
        "unanswered": sum(e.unanswered for e in episodes),
        "truncated": sum(e.stop_reason.truncated for e in episodes),
        "retried": sum(e.samples[-1].attempt > 0 for e in episodes),
        "doomed": sum(e.stop_reason is StopReason.DOOMED for e in episodes),
        **{f"reward_{name}": value for name, value in batch.reward_parts},
        "explained_variance": batch.explained_variance,
        "policy_loss": report.policy_loss,
        "value_loss": report.value_loss,
        "entropy": report.entropy,
        "kl_per_turn": report.kl_per_turn,
        **({} if math.isnan(report.kl_reference) else {"kl_reference": report.kl_reference}),
        "clip_fraction": report.clip_fraction,
        "ratio_mean": report.ratio_mean,
        "ratio_max": report.ratio_max,
        "logprob_gap": report.logprob_gap,
        "actor_grad_norm": report.actor_grad_norm,
        "critic_grad_norm": report.critic_grad_norm,
        "bias_norm": report.bias_norm,
        "bias_scaled": report.bias_scaled,
        "replayed": batch.replayed,
        **({} if math.isnan(share) else {"effective_share": share}),
        "learned_turns": sum(s.in_policy_loss for s in batch.samples),
        "optimizer_steps": report.optimizer_steps,
        "skipped_steps": report.skipped_steps + batch.skipped_steps,
        "image_encoder_calls": report.image_encoder_calls,
        "policy_held": float(report.held),
        "lr": lr,
        "seconds": times.seconds,
        **times.fractions(),
    }


def rollout_metrics(collected: Collected, episodes: Sequence[Episode], update: int) -> dict[str, JsonValue]:
    """What an iteration's rollouts say of themselves: what was dropped, in all and by kind of failure; how
    sure the policy was, by kind of action; and how many updates old the weights were that drew the turns.

    Args:
        update: what the weights to be trained have seen.
    """
    ages = [update - s.policy_update for e in episodes for s in e.samples if s.reply_ids]
    old: dict[str, JsonValue] = {"staleness_mean": fmean(ages), "staleness_max": max(ages)} if ages else {}
    return {
        "dropped": sum(collected.dropped.values()),
        **{f"dropped_{kind}": count for kind, count in collected.dropped.items()},
        **collected.judging,
        **entropy_by_action(step for t in collected.trajectories for step in t.steps),
        **old,
    }


def entropy_by_action(steps: Iterable[Step]) -> dict[str, JsonValue]:
    """Mean token entropy of the replies, in nats, by the kind of the first action they hold.

    Args:
        steps: those whose engine measured no entropy are not in it.
    """
    found: dict[str, list[float]] = {}
    for step in steps:
        done = step.decision.completion
        if done is not None and done.entropy is not None:
            found.setdefault(_kind(step), []).append(done.entropy)
    return {f"entropy_{kind}": fmean(each) for kind, each in sorted(found.items())}


def _kind(step: Step) -> str:
    """`double_click`, …; `summary` and `void` where there is no action."""
    if not step.decision.actions:
        return "void" if step.decision.void else "summary"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(step.decision.actions[0]).__name__).lower()


def alarms(
    episodes: Sequence[Episode], batch: Batch, report: UpdateReport, *, highest: float
) -> tuple[Alarm, ...]:
    """What of an iteration is past its limit.

    Args:
        highest: the most that an iteration's episodes succeeded so far.
    """
    large = "steps are too large: lower lr or epochs"
    rare = "PPO learns little from rare successes: start from a better policy"
    apart = "engine and trainer compute different log-probabilities"
    alone = "the user does not answer: look at the endpoint that plays them"
    asked = sum(e.questions for e in episodes)
    unanswered = sum(e.unanswered for e in episodes) / max(1, asked)
    skipped = report.skipped_steps + batch.skipped_steps
    success, gap = success_rate(episodes), math.exp(report.logprob_gap)
    fallen = success < highest - FALLEN
    found = (
        ("success_low", success < SUCCESS_LOW, success, SUCCESS_LOW, rare),
        ("clip_high", fallen and report.clip_fraction > CLIP_HIGH, report.clip_fraction, CLIP_HIGH, large),
        ("kl_high", fallen and report.kl_per_turn > KL_HIGH, report.kl_per_turn, KL_HIGH, large),
        ("logprob_gap", gap > GAP_HIGH, gap, GAP_HIGH, apart),
        ("unanswered", unanswered > UNANSWERED_HIGH, unanswered, UNANSWERED_HIGH, alone),
        ("not_finite", skipped > 0, float(skipped), 0.0, "steps were left out: lower lr or critic_lr"),
    )
    return tuple(
        Alarm(name=name, data={"value": value, "limit": limit, "advice": advice})
        for name, raised, value, limit, advice in found
        if raised
    )
