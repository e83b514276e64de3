"""What goes over HTTP about one step in full, and about all steps in one figure each."""

from __future__ import annotations

from pydantic import BaseModel

from deskhand_platform.api.trajectory_models import ActionModel, ImageRef


class ReplyToken(BaseModel):
    """One sampled token."""

    id: int
    text: str | None
    """None where the tokenizer is not at hand."""
    logprob: float | None


class OtherReply(BaseModel):
    """A reply to the same request that was not acted."""

    text: str
    actions: list[ActionModel]
    rating: float | None


class StepInside(BaseModel):
    """What a model was shown for a step and what it said, to the token."""

    index: int
    prompt_ids: list[int]
    """Empty where they are unknown."""
    prompt: str | None
    """The same as text, each picture's run of tokens as one mark; None where the tokenizer is not at hand."""
    pictures: list[ImageRef]
    """What it was shown, in order."""
    temperature: float | None
    tokens: list[ReplyToken]
    """The reply; empty where its ids are unknown."""
    finish_reason: str | None
    notes: str
    """What it was told of earlier episodes."""
    summary: str | None
    """What it wrote in place of the turns before, where it was asked for that."""
    others: list[OtherReply]
    text_tree: str | None
    """Accessibility tree or outline of the page, where the observation had one."""
    terminal: str | None
    output: str | None
    dialog: str | None
    repairs: list[str]
    cost: dict[str, float]


class CurvesModel(BaseModel):
    """One figure of every step, in order."""

    rewards: list[float]
    values: list[float | None]
    """What the critic expected."""
    scores: dict[str, list[float | None]]
    """By scorer."""
    advantages: dict[str, list[float | None]]
    """Q − V by Monte-Carlo continuation, by labeller."""
