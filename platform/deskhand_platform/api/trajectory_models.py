"""Recorded episodes on the wire."""

from __future__ import annotations

from pydantic import BaseModel

from deskhand_agent.types import Failure, ReviewVerdict, StopReason
from deskhand_platform.api.models import JsonObject, Page
from deskhand_sandbox.types import Split


class ImageRef(BaseModel):
    """A picture to be fetched from `url`."""

    digest: str
    format: str
    width_px: int
    height_px: int
    url: str


class ActionModel(BaseModel):
    """An action, ready to be drawn over the screenshot it was decided on."""

    type: str
    """Name of the action: "click", "type_text", …"""
    text: str
    """The action in the agent's grammar, for a person."""
    points: list[tuple[int, int]]
    """Where on the screenshot, in its pixels: one for a click, the path for a drag, none for keys."""
    arguments: JsonObject


class TrajectorySummary(BaseModel):
    id: str
    task_id: str
    seed: int
    instruction: str
    policy_id: str
    policy_update: int
    group_id: str | None
    split: Split
    labels: dict[str, str]
    started_at_s: float
    ended_at_s: float | None
    """None while it runs, or when its process died."""
    turns: int
    reward: float
    """Sum of the environment's rewards."""
    success: bool | None
    """None without a verdict."""
    score: float | None
    stop_reason: StopReason | None
    failure: Failure | None
    last_image: ImageRef | None
    """The screen after the last action; None while it runs, or where none was kept."""


class TrajectoryPage(Page[TrajectorySummary]):
    """Some trajectories, newest first."""

    unreadable: tuple[str, ...] = ()
    """Ids of those that belong here and cannot be read; `deskhand flywheel fsck` says why."""


class TrajectoryDetail(TrajectorySummary):
    final_image: ImageRef | None
    """The screen after the last action."""
    outcome_detail: str
    failure_detail: str


class Timings(BaseModel):
    model_ms: float
    act_ms: float
    settle_ms: float


class ScoreModel(BaseModel):
    step_index: int
    score: float
    scorer: str
    rationale: str | None


class ReviewModel(BaseModel):
    verdict: ReviewVerdict
    by: str | None
    reason: str
    proposed: list[ActionModel]
    """What the policy would have done, where they replaced it."""


class StepModel(BaseModel):
    """One turn."""

    index: int
    image: ImageRef
    """What was on the screen when the turn was decided."""
    url: str | None
    settled: bool
    text: str
    """The reply exactly as sampled."""
    thought: str | None
    actions: list[ActionModel]
    error: str | None
    """Why no action could be read from the reply."""
    action_error: str | None
    """Why an action could not be carried out."""
    answer: str | None
    reward: float
    value: float | None
    """What the critic expected."""
    entropy: float | None
    trainable: bool
    reply_tokens: int | None
    timings: Timings
    finished_at_s: float
    review: ReviewModel | None
    """What a person made of it before it was carried out."""
    scores: list[ScoreModel]


class StepPage(BaseModel):
    """Some of a trajectory's turns, in order."""

    items: list[StepModel]
    offset: int
    """Index of the first turn asked for."""
    total: int
    """Turns the trajectory has so far."""
