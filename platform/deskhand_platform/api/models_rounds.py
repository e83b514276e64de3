"""What is sent to and by the API about operating rounds: their form, logs, promotions, schedules."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field, JsonValue

from deskhand_platform.api.models import Incoming, JsonObject, Preset
from deskhand_platform.rounds import DEFAULT
from deskhand_platform.rounds.promotion_kinds import PromotionKind


class RoundForm(BaseModel):
    """What a form that starts rounds is drawn from."""

    config_schema: JsonObject
    """JSON schema of a round's config: types, defaults, bounds, and help as descriptions."""
    presets: list[Preset]


class RoundClone(Incoming):
    overrides: JsonObject = Field(default_factory=dict[str, JsonValue])
    """Merged into the config of the round."""
    key: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    """Under which a second clone gives the same round."""


class RoundRetry(Incoming):
    phase: str | None = None
    """Where to begin; null: the first phase that is not done."""
    afresh: bool = False
    """Begin that phase anew, not at its checkpoint. One that was done is done anew in any case."""


class PhaseLog(BaseModel):
    """A piece of what a phase's run wrote to its standard output and error."""

    text: str
    offset: int
    """Where the piece begins, in bytes."""
    next_offset: int
    """Where the next one does."""
    size: int
    """Bytes there are by now."""
    over: bool
    """Nothing more will come."""


class PromotionBody(Incoming):
    policy_id: Annotated[str, Field(min_length=1, max_length=64)]
    """Rounds start from it from now on; one that was promoted before is gone back to."""
    reason: Annotated[str, Field(max_length=2000)]
    """For whoever reads the history."""


class PromotionModel(BaseModel):
    """One change of the policy that rounds start from."""

    id: int
    policy_id: str
    round_id: int | None
    """None where a person promoted."""
    kind: PromotionKind
    reason: str
    by: str
    at_s: float


class ScheduleBody(Incoming):
    """Either `cron` or `new_successes`."""

    preset: str = DEFAULT
    overrides: JsonObject = Field(default_factory=dict[str, JsonValue])
    cron: Annotated[str, Field(max_length=128)] | None = None
    """Five fields: minute, hour, day of month, month, day of week; "0 3 * * 1-5"."""
    timezone: Annotated[str, Field(max_length=64)] = "UTC"
    """In which `cron` is read, by its IANA name."""
    new_successes: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Successful episodes since the last round, of anybody, that begin one."""
    enabled: bool = True


class ScheduleModel(BaseModel):
    """Rounds that begin by themselves."""

    id: int
    preset: str
    overrides: JsonObject
    cron: str | None
    timezone: str
    new_successes: int | None
    successes: int | None
    """Successful episodes there are by now; None with `cron`."""
    enabled: bool
    next_at_s: float | None
    """None without `cron`, and while it is disabled."""
    last_at_s: float | None
    last_round: int | None
    note: str | None
    """Why the last time came to nothing."""
    created_at_s: float
