"""What goes over HTTP about tasks as they go on: in streams, and to webhooks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from deskhand_platform.api.models import Incoming, OutcomeModel
from deskhand_platform.auth import OWNER
from deskhand_platform.states import WorkState
from deskhand_platform.webhooks.about import About


class TaskEvent(BaseModel):
    """A submitted task came into another state."""

    event_id: int
    """Rises from event to event: a stream goes on after it, a receiver knows by it what it has seen."""
    at_s: float
    id: str
    """Of the submitted task."""
    task_id: str
    seed: int
    state: WorkState
    owner: str = OWNER
    """Who submitted it."""
    labels: dict[str, str]
    attempts: int
    trajectory_id: str | None
    outcome: OutcomeModel | None
    reason: str | None
    """Why it failed, was cancelled, waits again, or ended without an outcome."""


ENDINGS = (WorkState.DONE, WorkState.FAILED, WorkState.CANCELLED)


class WebhookBody(Incoming):
    """Who is to be told, and of what."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "example": {"url": "https://example.com/hooks/deskhand", "labels": {"batch": "nightly"}}
        },
    )

    url: Annotated[str, Field(max_length=2000)]
    """Where a `POST` goes; public, unless the setting `webhooks.networks` allows more."""
    about: About = About.TASKS
    """What it is told of."""
    labels: dict[str, str] = Field(default_factory=dict)
    """Only of tasks that have all of these."""
    states: Annotated[list[WorkState], Field(min_length=1, default_factory=lambda: [*ENDINGS])]
    """When a task comes into one of these."""


class WebhookModel(BaseModel):
    """Somebody who is told what becomes of tasks, or of alarms."""

    id: str
    owner: str | None = None
    """Who made it: it is told what they may see. None: it was made before webhooks had owners."""
    url: str
    about: About
    labels: dict[str, str]
    states: list[WorkState]
    created_at_s: float


class NewWebhook(WebhookModel):
    secret: str
    """What is sent is signed with it; shown this once."""


class DeliveryModel(BaseModel):
    """One thing a webhook is told."""

    id: str
    """The receiver's `webhook-id`, the same each time it is sent."""
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    due_at_s: float | None
    """When it is sent next; None once it has arrived or been given up."""
    reason: str | None
    """What came of the latest attempt, where it was not delivered."""
    payload: dict[str, JsonValue]
    """{"type": "task.done", "data": a `TaskEvent`}, or {"type": "alarm.raised", "data": the alarm}."""
    created_at_s: float
    ended_at_s: float | None
