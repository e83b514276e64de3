"""What is submitted, and what becomes of it: the records of the task queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskhand_agent.policies.person import PERSON, WAIT_S
from deskhand_platform.auth import OWNER
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue, Outcome, Task


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRef:
    """Which policy is to work a task."""

    name: str
    """A name in the policy registry."""
    settings: Mapping[str, JsonValue]
    review_s: float | None = None
    """A person sees each action before it is carried out, for so long at most; None: nobody does."""

    @property
    def waits_s(self) -> float | None:
        """How long each action waits for a person: one who works the task is always waited for."""
        return WAIT_S if self.review_s is None and self.name == PERSON else self.review_s


@dataclass(frozen=True, kw_only=True, slots=True)
class BranchRef:
    """Where episodes leave a recorded one."""

    trajectory_id: str
    step: int
    """The first that is decided anew."""
    episodes: int = 1
    """Of them; the task's trajectory and outcome are the first one's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskOrder:
    """A task to be submitted."""

    task: Task
    policy: PolicyRef
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    priority: int = 0
    """Higher ones go first."""
    deadline_s: float | None = None
    """Unix time by which it has to be over: then it fails, begun or not. None: it may wait for ever."""
    key: str | None = None
    """Submitted again under the same key by the same owner, it is the same task."""
    owner: str = OWNER
    branch: BranchRef | None = None
    """It goes on from a step of a recorded episode; None: it begins at its own start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueuedTask:
    """A submitted task as the queue knows it."""

    id: str
    state: WorkState
    task: Task
    policy: PolicyRef
    labels: Mapping[str, str]
    priority: int
    deadline_s: float | None
    key: str | None
    owner: str
    branch: BranchRef | None
    attempts: int
    """Times it was claimed."""
    cancel_requested: bool
    trajectory_id: str | None
    """Of the latest attempt."""
    outcome: Outcome | None
    reason: str | None
    """Why it failed, or ended without an outcome or with fewer branches than ordered."""
    created_at_s: float
    started_at_s: float | None
    ended_at_s: float | None
