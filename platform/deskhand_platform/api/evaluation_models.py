"""What goes over HTTP about evaluations."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from deskhand_platform.api.models import Incoming
from deskhand_platform.evaluations.verdicts import Verdict
from deskhand_platform.states import WorkState


class MeasuredModel(BaseModel):
    """Success on one task, or on "all" of a suite, with its 95 % Wilson interval."""

    task: str
    mode: str
    """"sampled" or "greedy"."""
    success: float
    low: float
    high: float
    episodes: int


class EvaluationModel(BaseModel):
    """One policy on one suite of tasks."""

    id: str
    """Its events' subject is "run:" and this."""
    policy_id: str | None
    scripted: bool
    """The oracle was measured."""
    tasks: list[str]
    split: str
    round: str | None
    phase: str | None
    state: WorkState
    reason: str | None
    done: int
    total: int
    """Episodes done, and in all; 0 of 0 before it began."""
    asked_at_s: float
    ended_at_s: float | None
    rows: list[MeasuredModel]


class EvaluationOrder(Incoming):
    """A policy to be measured."""

    policy_id: Annotated[str, Field(max_length=64)] | None = None
    """A kept policy, or "deskhand-tiny"; None: the scripted oracle."""
    tasks: Annotated[list[str], Field(min_length=1, max_length=200)]
    episodes: Annotated[int, Field(ge=1, le=10_000)] = 32
    """Per task and mode."""
    modes: Annotated[list[Literal["sampled", "greedy"]], Field(min_length=1, max_length=2)] = Field(
        default_factory=lambda: ["sampled"]
    )
    split: Literal["test", "validation"] = "test"


class SuiteModel(BaseModel):
    """Tasks that are measured together."""

    name: str
    """Of the preset whose evaluation it is, "held-out", or as somebody called it."""
    tasks: list[str]
    own: bool
    """Somebody put it together: it can be replaced and deleted."""


class SuiteOrder(Incoming):
    """The tasks of a suite."""

    tasks: Annotated[
        list[str],
        Field(min_length=1, max_length=200, examples=[["miniwob/login-user", "miniwob/enter-text"]]),
    ]


class ComparisonModel(BaseModel):
    """One task in one mode, by two policies."""

    task: str
    mode: str
    split: str
    old: MeasuredModel
    new: MeasuredModel
    difference: float
    low: float
    high: float
    """Of the difference, new less old: Newcombe's 95 % interval."""
    verdict: Verdict
