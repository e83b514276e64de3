"""How much is computed at test time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Deliberation:
    """What a policy does for a better turn or a better end than its first reply gives; by default nothing."""

    samples: int = 1
    """Replies drawn for each turn, in one batch, of which one is acted, 64 at most; a greedy policy draws
    one."""
    choose: Literal["majority", "judge"] = "majority"
    """Which: what most of them say, or what a process reward model scores highest (best of N)."""
    radius_px: int = 10
    """Clicks no further apart than this are the same vote."""
    checks: int = 0
    """Times in an episode that "finished" may be doubted: where the check says no, the agent is told and goes
    on."""
    attempts: int = 1
    """At the task, each from its start state, 16 at most: where the check says that one failed, the agent is
    told to try again."""
    check: Literal["model", "judge"] = "model"
    """Who is asked whether it is done: the model itself, or a process reward model about the last step."""
    least_score: float = 0.5
    """Score of a last step that counts as done."""
    judge: str = ""
    """Id in the store of the process reward model."""
    turns: int = 0
    """That an episode, or each of its attempts, may have, 1,000 at most; 0: as many as the task says."""

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("samples", self.samples, 1, 64),
            ("attempts", self.attempts, 1, 16),
            ("checks", self.checks, 0, 1000),
            ("radius_px", self.radius_px, 0, 10_000),
            ("turns", self.turns, 0, 1000),
        ):
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: give {least} to {most}")
        if not 0 <= self.least_score <= 1:
            raise ValueError(f"least_score is {self.least_score}: give 0 to 1")
        if self.judges and not self.judge:
            raise ValueError("judge: name the process reward model of the store that scores")
        if self.judge and not self.judges:
            raise ValueError(f"judge: {self.judge} is asked nothing; set choose or check to 'judge'")

    @property
    def judges(self) -> bool:
        """Whether a process reward model is needed."""
        return (self.samples > 1 and self.choose == "judge") or (self.checks_itself and self.check == "judge")

    @property
    def checks_itself(self) -> bool:
        """Whether somebody is asked if the task is done."""
        return self.checks > 0 or self.attempts > 1
