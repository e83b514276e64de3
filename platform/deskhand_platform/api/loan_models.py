"""What goes over HTTP about sandboxes that somebody has leased for themselves."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from deskhand_platform.api.models import Incoming, TaskBody


class LoanOrder(Incoming):
    """A sandbox to work in oneself."""

    kind: Annotated[str, Field(min_length=1, max_length=64)] = "browser"
    wait_s: Annotated[float, Field(ge=0, le=60)] = 20.0
    """Longest wait until one is free."""
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    """Which of several pools of the kind: {"image": "office"}."""


class LoanModel(BaseModel):
    """A sandbox on loan to whoever asked."""

    id: str
    """Of the lease: its screens are at `/v1/sandboxes/{id}`."""
    kind: str
    owner: str
    idle_s: float
    """It is given back after so long without a request."""


class LoanReset(Incoming):
    """A task to set up in it: one of the catalog by id, or one in full."""

    task_id: str | None = None
    task: TaskBody | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0


class LoanAction(Incoming):
    """What to do in it."""

    reply: Annotated[str, Field(min_length=1, max_length=100_000)]
    """One or several actions in the agent's grammar: "click(point='<point>40 52</point>')"."""


class SeenModel(BaseModel):
    """What is to be seen in a sandbox."""

    screen: str
    """The picture as a `data:` URL."""
    width_px: int
    height_px: int
    at_s: float
    settled: bool
    """False: the picture may show a change under way."""
    settled_ms: float
    url: str | None
    dialog: str | None
    """A dialog that waits for an answer, which no picture shows."""
    terminal: str | None
    output: str | None
    """What the action returned: commands, files, tools."""
    text_tree: str | None
    """The page or the windows as text; None unless asked for."""


class LoanStart(BaseModel):
    """A task as it begins."""

    instruction: str
    seen: SeenModel
