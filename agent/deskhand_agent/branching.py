"""Going on in several ways from where a policy was unsure: ARPO (arXiv:2507.19849), AEPO (arXiv:2510.14545).

Where a reply's entropy lies well above that of the episode's first, what the screen showed left the policy
unsure: the computer's state is kept, and when the episode is over, branches begin there. The papers look at
the first tokens after an observation and draw by chance; here the mean over the whole reply counts, and the
greatest rises are taken.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from deskhand_agent.types import Decision, Trajectory, TrajectoryStart
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import (
    InfrastructureError,
    LeaseError,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
)
from deskhand_sandbox.types import Start

log = logging.getLogger(__name__)

BRANCH_OF = "branch_of"
"""Label of a branch: the id of the episode it left."""
SHARED_TURNS = "shared_turns"
"""Label of a branch: how many first turns it has from there."""


def shared_turns(start: TrajectoryStart) -> int:
    """First turns that an episode has from the one it branched from."""
    return int(start.labels.get(SHARED_TURNS, "0"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Branching:
    """When and how often an episode is branched."""

    branches: int
    """Of an episode, at most: where entropy rose most."""
    rise: float
    """How far above the first reply's mean token entropy, in nats."""
    in_a_row: int
    """Turns one after another that may be branched at: further ones are not, until one is sure again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """Another way on from a turn of an episode that is over."""

    of: Trajectory
    turn: int
    """The first that is decided anew."""
    snapshot: str
    """The computer's state then."""

    @property
    def labels(self) -> dict[str, str]:
        """Of an episode that begins here."""
        return {BRANCH_OF: self.of.id, SHARED_TURNS: str(self.turn)}

    async def resume(self, sandbox: Sandbox) -> Start:
        """The computer as it was, and what was seen then, outputs of the action before included.

        Raises:
            InfrastructureError: the state could not be restored.
        """
        await sandbox.restore(self.snapshot)
        seen = self.of.steps[self.turn].observation
        return Start(instruction=self.of.start.instruction, observation=seen)


class Crossroads:
    """Looks over an episode's shoulder and keeps the computer's state where the policy is unsure."""

    def __init__(self, rule: Branching) -> None:
        self._rule = rule
        self._first: float | None = None
        self._in_a_row = 0
        self._found: list[tuple[float, int, str]] = []
        """The best so far: rise, turn and state; the greatest rise first, the earlier of equal ones."""

    async def passed(self, turn: int, decision: Decision, sandbox: Sandbox) -> None:
        """A turn was decided and is not carried out yet. Where its rise is among the greatest so far, the
        state is kept, unless the sandbox keeps no more.

        States that no branch will leave any more are let go of.

        Raises:
            UnsupportedCapability: this kind keeps none.
            SandboxDied, SandboxTimeout, LeaseError: the computer is gone.
        """
        entropy = None if decision.completion is None else decision.completion.entropy
        if entropy is None or decision.summary is not None:
            return
        if self._first is None:
            self._first = entropy
            return
        rise = entropy - self._first
        self._in_a_row = self._in_a_row + 1 if rise >= self._rule.rise else 0
        if not 0 < self._in_a_row <= self._rule.in_a_row:
            return
        if len(self._found) >= self._rule.branches and not (self._found and rise > self._found[-1][0]):
            return
        try:
            found = (rise, turn, await sandbox.snapshot())
        except (SandboxDied, SandboxTimeout, LeaseError):
            raise
        except InfrastructureError as error:
            log.warning("no branch will leave turn %d, whose state was not kept: %s", turn, error)
            return
        best = sorted([*self._found, found], key=lambda each: (-each[0], each[1]))
        self._found = best[: self._rule.branches]
        for *_, displaced in best[self._rule.branches :]:
            await _let_go(sandbox, displaced)

    def branches(self, trajectory: Trajectory) -> Sequence[Branch]:
        """Of the episode, once it is over; the greatest rise first, the earlier of equal ones."""
        return [Branch(of=trajectory, turn=turn, snapshot=snapshot) for _, turn, snapshot in self._found]


async def _let_go(sandbox: Sandbox, snapshot: str) -> None:
    try:
        await sandbox.forget(snapshot)
    except (SandboxDied, SandboxTimeout, LeaseError):
        raise
    except SandboxError as error:  # it goes with the task
        log.warning("a state that no branch leaves stays until the next task: %s", error)
