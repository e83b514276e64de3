"""Proving tasks: one fails when nothing is done, passes on its oracle, and scores the same again."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from deskhand_agent.episode import run_episode
from deskhand_agent.errors import OracleError
from deskhand_agent.grammar import format_reply
from deskhand_agent.policies.scripted import ScriptedPolicy
from deskhand_agent.policies.scripted import oracle_tasks as scripted_tasks
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Failure, Policy, Trajectory
from deskhand_sandbox.base import RewardingVerifier, Sandbox, Verifier
from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks.families import Family
from deskhand_sandbox.tasks.splits import split_of
from deskhand_sandbox.types import Action, Finish, Outcome, Task

RUNS = 2
"""Times the oracle works a task."""


class Verdict(StrEnum):
    """What became of a task that was to be proved."""

    PROVEN = "proven"
    BROKEN = "broken"
    """It does not do as a task must; the reason says how."""
    UNPROVEN = "unproven"
    """It fails when nothing is done, and nobody has an oracle for it; or no rule can check its end."""
    FAILED = "failed"
    """The computer failed: nothing is known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """A task that was looked at."""

    task_id: str
    seed: int
    verdict: Verdict
    reason: str = ""
    """Why it is broken or failed."""
    turns: int = 0
    """The oracle took."""
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A task to be proved."""

    task: Task
    family: Family
    """Where it comes from, and its oracle if it brings one."""

    @property
    def oracle(self) -> bool:
        """Whether something is known to solve it."""
        return self.task.id in scripted_tasks() or self.family.proven(self.task.id)


class Lender(Protocol):
    """Has sandboxes to work in."""

    async def sandbox(self, kind: str) -> Sandbox:
        """One of that kind; the same again for as long as it serves.

        Raises:
            SandboxError: there is none to be had; says why.
        """
        ...


async def prove(candidate: Candidate, lender: Lender) -> Proof:
    """Look whether a task is one.

    Raises:
        SandboxError: no sandbox of its kind is to be had.
    """
    task, began = candidate.task, time.monotonic()
    verdict, reason, turns = Verdict.PROVEN if candidate.oracle else Verdict.UNPROVEN, "", 0
    first: Outcome | None = None
    oracles = [OraclePolicy(candidate.family) for _ in range(RUNS if candidate.oracle else 0)]
    for policy in (Idle(), *oracles):
        twice = Twice(create_verifier(task.verifier))
        trajectory = await _episode(task, policy, twice, await lender.sandbox(task.environment.kind))
        if (failure := _failure(trajectory)) is not None:
            verdict, reason = failure
        elif _unverified(trajectory):
            verdict = Verdict.UNPROVEN
            break
        elif isinstance(policy, Idle):
            reason = _idle(_outcome(trajectory))
        else:
            turns = len(trajectory.steps)
            reason = _worked(trajectory, first)
            first = _outcome(trajectory)
        reason = reason or twice.difference
        if reason:
            verdict = verdict if verdict is Verdict.FAILED else Verdict.BROKEN
            break
    seconds = time.monotonic() - began
    return Proof(
        task_id=task.id, seed=task.seed, verdict=verdict, reason=reason, turns=turns, seconds=seconds
    )


class Idle:
    """Does nothing, and says it is done."""

    id = "idle"

    async def act(self, context: Context) -> Decision:
        return Decision(actions=(Finish(),), text="finished()")


class OraclePolicy:
    """What is known to solve a task: a scripted policy, or what the task itself brings."""

    id = "oracle"
    reads_state = True

    def __init__(self, family: Family) -> None:
        self._family = family
        self._scripted = ScriptedPolicy()

    async def act(self, context: Context) -> Decision:
        """The next turn.

        Raises:
            OracleError: it does not know on from here.
        """
        if context.task.id in scripted_tasks() or context.sandbox is None:
            return await self._scripted.act(context)
        try:
            actions = await self._family.next_actions(context.task, context.sandbox, len(context.steps))
        except InvalidTask as error:
            raise OracleError(str(error)) from error
        return Decision(actions=tuple(actions), text=_written(actions))


class Twice:
    """A verifier that asks another twice, and keeps what they differ in."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.difference = ""
        if isinstance(verifier, RewardingVerifier):
            self.step_reward = verifier.step_reward
        if (given_up := getattr(verifier, "score_given_up", None)) is not None:
            self.score_given_up = given_up

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The first verdict."""
        first = await self._verifier.score(sandbox, answer=answer)
        second = await self._verifier.score(sandbox, answer=answer)
        if (first.score, first.success) != (second.score, second.success):
            self.difference = f"it scores {first.score:g}, and {second.score:g} when asked again"
        return first


async def _episode(task: Task, policy: Policy, verifier: Verifier, sandbox: Sandbox) -> Trajectory:
    return await run_episode(
        task,
        sandbox=sandbox,
        policy=policy,
        verifier=verifier,
        sink=MemorySink(),
        split=split_of(task.id, task.seed),
    )


def _failure(trajectory: Trajectory) -> tuple[Verdict, str] | None:
    end = trajectory.end
    if end is None or end.failure is None:
        return None
    if end.failure is Failure.MODEL_ERROR:
        return Verdict.BROKEN, f"its oracle is lost: {end.failure_detail}"
    return Verdict.FAILED, f"{end.failure}: {end.failure_detail}"


def _unverified(trajectory: Trajectory) -> bool:
    return trajectory.end is not None and trajectory.end.outcome is None


def _outcome(trajectory: Trajectory) -> Outcome:
    assert trajectory.end is not None
    assert trajectory.end.outcome is not None
    return trajectory.end.outcome


def _idle(outcome: Outcome) -> str:
    return f"it passes when nothing is done ({outcome.detail})" if outcome.success else ""


def _worked(trajectory: Trajectory, before: Outcome | None) -> str:
    outcome = _outcome(trajectory)
    if errors := [step.action_error for step in trajectory.steps if step.action_error]:
        return f"an action of its oracle is refused: {errors[0]}"
    if before is not None and (before.score, before.success) != (outcome.score, outcome.success):
        return f"it scores {before.score:g} in one run of its oracle and {outcome.score:g} in the next"
    if not outcome.success:
        return f"its oracle does not pass: {outcome.detail}"
    return ""


def _written(actions: Sequence[Action]) -> str:
    return format_reply(None, tuple(actions))
