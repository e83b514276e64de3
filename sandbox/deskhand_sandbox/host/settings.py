"""What a sandbox host is started with; travels to it as one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.manager import LeaseTerms, PoolSettings


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSettings:
    """A sandbox host: which sandboxes it lends, under which terms, where it keeps its things."""

    kinds: Mapping[str, PoolSettings]
    """Pools by kind, e.g. {"browser": PoolSettings(max_sandboxes=8)}."""
    state_folder: Path
    """For the journal, by which the next host here ends what a killed one left behind, and for the log."""
    terms: LeaseTerms = field(default_factory=LeaseTerms)
    deadlines: Deadlines = field(default_factory=Deadlines)
    socket_path: Path | None = None
    """Listen on this unix socket, only for this user; None for a port of 127.0.0.1 that the kernel picks."""
    log_file: Path | None = None
    """None for `host.log` in the state folder."""
    drain_s: float = 0.0
    """After SIGTERM leases may go on for this long; a second signal ends them at once."""

    @property
    def log_path(self) -> Path:
        """Where the log goes."""
        return self.log_file or self.state_folder / "host.log"


def to_json(settings: HostSettings) -> str:
    """The settings on one line."""
    return json.dumps(asdict(settings), default=str)


def from_json(line: str) -> HostSettings:
    """
    Raises:
        ValueError: the line holds no settings of a host.
    """
    try:
        values: dict[str, Any] = json.loads(line)
        values["kinds"] = {kind: PoolSettings(**pool) for kind, pool in values["kinds"].items()}
        values["terms"] = LeaseTerms(**values["terms"])
        values["deadlines"] = Deadlines(**values["deadlines"])
        for name in ("state_folder", "socket_path", "log_file"):
            values[name] = Path(values[name]) if values[name] is not None else None
        return HostSettings(**values)
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"these are no settings of a sandbox host: {error}") from error
