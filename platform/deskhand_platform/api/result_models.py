"""What goes over HTTP about tasks as they go on: in streams, and to webhooks."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from deskhand_platform.api.models import OutcomeModel
from deskhand_platform.states import WorkState


class TaskEvent(BaseModel):
    """A submitted task came into another state."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "event_id": 812, "at_s": 1767225600.0, "id": "0199b2c4a1d27c3e",
                "task_id": "miniwob/click-test", "seed": 3, "state": "done", "labels": {"batch": "nightly"},
                "attempts": 1, "trajectory_id": "0199b2c4b7e17d10", "reason": None,
                "outcome": {"score": 1.0, "success": True, "detail": "reward 1"},
            }
        }
    )  # fmt: skip

    event_id: int
    """Rises from event to event: a stream goes on after it, a receiver knows by it what it has seen."""
    at_s: float
    id: str
    """Of the submitted task."""
    task_id: str
    seed: int
    state: WorkState
    labels: dict[str, str]
    attempts: int
    trajectory_id: str | None
    outcome: OutcomeModel | None
    reason: str | None
    """Why it failed, was cancelled, waits again, or ended without an outcome."""
