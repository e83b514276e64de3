"""What goes over HTTP about what people say of episodes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from deskhand_platform.api.models import Incoming

LONGEST = 10_000
"""Characters of a reason or a note."""


class MarkBody(Incoming):
    score: Annotated[float, Field(ge=0, le=1)]
    """1: good, 0: bad, or between."""
    reason: Annotated[str, Field(max_length=LONGEST)] = ""


class NoteBody(Incoming):
    text: Annotated[str, Field(min_length=1, max_length=LONGEST)]


class MarkModel(BaseModel):
    """What one person thinks of one step, or of the whole episode."""

    annotator: str
    step_index: int | None
    """None: of the episode."""
    score: float
    reason: str


class NoteModel(BaseModel):
    """What one person thought aloud about a step."""

    id: str
    trajectory_id: str
    step_index: int
    author: str
    text: str
    created_at_s: float
    edited_at_s: float | None


class Annotations(BaseModel):
    """Everything people said of one episode, by step."""

    marks: list[MarkModel]
    notes: list[NoteModel]
