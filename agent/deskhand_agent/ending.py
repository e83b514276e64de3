"""How an attempt comes to its end, and how an episode's end is recorded."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from deskhand_agent.errors import AgentError, InferenceTimeout
from deskhand_agent.time_limits import TimeLimit
from deskhand_agent.types import Failure, Step, StopReason, TrajectoryEnd, Watcher
from deskhand_sandbox.errors import (
    InvalidTask,
    LeaseError,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.types import Observation, Outcome

VOID_LIMIT = 3
"""Replies in a row without an action after which an episode ends, unless told otherwise."""


@dataclass(kw_only=True, slots=True)
class StopRules:
    """What ends an attempt that neither the agent nor its environment ends."""

    turns: int
    """The task's limit, for each attempt anew."""
    limit: TimeLimit
    """The episode's."""
    void_limit: int = VOID_LIMIT
    watcher: Watcher | None = None

    async def after(self, attempt: Sequence[Step]) -> StopReason | None:
        """What ends an attempt after its last step; None: nothing does."""
        # a summary is no turn of the task: nobody asked for an action
        turns = [step for step in attempt if step.decision.summary is None]
        if _void_run(turns) >= self.void_limit:
            return StopReason.VOID_LIMIT
        acted = attempt[-1].decision.summary is None
        if self.watcher is not None and acted and await self.watcher.doomed(turns):
            return StopReason.DOOMED
        if len(turns) >= self.turns:
            return StopReason.TURN_LIMIT
        return StopReason.TIME_LIMIT if self.limit.remaining_s <= 0 else None


def ended(
    stop: StopReason, *, final_observation: Observation | None = None, outcome: Outcome | None = None
) -> TrajectoryEnd:
    """The end of an episode in which nothing broke."""
    return TrajectoryEnd(
        final_observation=final_observation,
        outcome=outcome,
        stop_reason=stop,
        failure=None,
        ended_at_s=time.time(),
    )


def failed_end(error: SandboxError | AgentError, *, after_setup: bool) -> TrajectoryEnd:
    """The end of an episode that broke.

    Args:
        after_setup: the task had been set up; errors without a kind of their own mean a dead sandbox then.
    """
    return TrajectoryEnd(
        final_observation=None,
        outcome=None,
        stop_reason=StopReason.INFRASTRUCTURE,
        failure=_failure(error, after_setup=after_setup),
        failure_detail=f"{type(error).__name__}: {error}",
        ended_at_s=time.time(),
    )


def _failure(error: SandboxError | AgentError, *, after_setup: bool) -> Failure:
    match error:
        case InferenceTimeout():
            return Failure.MODEL_TIMEOUT
        case AgentError():
            return Failure.MODEL_ERROR
        case InvalidTask():
            return Failure.TASK_REFUSED
        case LeaseError():
            return Failure.SANDBOX_LEASE
        case SandboxTimeout():
            return Failure.SANDBOX_TIMEOUT
        case SandboxDied():
            return Failure.SANDBOX_DIED
        case VerifierError():
            return Failure.VERIFIER
        case _:
            return Failure.SANDBOX_DIED if after_setup else Failure.SANDBOX_SETUP


def _void_run(steps: Sequence[Step]) -> int:
    """How many of the last steps in a row had no action."""
    return next((n for n, step in enumerate(reversed(steps)) if not step.decision.void), len(steps))
