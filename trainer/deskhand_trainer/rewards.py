"""What a turn earns: the outcome at the end, plus a process reward and less penalties that never outweigh it.

A process score taken as a plain positive sum pays for harmless loops. Two forms do not:

- "centred": a step as good as the average earns nothing, and the running sum is held inside ±cap with
  cap < ½: an agent that loops for ever earns at most `cap`, one that finishes at least 1 − `cap`, both
  discounted to the episode's end, as the outcome is.
- "potential": w·(γΦ(s_{h+1}) − Φ(s_h)), Φ the value of a state and 0 beyond the end (Ng, Harada & Russell,
  ICML 1999). Discounted it telescopes to −w·Φ(s_0), whatever was done: the best policy stays the best. Cut
  off at s_H an episode keeps w·γ^H·Φ(s_H) more, which with w < 1 is less than finishing as soon is worth.

Penalties (void turns, format, repetition, length) add up until they come to half of what the process reward
leaves between a success and a failure, and cost nothing from there on. They are discounted to the episode's
end, as its outcome is, so that after all of them a success is still worth more than any failure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from deskhand_trainer.choices import ProcessForm
from deskhand_trainer.shaping import RULES
from deskhand_trainer.shaping_config import ShapingConfig
from deskhand_trainer.types import Conduct


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardRule:
    """How the parts of a reward are weighed."""

    process_weight: float = 0.0
    """What a step scored 1 above the centre earns before the cap, or w of potentials, then below 1; 0 leaves
    the process reward out."""
    process_cap: float = 0.3
    """Bound of the running sum of process rewards of one trajectory, either way; below ½."""
    process_form: ProcessForm = "centred"
    """What a process reward model is paid for."""
    gamma: float = 1.0
    """Discount per turn, of process rewards and of penalties."""
    gate: float | None = None
    """Least outcome at which the rewards of single steps count: r = r_outcome + 1{r_outcome ≥ Δ}·Σ r̃ (G-RA,
    arXiv:2508.10548); None: they always do."""
    environment_weight: float = 0.0
    """Weight of the environment's own step rewards; 0 where they repeat the outcome (MiniWoB++)."""
    progress_bonus: float = 0.0
    """Weight of what a later attempt scored above the first: α·(r₂ − r₁) (SCoRe, arXiv:2409.12917 §5.2).
    Attempts then count each by itself (`estimates.by_attempt`), and each earns its own score."""
    information_weight: float = 0.0
    """Weight of how much likelier a turn made the right answer (IGPO, arXiv:2510.14967)."""
    shaping: ShapingConfig = field(default_factory=ShapingConfig)
    """Weights of the penalties."""

    @property
    def penalty_cap(self) -> float:
        """What the penalties of one trajectory come to at most: half of what is left of the outcome's 1."""
        if self.process_weight == 0:
            return 0.5
        return (1.0 - (self.process_weight if self.process_form == "potential" else 2 * self.process_cap)) / 2

    def __post_init__(self) -> None:
        if not 0.0 <= self.process_cap < 0.5:
            raise ValueError(
                f"process_cap must be in [0, 0.5) so that finishing always pays, got {self.process_cap}"
            )
        if self.process_weight < 0:
            raise ValueError(f"process_weight must not be negative, got {self.process_weight}")
        if self.process_form == "potential" and self.process_weight >= 1:
            raise ValueError(
                f"process_weight must be below 1 for potentials so that finishing always pays, got "
                f"{self.process_weight}"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnReward:
    """Reward of one turn and what it is made of."""

    total: float
    parts: tuple[tuple[str, float], ...]
    """("outcome", …), ("process", …), ("environment", …), ("information", …), ("progress", …), and penalties,
    none above 0, by the names of `RULES`: only those in use; they add up to `total`."""


def turn_rewards(
    rule: RewardRule,
    *,
    turns: int,
    outcome: float,
    process: Sequence[float] | None = None,
    centre: float = 0.5,
    potentials: Sequence[float] | None = None,
    environment: Sequence[float] | None = None,
    information: Sequence[float] | None = None,
    conduct: Sequence[Conduct] | None = None,
    failed: Sequence[tuple[int, float | None]] = (),
) -> tuple[TurnReward, ...]:
    """Reward of every turn of one trajectory.

    Args:
        rule: the weights.
        turns: how many turns it had.
        outcome: the verifier's score, 0 to 1; lands on the last turn.
        process: score of each step, 0 to 1; None when there is no reward model.
        centre: score that earns nothing; the mean over the batch keeps the expected process reward at 0.
        potentials: the value of each turn's state, 0 to 1, and of the state after the last, [turns + 1]: 0
            where the episode ended there; for the form "potential".
        environment: the environment's own reward of each turn.
        information: how much likelier each turn made the right answer.
        conduct: how each turn behaved; None: nobody looked, and nothing is taken.
        failed: of each attempt before the last, the turn that it ended with and its score; None: nobody
            knows it, and nothing is paid for it or for what later ones gained over it.

    Returns:
        One `TurnReward` per turn, in order.

    Raises:
        ValueError: a sequence has another length than `turns`.
    """
    given_parts = (
        ("process rewards", process),
        ("environment rewards", environment),
        ("information rewards", information),
        ("turns of conduct", conduct),
    )
    for name, given in given_parts:
        if given is not None and len(given) != turns:
            raise ValueError(f"{len(given)} {name} for {turns} turns")
    if potentials is not None and len(potentials) != turns + 1:
        raise ValueError(f"{len(potentials)} potentials for {turns} turns and the state after them")
    counts = rule.gate is None or outcome >= rule.gate
    steps = _process(rule, process, centre, potentials)
    taken = penalties(conduct or (), rule.shaping, cap=rule.penalty_cap, gamma=rule.gamma)
    attempts = {**(dict(failed) if rule.progress_bonus > 0 else {}), turns - 1: outcome}
    gains = _gains(attempts)
    rewards: list[TurnReward] = []
    for h in range(turns):
        parts = [("outcome", attempts.get(h) or 0.0)]
        if steps and rule.process_weight > 0:
            parts.append(("process", steps[h] if counts else 0.0))
        if environment is not None and rule.environment_weight != 0:
            own = rule.environment_weight * environment[h]
            parts.append(("environment", own if counts else 0.0))
        if information is not None and rule.information_weight != 0:
            parts.append(("information", rule.information_weight * information[h] if counts else 0.0))
        if rule.progress_bonus > 0:
            parts.append(("progress", rule.progress_bonus * gains.get(h, 0.0)))
        parts += [(name, amounts[h] if counts else 0.0) for name, amounts in taken.items()]
        rewards.append(TurnReward(total=sum(p for _, p in parts), parts=tuple(parts)))
    return tuple(rewards)


def _gains(attempts: Mapping[int, float | None]) -> dict[int, float]:
    """By the turns that later attempts end with, what they scored above the first, where both are known.

    Args:
        attempts: what each scored, by the turn that it ended with, in order.
    """
    (_, first), *later = attempts.items()
    if first is None:
        return {}
    return {turn: score - first for turn, score in later if score is not None}


def _process(
    rule: RewardRule, scores: Sequence[float] | None, centre: float, potentials: Sequence[float] | None
) -> list[float]:
    """Of each turn; empty where there is no reward model."""
    if rule.process_form == "potential":
        return [rule.process_weight * d for d in potential_differences(potentials or (), gamma=rule.gamma)]
    steps = capped_steps([rule.process_weight * (s - centre) for s in scores or ()], cap=rule.process_cap)
    return _to_the_end(steps, gamma=rule.gamma)


def penalties(
    conduct: Sequence[Conduct], shaping: ShapingConfig, *, cap: float, gamma: float = 1.0
) -> dict[str, list[float]]:
    """What is taken from every turn, by the rule: at most `cap` in all, and that discounted to the last turn.

    Returns:
        [H] each, none above 0, of the rules in use; empty without turns.
    """
    weights = {name: weight for name in RULES if (weight := getattr(shaping, name)) > 0}
    owed = [-weight * RULES[name](turn, shaping) for turn in conduct for name, weight in weights.items()]
    paid = capped_steps(owed, cap=cap)
    each = {name: paid[place :: len(weights)] for place, name in enumerate(weights)}
    return {name: _to_the_end(own, gamma=gamma) for name, own in each.items() if own}


def potential_differences(potentials: Sequence[float], *, gamma: float) -> list[float]:
    """γΦ(s_{h+1}) − Φ(s_h) (Ng, Harada & Russell, ICML 1999, theorem 1).

    Args:
        potentials: [H + 1], the last of the state after the last turn.

    Returns:
        [H]; empty for fewer than two potentials.
    """
    return [gamma * after - before for before, after in pairwise(potentials)]


def _to_the_end(amounts: Sequence[float], *, gamma: float) -> list[float]:
    """What a reward is to be that is paid at each turn and counts as if it were paid at the last."""
    left = reversed(range(len(amounts)))
    return [amount * gamma**turns for amount, turns in zip(amounts, left, strict=True)]


def capped_steps(amounts: Sequence[float], *, cap: float) -> list[float]:
    """The same increments, cut wherever their running sum would leave [−cap, cap]."""
    total, steps = 0.0, list[float]()
    for amount in amounts:
        held = min(cap, max(-cap, total + amount))
        steps.append(held - total)
        total = held
    return steps
