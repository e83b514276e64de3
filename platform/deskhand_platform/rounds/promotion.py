"""Which of a round's policies the next round starts from."""

from __future__ import annotations

from dataclasses import dataclass

from deskhand_platform.rounds.book import RoundRecord
from deskhand_platform.rounds.config import PromoteConfig
from deskhand_platform.rounds.table import SuccessRate, rate
from deskhand_platform.states import WorkState


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A policy with its success on validation seeds."""

    policy_id: str
    rate: SuccessRate


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the round ends with."""

    policy_out: str | None
    """The policy chosen; the start policy when nothing was as good."""
    promoted: bool
    """It is a new one."""
    reason: str


def better(new: SuccessRate, old: SuccessRate, tolerance: float) -> bool:
    """`new` is above `old` by its interval, or not worse than it by more than `tolerance`."""
    return new.low > old.high or new.success >= old.success - tolerance


def decide(record: RoundRecord, config: PromoteConfig) -> Verdict:
    """Walk the round's policies from its start to its end; each takes the place of a worse one before it."""
    found = candidates(record, config.measure)
    if not found:
        return Verdict(policy_out=record.policy_in, promoted=False, reason="nothing was evaluated")
    best = found[0]
    for one in found[1:]:
        if better(one.rate, best.rate, config.tolerance):
            best = one
    figures = ", ".join(f"{one.policy_id} {one.rate.success:.3f}" for one in found)
    return Verdict(
        policy_out=best.policy_id,
        promoted=best.policy_id != record.policy_in,
        reason=f"{config.measure} success on validation seeds: {figures}",
    )


def candidates(record: RoundRecord, measure: str) -> tuple[Candidate, ...]:
    """The validated policies in the order they came to be."""
    found: list[Candidate] = []
    for phase in record.phases:
        measured = rate(phase.metrics, measure)
        done = phase.state is WorkState.DONE and phase.name.startswith("validate-")
        if done and measured is not None and phase.policy_in is not None:
            found.append(Candidate(policy_id=phase.policy_in, rate=measured))
    return tuple(found)
