"""What the API works with, put together once by whoever serves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deskhand_platform.annotators import Annotators
from deskhand_platform.auth import Gate
from deskhand_platform.live import LiveSandboxes
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.settings import Settings

if TYPE_CHECKING:
    from deskhand_flywheel.store import Store

HostState = Literal["up", "starting", "down"]


class Rounds(Protocol):
    """Starts and stops rounds."""

    async def start(self, preset: str, overrides: dict[str, Any]) -> RoundRecord:
        """Put a round in the queue.

        Raises:
            NotFound: no such preset, or no such start policy.
            InvalidField: an override is refused.
        """
        ...

    async def cancel(self, round_id: int) -> RoundRecord:
        """Stop a round, wherever it is.

        Raises:
            NotFound: no such round.
            WrongState: it is over already.
        """
        ...


class Hosting(Protocol):
    """Knows how the sandbox host is."""

    @property
    def host_state(self) -> HostState: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """Everything a request may need."""

    settings: Settings
    gate: Gate
    annotators: Annotators
    proposals: Proposals
    live: LiveSandboxes
    store: Store
    queue: TaskQueue
    book: RoundBook
    rounds: Rounds
    hosting: Hosting
    stopping: asyncio.Event
    """Set when the platform goes down: streams end."""
    started_at_s: float
