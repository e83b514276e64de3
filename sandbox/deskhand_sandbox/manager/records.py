"""What the manager is told, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deskhand_sandbox.types import JsonValue


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolSettings:
    """How many sandboxes of one kind there may be, and how they are made."""

    max_sandboxes: int = 4
    """Places: sandboxes on loan, idle, being made and being closed, together never more than this."""
    min_sandboxes: int = 0
    """Kept ready although nobody asks."""
    idle_s: float = 300.0
    """An idle sandbox above the minimum is closed after this long: it gives its memory back."""
    create_s: float = 90.0
    """Deadline for making one sandbox, the start of what all share included."""
    close_s: float = 15.0
    """Deadline for closing one sandbox; after it the sandbox is abandoned to its backend."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Handed to the registry when the backend is made."""

    def __post_init__(self) -> None:
        if not 0 <= self.min_sandboxes <= self.max_sandboxes or self.max_sandboxes < 1:
            raise ValueError(
                f"a pool needs 0 <= min_sandboxes <= max_sandboxes and at least one place, not "
                f"{self.min_sandboxes} and {self.max_sandboxes}"
            )
        for name in ("idle_s", "create_s", "close_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseTerms:
    """What every lease is granted under."""

    heartbeat_s: float = 15.0
    """A lease whose holder is connected to no channel lapses when it has been silent this long."""
    ttl_s: float = 3600.0
    """Longest life of a lease, heartbeats or not."""
    max_wait_s: float = 600.0
    """Longest wait for a free sandbox; a request for more is cut to this."""

    def __post_init__(self) -> None:
        for name in ("heartbeat_s", "ttl_s", "max_wait_s"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Lease:
    """A sandbox on loan."""

    id: str
    kind: str
    sandbox_id: str
    owner: str
    """Who asked, for a person to read."""
    token: str = field(repr=False)
    """Opens this lease's channel and no other. Secret."""
    heartbeat_deadline_s: float
    """On the manager's clock: silence beyond this ends the lease, unless a channel is open."""
    deadline_s: float
    """On the manager's clock: the lease ends here in any case."""
    endpoint: str
    """Where act and observe go: an address of the sandbox host, or "in-process"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolStatus:
    """Counters of one kind, at one moment."""

    kind: str
    max_sandboxes: int
    leased: int
    idle: int
    creating: int
    closing: int
    queued: int
    """Requests waiting for a sandbox."""
    created: int
    """Sandboxes made since the manager began."""
    died: Mapping[str, int]
    """Sandboxes thrown away since the manager began, by reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseStatus:
    """A lease as a person may see it: without its token."""

    id: str
    kind: str
    sandbox_id: str
    owner: str
    age_s: float
    connected: bool
    """A channel is open, or the holder lives in this process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagerStatus:
    """What the manager holds, at one moment."""

    draining: bool
    pools: tuple[PoolStatus, ...]
    leases: tuple[LeaseStatus, ...]
    orphans_ended: int
    """Processes of an earlier, killed manager that this one ended when it started."""
