"""What people are asked to look at, and by what rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class DisagreementKind(StrEnum):
    """Who says otherwise than whom."""

    VERIFIER_JUDGE = "verifier_judge"
    """An outcome judge than the verifier."""
    VERIFIER_STEPS = "verifier_steps"
    """The scores of the last steps than the verifier."""
    JUDGE_STEPS = "judge_steps"
    """The scores of the last steps than an outcome judge."""
    STEP_SCORERS = "step_scorers"
    """Two scorers of one step, neither of them a person."""
    PEOPLE = "people"
    """Two people, of one step or of the whole episode."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One side of a disagreement."""

    scorer: str
    """"verifier", or a scorer's name."""
    score: float
    rationale: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """A step, or an episode, that a person should look at."""

    trajectory_id: str
    step_index: int | None
    """None: the whole episode."""
    kind: DisagreementKind
    strength: float
    """How far apart they are, times the weight of its kind: 0 to 1."""
    said: tuple[Said, ...]
    """The two sides, the lower one first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedReview:
    """A disagreement as it stands in the queue."""

    disagreement: Disagreement
    task_id: str
    instruction: str
    found_at_s: float
    found_by: FoundBy | None
    """None: by a version that kept no rules."""
    resolved_by: tuple[str, ...]
    """Annotators who have marked it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewPage:
    """One page of the queue, the strongest disagreements first."""

    items: tuple[QueuedReview, ...]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """When a kind of disagreement is one."""

    threshold: float
    """Scores so far apart, or farther; above 0, at most 1."""
    weight: float = 1.0
    """Times the distance it is the strength, by which the queue is ordered; above 0, at most 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundBy:
    """What put a disagreement into the queue."""

    threshold: float
    weight: float
    last_steps: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReviewRules:
    """All kinds that are looked for."""

    kinds: Mapping[DisagreementKind, Rule]
    last_steps: int
    """How many steps say how the episode came out."""

    def at_any_distance(self) -> ReviewRules:
        """Rules by which any two that speak of the same disagree."""
        return replace(self, kinds=dict.fromkeys(DisagreementKind, Rule(threshold=0.0)))

    def of(self, kind: DisagreementKind) -> FoundBy:
        """What stands in the queue beside a disagreement of a kind that is looked for."""
        rule = self.kinds[kind]
        return FoundBy(threshold=rule.threshold, weight=rule.weight, last_steps=self.last_steps)


@dataclass(frozen=True, kw_only=True, slots=True)
class RulesInForce:
    """The rules of a store."""

    rules: ReviewRules
    set_by: str | None
    """None: nobody has changed them, they are the flywheel's own."""
    set_at_s: float | None
