"""A recorded episode's way, gone again: its actions from the seeded start, and then another policy's.

Each screen is compared with the recorded one: what was reached over one that looked different is not exactly
the recorded state (a store that keeps only `near_frames` recorded other screens than were seen).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from deskhand_agent.branching import Branching, Crossroads
from deskhand_agent.episode import told_again
from deskhand_agent.errors import OracleError
from deskhand_agent.types import Context, Decision, Oracle, Policy, Trajectory, patience_s, reads_tree
from deskhand_flywheel.errors import NotReplayable
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.types import Fail, Observation

Arrived = Callable[[bool], Awaitable[None]]
"""Told, before the other policy first decides, whether every state up to there was as recorded."""


def check_retraceable(trajectory: Trajectory) -> None:
    """
    Raises:
        NotReplayable: it had several attempts, each from the start.
    """
    if any(map(told_again, trajectory.steps)):
        raise NotReplayable(f"{trajectory.id} had several attempts, each from the start")


class Retracing:
    """Decides what was recorded for so many turns, and then what another policy does."""

    def __init__(
        self, recorded: Trajectory, turns: int, then: Policy, *, arrived: Arrived | None = None
    ) -> None:
        self.id = then.id
        self.reads_state = isinstance(then, Oracle) and then.reads_state
        self.longest_s = patience_s(then)
        self.reads_tree = reads_tree(then)
        self.same_until = 0
        """States from the first on that were as recorded, as far as an agent can tell."""
        self.arrived = False
        self._recorded, self._turns, self._then, self._tell = recorded, turns, then, arrived

    async def act(self, context: Context) -> Decision:
        """The recorded decision, or the other policy's.

        Raises:
            InferenceError: the model did not reply.
        """
        at = len(context.steps)
        if at == self.same_until < len(self._recorded.steps):
            self.same_until += self._as_recorded(context, at)
        if at < self._turns:
            return _again(self._recorded.steps[at].decision)
        if not self.arrived:
            self.arrived = True
            if self._tell is not None:
                await self._tell(self.same_until > min(self._turns, len(self._recorded.steps) - 1))
        try:
            return await self._then.act(context)
        except OracleError:
            # an oracle that is lost cannot win any more
            return Decision(actions=(Fail(),), text="fail()")

    def _as_recorded(self, context: Context, at: int) -> bool:
        """Whether the screen, and what the user last said, are what they were then."""
        steps = self._recorded.steps
        told = at == 0 or context.steps[-1].answer == steps[at - 1].answer
        return told and look_of(context.observation) == look_of(steps[at].observation)


class EveryTurn(Crossroads):
    """Keeps the computer's state at every turn, or at one."""

    def __init__(self, only: int | None = None) -> None:
        super().__init__(Branching(branches=0, rise=0.0, in_a_row=0))
        self.snapshots: list[str] = []
        self._only = only

    async def passed(self, turn: int, decision: Decision, sandbox: Sandbox) -> None:
        """As `Crossroads.passed`."""
        if self._only is None or turn == self._only:
            self.snapshots.append(await sandbox.snapshot())


def _again(decision: Decision) -> Decision:
    """A decision acted once more: nobody is waited for this time."""
    review = decision.review
    return decision if review is None else replace(decision, review=replace(review, waited_s=0.0))


def look_of(seen: Observation) -> tuple[str, str | None]:
    """What an agent can tell states apart by."""
    return seen.screenshot.digest, seen.terminal
