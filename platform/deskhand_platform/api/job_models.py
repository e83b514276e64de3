"""What goes over HTTP about jobs: work on the store that takes its time."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from deskhand_platform.api.models import Incoming, JsonObject
from deskhand_platform.states import WorkState


class FsckOrder(Incoming):
    """Check every row and blob."""

    kind: Literal["fsck"] = "fsck"
    repair: bool = False
    """Mend what can be; drops nothing whole."""
    spare: Annotated[str, Field(max_length=1000)] | None = None
    """URL of a blob store, such as a backup, to take lost blobs from; one of the setting `jobs.spares`."""
    settle_hours: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    """Blobs and silent episodes younger than this are passed over."""


class GcOrder(Incoming):
    """Drop old trajectories by a rule, and blobs nothing cites; never what a dataset, policy or run cites."""

    kind: Literal["gc"] = "gc"
    rule: JsonObject | None = Field(
        default=None, examples=[{"drop": [{"older_than_days": 30, "where": {"outcome": "failure"}}]}]
    )
    """What may go; None: blobs that nothing cites."""
    apply: bool = False
    """Drop it; else only what would go is said."""


JobOrder: TypeAlias = Annotated[FsckOrder | GcOrder, Field(discriminator="kind")]
JobKind = Literal["fsck", "gc"]


class JobModel(BaseModel):
    """Something to be done with the store, how far it is, and what came of it."""

    id: str
    kind: JobKind
    order: JsonObject
    """What was asked for."""
    state: WorkState
    reason: str | None
    """Why it came to nothing."""
    phase: str
    """What it does now."""
    done: int
    total: int
    """Of what it does now; 0 of 0 when not known."""
    by: str
    """Who asked for it."""
    asked_at_s: float
    ended_at_s: float | None
    result: JsonObject | None = None
    """Of one that is done, where a single one is asked for."""


class JobLog(BaseModel):
    """A piece of what a job wrote."""

    text: str
    offset: int
    """Where the piece begins, in bytes."""
    next_offset: int
    """Where the next one does."""
    size: int
    """Bytes there are by now."""
    over: bool
    """Nothing more will come."""
