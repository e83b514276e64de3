"""What can be said about whose verdict an episode is paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_agent.addresses import names_a_server
from deskhand_trainer.config_parsing import bounds


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeConfig:
    """Whose verdict on an episode is its outcome reward."""

    by: Literal["verifier", "judge", "verifier_then_judge"] = "verifier"
    """The task's own verifier, a vision-language model that reads the episode (UI-TARS-2's generative outcome
    reward), or the model where the task has no verifier."""
    judge: str = ""
    """https://HOST/v1 of the OpenAI-compatible endpoint that the model is behind."""
    model: str = ""
    """The name of the model."""
    rubric: str = ""
    """How to score, in words; none: the flywheel's own for outcomes."""
    success_from: float = field(default=0.8, metadata=bounds(0, 1))
    """Least score of the judge that counts as a success."""
    within_s: float = field(default=120.0, metadata=bounds(0.01))
    """Longest the judge may take for an episode, from being asked; later the episode is void. Waiting for its
    turn, or for the endpoint's rate limit, does not count."""
    at_once: int = field(default=8, metadata=bounds(1, 512))
    """Episodes it is asked about at a time."""

    def __post_init__(self) -> None:
        if self.judge and not names_a_server(self.judge):
            raise ValueError(f"judge {self.judge!r} is no https://HOST/v1")
        if self.by == "verifier" and (self.judge or self.model):
            raise ValueError("by: give judge or verifier_then_judge, or leave the judge out")
        if self.by != "verifier" and not (self.judge and self.model):
            raise ValueError("judge and model: give both, or leave the outcome to the verifier")
