"""What goes over HTTP about alarms and the platform's present."""

from __future__ import annotations

from pydantic import BaseModel

from deskhand_platform.api.models import JsonObject, RoundSummary, SubmittedTask
from deskhand_platform.states import AlarmState


class AlarmModel(BaseModel):
    """Something a person should look at."""

    id: int
    subject: str
    """What it is about: "platform", "run:round-3-ppo"."""
    name: str
    """"no_rollouts", "failure_rate", "disk_low", "reward_collapse", "entropy_collapse", or a run's own."""
    state: AlarmState
    raised_at_s: float
    cleared_at_s: float | None
    acknowledged_at_s: float | None
    acknowledged_by: str | None
    times: int
    """How often it was raised before it was over."""
    data: JsonObject
    """Figures: "value", "limit", "unit", "advice", as far as there are."""


class PoolModel(BaseModel):
    """Sandboxes of one kind."""

    kind: str
    leased: int
    idle: int
    creating: int
    queued: int
    """Requests that wait for one."""
    most: int
    """Alive at once."""
    lost: int
    """Failed since the host began: those that idled or were done with are not counted."""


class RecentEpisodes(BaseModel):
    """Episodes that ended within the last hour, of the newest thousand that began."""

    ended: int
    succeeded: int
    broken: int
    """By something that was not the agent."""
    more: bool = False
    """Others began within that hour too, before these, and may have ended."""


class Overview(BaseModel):
    """What runs now, and how it goes."""

    tasks: dict[str, int]
    """State -> how many were submitted and are in it."""
    oldest_wait_s: float | None
    """Of the tasks that wait; None: none does."""
    running: list[SubmittedTask]
    """Tasks under way, the newest ten at most."""
    round: RoundSummary | None
    """The one that runs."""
    last_round: RoundSummary | None
    """The newest that is done."""
    pools: list[PoolModel] | None
    """None: the sandbox host does not answer."""
    recent: RecentEpisodes
    alarms: list[AlarmModel]
    """Those that are not over, newest first."""
