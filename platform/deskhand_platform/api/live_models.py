"""What goes over HTTP about sandboxes that run, who holds their controls, and branches of episodes."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from deskhand_platform.api.models import Incoming, PolicyChoice

MOST_BRANCHES = 64


class LiveSandbox(BaseModel):
    """A sandbox on loan."""

    id: str
    """Of the lease."""
    kind: str
    owner: str
    """Who leased it."""
    age_s: float
    connected: bool
    task_id: str | None
    """Of the task it was last reset to."""
    task: str | None
    """Id of the submitted task that works in it; None where a run does."""
    trajectory_id: str | None
    """What is being recorded; None before it began, and where a run works in it."""
    taken_by: str | None
    """Who holds the controls; None: the policy."""
    vnc: bool
    """Its screen is to be had by VNC, at the WebSocket `/v1/sandboxes/{id}/vnc`."""


class LiveSandboxes(BaseModel):
    items: list[LiveSandbox]


class TakeoverModel(BaseModel):
    """Who holds the controls of an episode."""

    trajectory_id: str
    by: str | None
    """None: the policy."""
    since_s: float | None
    pending: bool
    """What they last did has not reached the sandbox yet."""


class SteeringAction(Incoming):
    """What the person at the controls does next."""

    reply: Annotated[str, Field(min_length=1, max_length=10_000)]
    """One or several actions in the agent's grammar: "click(point='<point>40 52</point>')"."""


class BranchBody(Incoming):
    """Where new episodes leave a recorded one, and who decides from there."""

    step: Annotated[int, Field(ge=0, le=2**31 - 1)]
    """The first that is decided anew."""
    policy: PolicyChoice = PolicyChoice()
    episodes: Annotated[int, Field(ge=1, le=MOST_BRANCHES)] = 1
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    priority: Annotated[int, Field(ge=-100, le=100)] = 0
