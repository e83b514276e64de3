"""What the API works with, put together once by whoever serves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.live import LiveSandboxes
from deskhand_platform.loans import Loans
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.rounds.promoted import PromotedPolicies
from deskhand_platform.rounds.schedules import Schedules
from deskhand_platform.settings import Settings
from deskhand_platform.transfers import Transfers

if TYPE_CHECKING:
    from deskhand_flywheel.store import Store
    from deskhand_platform.talkers import Talkers

HostState = Literal["up", "starting", "down"]


class Rounds(Protocol):
    """Starts and stops rounds."""

    async def start(self, preset: str, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        """Put a round in the queue, or give the one that is the same: of that key, or, without one, of an
        equal config and not over.

        Raises:
            NotFound: no such preset.
            InvalidField: an override is refused, there is no such start policy, or it cannot fit the machine.
        """
        ...

    async def clone(self, round_id: int, overrides: dict[str, Any], key: str | None = None) -> RoundRecord:
        """Put a round in the queue that is told what that one was, with overrides.

        Raises:
            NotFound: no such round.
            InvalidField: as `start`.
        """
        ...

    async def pause(self, round_id: int) -> RoundRecord:
        """Stop a round with its state safe, until it is resumed.

        Raises:
            NotFound: no such round.
            WrongState: it neither waits nor runs.
        """
        ...

    async def resume(self, round_id: int) -> RoundRecord:
        """Let a paused round go on.

        Raises:
            NotFound: no such round.
            WrongState: it is not paused.
        """
        ...

    async def retry(self, round_id: int, phase: str | None, *, afresh: bool = False) -> RoundRecord:
        """Let a round that is over, or paused, go on from one of its phases.

        Raises:
            NotFound: no such round or phase.
            WrongState: it waits or runs, or a phase before that one is not done.
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
    accounts: Accounts
    proposals: Proposals
    live: LiveSandboxes
    loans: Loans
    store: Store
    queue: TaskQueue
    book: RoundBook
    rounds: Rounds
    promoted: PromotedPolicies
    schedules: Schedules
    hosting: Hosting
    talkers: Talkers
    transfers: Transfers
    stopping: asyncio.Event
    """Set when the platform goes down: streams end."""
    started_at_s: float
