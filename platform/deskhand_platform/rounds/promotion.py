"""Which of a round's policies the next round starts from."""

from __future__ import annotations

import math
from dataclasses import dataclass

from deskhand_platform.rounds.book import RoundRecord
from deskhand_platform.rounds.config import PromoteConfig
from deskhand_platform.rounds.plan import VALIDATE_PROMOTED, VALIDATE_START
from deskhand_platform.rounds.table import SuccessRate, rate
from deskhand_platform.states import WorkState


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A policy with its success on validation seeds."""

    policy_id: str
    rate: SuccessRate
    new: bool
    """This round made it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What the round ends with."""

    policy_out: str | None
    """The policy chosen; the start policy when nothing was better."""
    promoted: bool
    """It is a new one."""
    reason: str
    """The figures, and why nothing was promoted when nothing was."""


def decide(record: RoundRecord, config: PromoteConfig) -> Verdict:
    """The round's best policy, if its figure is above those of its start and of the policy promoted before:
    by the gate "interval" so far that the 95 % interval of the difference is above 0.

    A round with neither has to be above 0: a policy that never succeeds is no place to go on from.
    """
    found = candidates(record, config.measure)
    new = [one for one in found if one.new]
    if not new:
        return _nothing(record, "no policy was measured")
    if record.policy_in is not None and all(one.policy_id != record.policy_in for one in found):
        return _nothing(record, f"{record.policy_in}, which the round started from, was not measured")
    old = max((one for one in found if not one.new), key=lambda one: one.rate.success, default=None)
    # of equals the earlier one: what was trained on top of it added nothing
    best = max(new, key=lambda one: one.rate.success)
    figures = ", ".join(f"{one.policy_id} {one.rate.success:.3f}" for one in found)
    told = f"{config.measure} success on validation seeds: {figures}"
    if old is not None and config.gate == "interval" and best.rate.success > old.rate.success:
        surely = least_gain(best.rate, old.rate)
        told += f"; the gain over {old.policy_id} is {best.rate.success - old.rate.success:.3f}, "
        told += f"at least {surely:.3f} with 95 % confidence"
        if surely <= 0:
            return _nothing(record, f"the gain may be luck; {told}")
    if best.rate.success > (0.0 if old is None else old.rate.success):
        return Verdict(policy_out=best.policy_id, promoted=True, reason=told)
    if old is None:
        return _nothing(record, f"no policy succeeded even once; {told}")
    return _nothing(record, f"no figure is above that of {old.policy_id}; {told}")


def _nothing(record: RoundRecord, why: str) -> Verdict:
    return Verdict(policy_out=record.policy_in, promoted=False, reason=f"nothing to promote: {why}")


def overtaken(record: RoundRecord, verdict: Verdict, other: str) -> Verdict:
    """The verdict where another policy was promoted meanwhile, and the round measured nothing beside it."""
    return _nothing(
        record,
        f"{other} was promoted meanwhile, and {verdict.policy_out} was not measured beside it; "
        f"promote it by hand if it is the better one; {verdict.reason}",
    )


def least_gain(new: SuccessRate, old: SuccessRate) -> float:
    """Low end of the 95 % interval of new − old, from their Wilson intervals (Newcombe 1998, method 10)."""
    gain = new.success - old.success
    return gain - math.hypot(new.success - new.low, old.high - old.success)


def candidates(record: RoundRecord, measure: str) -> tuple[Candidate, ...]:
    """The validated policies in the order they came to be."""
    found: list[Candidate] = []
    for phase in record.phases:
        measured = rate(phase.metrics, measure)
        done = phase.state is WorkState.DONE and phase.name.startswith("validate-")
        if done and measured is not None and phase.policy_in is not None:
            new = phase.name not in (VALIDATE_START, VALIDATE_PROMOTED)
            found.append(Candidate(policy_id=phase.policy_in, rate=measured, new=new))
    return tuple(found)
