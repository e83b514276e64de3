"""The episode loop: observe, remember, decide, act, record.

Each step goes to the sink as it happens. What breaks that is not the agent's doing ends the episode with a
`Failure` and no outcome; what the agent does wrong is recorded on the step, and the episode goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

from deskhand_agent.errors import AgentError, InferenceTimeout
from deskhand_agent.ids import new_id
from deskhand_agent.turn import Deadlines, TurnResult, TurnRunner, User, within
from deskhand_agent.types import (
    Context,
    Decision,
    Failure,
    Oracle,
    Policy,
    Step,
    StepSink,
    StepTimings,
    StopReason,
    Trajectory,
    TrajectoryEnd,
    TrajectoryStart,
    Watcher,
)
from deskhand_sandbox.base import GivenUpVerifier, Sandbox, Verifier
from deskhand_sandbox.errors import (
    LeaseError,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import Observation, Outcome, Split, Task

VOID_LIMIT = 3
"""Replies in a row without an action after which an episode ends, unless told otherwise."""


async def run_episode(
    task: Task,
    *,
    sandbox: Sandbox,
    policy: Policy,
    verifier: Verifier,
    sink: StepSink,
    split: Split,
    policy_update: int = 0,
    group_id: str | None = None,
    labels: Mapping[str, str] | None = None,
    deadlines: Deadlines | None = None,
    user: User | None = None,
    void_limit: int = VOID_LIMIT,
    watcher: Watcher | None = None,
) -> Trajectory:
    """Work one task in one sandbox, from reset to verdict.

    Returns the whole episode, failed ones included: `end.failure` says what broke, and such an episode is
    the agent's neither to earn nor to answer for.

    Args:
        policy_update: online updates the policy's weights have seen as the episode begins.
        user: answers `AskUser`; nobody does when None.
        void_limit: so many replies in a row without an action end the episode: a model that has lost the
            grammar reads its own errors from then on, and does not find back.
        watcher: may end it after any step; the verdict is on the state it leaves.

    Raises:
        asyncio.CancelledError: somebody stopped it; recorded first.
        Exception: the sink failed, or there is a bug; nothing else.
    """
    deadlines = deadlines or Deadlines()
    start = TrajectoryStart(
        id=new_id(),
        task=task,
        instruction=task.instruction,
        policy_id=policy.id,
        policy_update=policy_update,
        group_id=group_id,
        split=split,
        started_at_s=time.time(),
        labels=dict(labels or {}),
    )
    steps: list[Step] = []
    begun = False
    cancelled: asyncio.CancelledError | None = None
    try:
        late = SandboxTimeout(f"reset took more than {deadlines.reset_s:g} s")
        ready = await within(deadlines.reset_s, set_up(sandbox, task), late)
        start = replace(start, instruction=ready.instruction)
        await sink.begin(start)
        begun = True
        end = await _work(
            start,
            ready.observation,
            steps,
            sandbox,
            policy,
            verifier,
            sink,
            deadlines,
            user,
            void_limit,
            watcher,
        )
    except (SandboxError, AgentError) as error:
        end = failed_end(error, after_setup=begun)
    except asyncio.CancelledError as error:
        end, cancelled = _end(StopReason.CANCELLED), error
    trajectory = Trajectory(start=start, steps=tuple(steps), end=end)
    await asyncio.shield(_close(sink, trajectory, begun=begun))
    if cancelled is not None:
        raise cancelled
    return trajectory


async def _work(
    start: TrajectoryStart,
    observation: Observation,
    steps: list[Step],
    sandbox: Sandbox,
    policy: Policy,
    verifier: Verifier,
    sink: StepSink,
    deadlines: Deadlines,
    user: User | None,
    void_limit: int,
    watcher: Watcher | None,
) -> TrajectoryEnd:
    """The turns and the verdict; `steps` grows as they happen."""
    limits = start.task.limits
    ends_at_s = time.monotonic() + limits.seconds
    turns = TurnRunner(sandbox, verifier, deadlines=deadlines, ends_at_s=ends_at_s, user=user)
    stop: StopReason | None = None
    answer: str | None = None
    while stop is None:
        if len(steps) >= limits.turns:
            stop = StopReason.TURN_LIMIT
        elif time.monotonic() >= ends_at_s:
            stop = StopReason.TIME_LIMIT
        else:
            asked = time.monotonic()
            decision = await _decide(policy, start, steps, observation, sandbox, deadlines)
            decided = time.monotonic()
            result = await turns.run(decision.actions, observation)
            times = (asked, decided, time.monotonic())
            step = _step(len(steps), observation, decision, result, times)
            await sink.step(start.id, step)
            steps.append(step)
            observation, stop = result.observation, result.stop
            if stop is None and _void_run(steps) >= void_limit:
                stop = StopReason.VOID_LIMIT
            if stop is None and watcher is not None and await watcher.doomed(step):
                stop = StopReason.DOOMED
            answer = result.answer if result.answer is not None else answer
    late = VerifierError(f"no verdict within {deadlines.verify_s:g} s")
    if stop is StopReason.GAVE_UP and isinstance(verifier, GivenUpVerifier):
        verdict = verifier.score_given_up(sandbox)
    else:
        verdict = verifier.score(sandbox, answer=answer)
    outcome = await within(deadlines.verify_s, verdict, late)
    return _end(stop, final_observation=observation, outcome=outcome)


async def _decide(
    policy: Policy,
    start: TrajectoryStart,
    steps: list[Step],
    observation: Observation,
    sandbox: Sandbox,
    deadlines: Deadlines,
) -> Decision:
    reads_state = isinstance(policy, Oracle) and policy.reads_state
    context = Context(
        task=start.task,
        instruction=start.instruction,
        steps=tuple(steps),
        observation=observation,
        sandbox=sandbox if reads_state else None,
    )
    late = InferenceTimeout(f"no decision within {deadlines.model_s:g} s")
    return await within(deadlines.model_s, policy.act(context), late)


def _void_run(steps: list[Step]) -> int:
    """How many of the last steps in a row had no action."""
    return next((n for n, step in enumerate(reversed(steps)) if step.decision.actions), len(steps))


def _step(
    index: int,
    observation: Observation,
    decision: Decision,
    result: TurnResult,
    times: tuple[float, float, float],
) -> Step:
    asked, decided, done = times
    return Step(
        index=index,
        observation=observation,
        decision=decision,
        reward=result.reward,
        action_error=result.action_error,
        answer=result.user_reply,
        timings=StepTimings(
            model_ms=(decided - asked) * 1000, act_ms=(done - decided) * 1000, settle_ms=result.settle_ms
        ),
        finished_at_s=time.time(),
    )


def failed_end(error: SandboxError | AgentError, *, after_setup: bool) -> TrajectoryEnd:
    """The end of an episode that broke.

    Args:
        after_setup: the task had been set up; errors without a kind of their own mean a dead sandbox then.
    """
    return _end(
        StopReason.INFRASTRUCTURE,
        failure=_failure(error, after_setup=after_setup),
        failure_detail=f"{type(error).__name__}: {error}",
    )


def _failure(error: SandboxError | AgentError, *, after_setup: bool) -> Failure:
    match error:
        case InferenceTimeout():
            return Failure.MODEL_TIMEOUT
        case AgentError():
            return Failure.MODEL_ERROR
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


def _end(
    stop: StopReason,
    *,
    final_observation: Observation | None = None,
    outcome: Outcome | None = None,
    failure: Failure | None = None,
    failure_detail: str = "",
) -> TrajectoryEnd:
    return TrajectoryEnd(
        final_observation=final_observation,
        outcome=outcome,
        stop_reason=stop,
        failure=failure,
        failure_detail=failure_detail,
        ended_at_s=time.time(),
    )


async def _close(sink: StepSink, trajectory: Trajectory, *, begun: bool) -> None:
    if not begun:
        await sink.begin(trajectory.start)
    if trajectory.end is not None:
        await sink.end(trajectory.id, trajectory.end)
