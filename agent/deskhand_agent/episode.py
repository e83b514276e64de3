"""The episode loop: observe, remember, decide, act, record.

Each step goes to the sink as it happens. What breaks that is not the agent's doing ends the episode with a
`Failure` and no outcome; what the agent does wrong is recorded on the step, and the episode goes on.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS, Branch, Crossroads
from deskhand_agent.errors import AgentError, InferenceTimeout
from deskhand_agent.ids import new_id
from deskhand_agent.notebook import Notebook, place_of
from deskhand_agent.turn import Deadlines, TurnResult, TurnRunner, within
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
from deskhand_agent.users import Conversation, User, by_rule
from deskhand_sandbox.base import GivenUpVerifier, Sandbox, Verifier
from deskhand_sandbox.errors import (
    LeaseError,
    SandboxDied,
    SandboxError,
    SandboxTimeout,
    VerifierError,
)
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import Answer, Observation, Outcome, Split, Start, Task

TRY_AGAIN = "That was not right. Try again."
"""What the agent is told between two attempts."""
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
    user: User = by_rule,
    void_limit: int = VOID_LIMIT,
    watcher: Watcher | None = None,
    attempts: int = 1,
    crossroads: Crossroads | None = None,
    branch: Branch | None = None,
    notebook: Notebook | None = None,
) -> Trajectory:
    """Work one task in one sandbox, from reset to verdict.

    Returns the whole episode, failed ones included: `end.failure` says what broke, and such an episode is
    the agent's neither to earn nor to answer for.

    Args:
        policy_update: online updates the policy's weights have seen as the episode begins.
        user: answers `AskUser`.
        void_limit: so many replies in a row without an action end the episode: a model that has lost the
            grammar reads its own errors from then on, and does not find back.
        watcher: may end it after any step; the verdict is on the state it leaves.
        attempts: where one ends without success, the start state comes again, and the agent is told to try
            again; each has the task's turns.
        crossroads: keeps the computer's state at turns to branch from.
        branch: begin there, its earlier turns recorded as this episode's own, and not at the task's start.
        notebook: read before it begins and written when it has a verdict, in training alone: episodes of
            other splits neither see nor leave notes.

    Raises:
        asyncio.CancelledError: somebody stopped it; recorded first.
        Exception: the sink or the notebook failed, or there is a bug; nothing else.
    """
    deadlines = deadlines or Deadlines()
    notebook = notebook if split is Split.TRAIN else None
    place = ""
    start = TrajectoryStart(
        id=new_id(),
        task=task,
        instruction=task.instruction,
        policy_id=policy.id,
        policy_update=policy_update,
        group_id=group_id,
        split=split,
        started_at_s=time.time(),
        labels={**(labels or {}), **_of_branch(branch)},
    )
    steps: list[Step] = []
    begun = False
    cancelled: asyncio.CancelledError | None = None
    try:
        late = SandboxTimeout(f"reset took more than {deadlines.reset_s:g} s")
        ready = await within(deadlines.reset_s, _ready(sandbox, task, branch), late)
        start = replace(start, instruction=ready.instruction)
        if branch is not None:
            start = replace(start, notes=branch.of.start.notes)
        elif notebook is not None:
            place = place_of(task, ready.observation)
            start = replace(start, notes=await asyncio.to_thread(notebook.read, place, group_id=group_id))
        await sink.begin(start)
        begun = True
        for step in () if branch is None else branch.of.steps[: branch.turn]:
            await sink.step(start.id, step)
            steps.append(step)
        loop = _Loop(
            start=start,
            sandbox=sandbox,
            policy=policy,
            verifier=verifier,
            sink=sink,
            deadlines=deadlines,
            user=Conversation(user, task, start.instruction, answer_s=deadlines.answer_s, earlier=steps),
            void_limit=void_limit,
            watcher=watcher,
            attempts=attempts,
            crossroads=crossroads,
            steps=steps,
        )
        end = await loop.work(ready.observation)
    except (SandboxError, AgentError) as error:
        end = failed_end(error, after_setup=begun)
    except asyncio.CancelledError as error:
        end, cancelled = _end(StopReason.CANCELLED), error
    trajectory = Trajectory(start=start, steps=tuple(steps), end=end)
    await asyncio.shield(_close(sink, trajectory, begun=begun))
    if cancelled is not None:
        raise cancelled
    if notebook is not None and place:
        await asyncio.to_thread(notebook.keep, place, trajectory)
    return trajectory


@dataclass(kw_only=True, slots=True)
class _Loop:
    """The turns of one episode and its verdict; `steps` grows as they happen."""

    start: TrajectoryStart
    sandbox: Sandbox
    policy: Policy
    verifier: Verifier
    sink: StepSink
    deadlines: Deadlines
    user: Conversation
    void_limit: int
    watcher: Watcher | None
    attempts: int
    crossroads: Crossroads | None
    steps: list[Step]
    began: int = 0
    """Steps before this attempt."""

    async def work(self, observation: Observation) -> TrajectoryEnd:
        ends_at_s = time.monotonic() + self.start.task.limits.seconds
        turns = TurnRunner(
            self.sandbox, self.verifier, deadlines=self.deadlines, ends_at_s=ends_at_s, user=self.user
        )
        answer = _said(self.steps)
        while True:
            asked = time.monotonic()
            decision = await self._decide(observation)
            decided = time.monotonic()
            if decision.review is not None:
                # a person's time is not the agent's
                asked, ends_at_s = asked + decision.review.waited_s, ends_at_s + decision.review.waited_s
                turns.extend(decision.review.waited_s)
            if self.crossroads is not None:
                late = SandboxTimeout(f"a snapshot took more than {self.deadlines.reset_s:g} s")
                kept = self.crossroads.passed(len(self.steps), decision, self.sandbox)
                await within(self.deadlines.reset_s, kept, late)
            result = await turns.run(decision.actions, observation)
            times = (asked, decided, time.monotonic())
            step = _step(len(self.steps), observation, decision, result, times)
            observation = result.observation
            answer = result.answer if result.answer is not None else answer
            stop = result.stop or await self._stopped(step, ends_at_s)
            if stop is None:
                await self._keep(step)
                continue
            last = self.attempts == 1 or stop is StopReason.TIME_LIMIT
            outcome = await self._judged(step, stop, answer, last=last)
            if outcome.success or last:
                return _end(stop, final_observation=observation, outcome=outcome)
            observation, answer = await self._again(), None
            self.attempts, self.began = self.attempts - 1, len(self.steps)

    async def _judged(self, step: Step, stop: StopReason, answer: str | None, *, last: bool) -> Outcome:
        """The verdict after a step, which is kept whatever comes; before another attempt it says so."""
        if last:
            await self._keep(step)
            return await self._verdict(stop, answer)
        try:
            outcome = await self._verdict(stop, answer)
            if not outcome.success:
                told = TRY_AGAIN if step.answer is None else f"{step.answer} {TRY_AGAIN}"
                step = replace(step, answer=told)
            return outcome
        finally:
            await self._keep(step)

    async def _stopped(self, step: Step, ends_at_s: float) -> StopReason | None:
        """What ends the attempt after a step that did not end it by itself."""
        summary = step.decision.summary is not None
        # a summary is no turn of the task: nobody asked for an action
        attempt = [s for s in (*self.steps[self.began :], step) if s.decision.summary is None]
        if _void_run(attempt) >= self.void_limit:
            return StopReason.VOID_LIMIT
        if self.watcher is not None and not summary and await self.watcher.doomed(step):
            return StopReason.DOOMED
        if len(attempt) >= self.start.task.limits.turns:
            return StopReason.TURN_LIMIT
        return StopReason.TIME_LIMIT if time.monotonic() >= ends_at_s else None

    async def _again(self) -> Observation:
        """The start state once more."""
        late = SandboxTimeout(f"reset took more than {self.deadlines.reset_s:g} s")
        ready = await within(self.deadlines.reset_s, set_up(self.sandbox, self.start.task), late)
        return ready.observation

    async def _keep(self, step: Step) -> None:
        await self.sink.step(self.start.id, step)
        self.steps.append(step)

    async def _verdict(self, stop: StopReason, answer: str | None) -> Outcome:
        late = VerifierError(f"no verdict within {self.deadlines.verify_s:g} s")
        if stop is StopReason.GAVE_UP and isinstance(self.verifier, GivenUpVerifier):
            verdict = self.verifier.score_given_up(self.sandbox)
        else:
            verdict = self.verifier.score(self.sandbox, answer=answer)
        return await within(self.deadlines.verify_s, verdict, late)

    async def _decide(self, observation: Observation) -> Decision:
        reads_state = isinstance(self.policy, Oracle) and self.policy.reads_state
        context = Context(
            task=self.start.task,
            instruction=self.start.instruction,
            notes=self.start.notes,
            trajectory_id=self.start.id,
            steps=tuple(self.steps),
            observation=observation,
            sandbox=self.sandbox if reads_state else None,
        )
        late = InferenceTimeout(f"no decision within {self.deadlines.model_s:g} s")
        return await within(self.deadlines.model_s, self.policy.act(context), late)


async def _ready(sandbox: Sandbox, task: Task, branch: Branch | None) -> Start:
    if branch is None:
        return await set_up(sandbox, task)
    await sandbox.restore(branch.snapshot)
    # what the first one saw, outputs of its last action included
    seen = branch.of.steps[branch.turn].observation
    return Start(instruction=branch.of.start.instruction, observation=seen)


def _of_branch(branch: Branch | None) -> dict[str, str]:
    """The labels that say where it left."""
    return {} if branch is None else {BRANCH_OF: branch.of.id, SHARED_TURNS: str(branch.turn)}


def _said(steps: list[Step]) -> str | None:
    """What the agent last said with `Answer`."""
    said = [a.text for step in steps for a in step.decision.actions if isinstance(a, Answer)]
    return said[-1] if said else None


def _void_run(steps: list[Step]) -> int:
    """How many of the last steps in a row had no action."""
    return next((n for n, step in enumerate(reversed(steps)) if not step.decision.void), len(steps))


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
