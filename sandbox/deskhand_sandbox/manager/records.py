"""What the manager is told, and what it says about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from deskhand_sandbox.types import JsonValue

MOST_CREATE_S = 1800.0
"""For making one sandbox, whatever a pool says: who asks for a lease waits no longer."""


class Lost(StrEnum):
    """Why a sandbox was thrown away. The first six are the manager's own doing, the others failures."""

    IDLE = "idle"
    """Nobody asked for it for long."""
    POOL_CLOSED = "pool closed"
    CALL_CUT = "call cut"
    """Its lease ended, or its holder gave a call up, in the middle of the call."""
    OPENED = "opened"
    """Its holder had a DevTools address of it, which others may know."""
    RECORDED = "recorded"
    """An episode was recorded: closing completes the files, and nobody else is shown them."""
    RENEWED = "renewed"
    """What it shared with others had served for as many leases as it was to."""
    DIED_IDLE = "died idle"
    """Found dead while nobody had it."""
    BACKEND_GONE = "backend gone"
    """What it shared with others ended: their browser, their daemon."""
    DIED = "died"
    """It ended during a call."""
    TIMED_OUT = "timed out"
    """A call passed its deadline."""
    FAILED = "failed"
    """Another infrastructure failure during a call."""
    BUG = "bug"
    """A call raised what no sandbox may raise; the log has it."""

    @property
    def failure(self) -> bool:
        """Whether something went wrong, not only the manager's own housekeeping."""
        own = (Lost.IDLE, Lost.POOL_CLOSED, Lost.CALL_CUT, Lost.OPENED, Lost.RECORDED, Lost.RENEWED)
        return self not in own


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolSettings:
    """Sandboxes of one kind: which, how many, how they are made."""

    kind: str = ""
    """A name in the sandbox registry; empty: the pool's own name is the kind."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """What tells pools of one kind apart to those who ask, e.g. {"image": "office"}."""
    owner_quota: int | None = None
    """Most that one owner may have on loan at once; its further requests wait. None: no such bound."""
    max_sandboxes: int = 4
    """Places: sandboxes on loan, idle, being made and being closed, together never more than this."""
    min_sandboxes: int = 0
    """Kept ready although nobody asks."""
    idle_s: float = 300.0
    """An idle sandbox above the minimum is closed after this long: it gives its memory back."""
    check_s: float = 60.0
    """An idle sandbox is asked for a sign of life after this long."""
    check_deadline_s: float = 5.0
    """One that gives none in this time is replaced."""
    create_s: float = 600.0
    """Deadline for making one sandbox, the start of what all share included: the image of virtual machines is
    built with the first of them. Backends have tighter deadlines of their own."""
    close_s: float = 15.0
    """Deadline for closing one sandbox; after it the sandbox is abandoned to its backend."""
    leases_per_backend: int | None = None
    """What all share, such as the one Chromium of browsers, is replaced after so many leases, which bounds
    what it can grow to; leases under way end on it. None: it never is."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Handed to the registry when the backend is made."""

    def __post_init__(self) -> None:
        if odd := [name for name in ("labels", "settings") if not isinstance(getattr(self, name), Mapping)]:
            raise ValueError(f"{odd[0]} must be a mapping, not {getattr(self, odd[0])!r}")
        for name in ("max_sandboxes", "min_sandboxes"):
            if type(getattr(self, name)) is not int:
                raise ValueError(f"{name} must be a whole number, not {getattr(self, name)!r}")
        if not 0 <= self.min_sandboxes <= self.max_sandboxes or self.max_sandboxes < 1:
            raise ValueError(
                f"a pool needs 0 <= min_sandboxes <= max_sandboxes and at least one place, not "
                f"{self.min_sandboxes} and {self.max_sandboxes}"
            )
        for name in ("owner_quota", "leases_per_backend"):
            value: object = getattr(self, name)
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} must be a whole number from 1, not {value!r}")
        check_times(self, "idle_s", "check_s", "check_deadline_s", "create_s", "close_s")
        if self.create_s > MOST_CREATE_S:
            raise ValueError(f"create_s must be at most {MOST_CREATE_S:g}, not {self.create_s}")
        if any(type(each) is not str for each in (self.kind, *self.labels, *self.labels.values())):
            raise ValueError(f"kind and labels must be texts, not {self.kind!r} and {self.labels!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaseTerms:
    """What every lease is granted under."""

    heartbeat_s: float = 15.0
    """A lease whose holder is connected to no channel lapses when it has been silent this long."""
    ttl_s: float = 3600.0
    """A lease lapses, heartbeats or not, when its holder has asked nothing of the sandbox for so long, nor
    renewed it."""
    max_wait_s: float = 600.0
    """Longest wait for a free sandbox; a request for more is cut to this."""

    def __post_init__(self) -> None:
        check_times(self, "heartbeat_s", "ttl_s", "max_wait_s")


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
    """On the manager's clock: the lease ends here in any case, unless it is used or renewed."""
    endpoint: str
    """Where act and observe go: an address of the sandbox host, or "in-process"."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PoolStatus:
    """Counters of one pool, at one moment."""

    name: str
    kind: str
    labels: Mapping[str, str]
    max_sandboxes: int
    leased: int
    idle: int
    creating: int
    closing: int
    queued: int
    """Requests waiting for a sandbox."""
    created: int
    """Sandboxes made since the manager began."""
    lost: Mapping[Lost, int]
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
    task_id: str | None = None
    """Of the task it was last reset to; None before that."""
    vnc: bool = False
    """Its kind serves its screen by VNC."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ManagerStatus:
    """What the manager holds, at one moment."""

    draining: bool
    pools: tuple[PoolStatus, ...]
    leases: tuple[LeaseStatus, ...]
    orphans_ended: int
    """Processes of an earlier, killed manager that this one ended when it started."""


def check_times(record: object, *names: str) -> None:
    """Refuse what is no time that passes.

    Raises:
        ValueError: a field is no positive number; says which.
    """
    for name in names:
        value = getattr(record, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ValueError(f"{name} must be a positive number, not {value!r}")
