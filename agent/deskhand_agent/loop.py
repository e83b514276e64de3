"""The loop of an episode: observe, remember, decide, act, record."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from deskhand_agent.branching import Crossroads
from deskhand_agent.ending import StopRules, ended
from deskhand_agent.errors import InferenceTimeout
from deskhand_agent.last_words import last_words
from deskhand_agent.test_time.checking import TRY_AGAIN
from deskhand_agent.test_time.self_checks import Seen, SelfChecks
from deskhand_agent.time_limits import TimeLimit, within
from deskhand_agent.turn import Deadlines, TurnRunner
from deskhand_agent.types import (
    Context,
    Oracle,
    Policy,
    ReviewVerdict,
    Step,
    StepSink,
    StopReason,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_agent.verdicts import Verdicts
from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import SandboxTimeout
from deskhand_sandbox.tasks.setup import set_up
from deskhand_sandbox.types import Observation


@dataclass(kw_only=True, slots=True)
class Loop:
    """The turns of one episode and its verdict; `steps` grows as they happen."""

    start: TrajectoryStart
    sandbox: Sandbox
    policy: Policy
    turns: TurnRunner
    rules: StopRules
    verdicts: Verdicts
    sink: StepSink
    deadlines: Deadlines
    limit: TimeLimit
    """The episode's."""
    checks: SelfChecks
    attempts: int
    """Left, the one under way among them."""
    crossroads: Crossroads | None
    steps: list[Step]
    began: int = 0
    """Steps before this attempt."""

    async def work(self, observation: Observation) -> TrajectoryEnd:
        """Turn by turn from what is on the screen to the verdict.

        Raises:
            SandboxError, AgentError: something broke, or took longer than it may.
        """
        answer = last_words(action for step in self.steps for action in step.decision.actions)
        observation = await self.turns.shown(observation)
        while True:
            asked, extended_s = time.monotonic(), self.limit.extended_s
            context = self._remembered(observation)
            late = InferenceTimeout(f"no decision within {self.deadlines.model_s:g} s")
            decision = await within(self.deadlines.model_s, self.policy.act(context), late)
            decided = time.monotonic()
            waited_s = self.limit.extended_s - extended_s
            if self.crossroads is not None:
                kept = self.crossroads.passed(len(self.steps), decision, self.sandbox)
                await within(self.deadlines.reset_s, kept, self._slow("a snapshot"))
            review = decision.review
            if review is not None and review.verdict is ReviewVerdict.STEERED:
                observation = await self.turns.whole(observation)
            told = "" if review is None else review.answer
            result = await self.turns.run(decision.actions, observation, told=told)
            model_ms = (decided - asked - waited_s) * 1000
            act_ms = (time.monotonic() - decided) * 1000
            step = result.step(len(self.steps), observation, decision, model_ms=model_ms, act_ms=act_ms)
            observation = result.observation
            answer = result.answer if result.answer is not None else answer
            seen = Seen(before=context, step=step, after=observation)
            stop = await self._stop(seen, result.stop)
            if stop is None:
                await self._record(seen.step)
                continue
            end = await self._judged(seen, stop, answer)
            if end is not None:
                return end
            again = set_up(self.sandbox, self.start.task)
            ready = await within(self.deadlines.reset_s, again, self._slow("reset"))
            observation, answer = await self.turns.shown(ready.observation), None
            self.attempts, self.began = self.attempts - 1, len(self.steps)

    def _remembered(self, observation: Observation) -> Context:
        reads_state = isinstance(self.policy, Oracle) and self.policy.reads_state
        return Context(
            task=self.start.task,
            instruction=self.start.instruction,
            notes=self.start.notes,
            trajectory_id=self.start.id,
            steps=tuple(self.steps),
            observation=observation,
            sandbox=self.sandbox if reads_state else None,
        )

    async def _record(self, step: Step) -> None:
        await self.sink.step(self.start.id, step)
        self.steps.append(step)

    async def _stop(self, seen: Seen, stop: StopReason | None) -> StopReason | None:
        """What ends the attempt after a step, which is kept where that cannot be told."""
        try:
            if stop is StopReason.FINISHED and await self.checks.doubt(seen):
                stop = None
            return stop or await self.rules.after((*self.steps[self.began :], seen.step))
        except BaseException:
            await self._record(seen.step)
            raise

    async def _judged(self, seen: Seen, stop: StopReason, answer: str | None) -> TrajectoryEnd | None:
        """The end after a step, which is kept whatever comes; None: another attempt, which it says."""
        if self.attempts == 1 or stop is StopReason.TIME_LIMIT:
            await self._record(seen.step)
            return await self._ended(seen, stop, answer)
        try:
            seems_done = await self.checks.done(seen)
            end = None if seems_done is False else await self._ended(seen, stop, answer)
            if end is not None and (seems_done or end.outcome is None or end.outcome.success):
                return end
            seen.tell(TRY_AGAIN)
            if end is not None and end.outcome is not None:
                seen.step = replace(seen.step, attempt_score=end.outcome.score)
            return None
        finally:
            await self._record(seen.step)

    async def _ended(self, seen: Seen, stop: StopReason, answer: str | None) -> TrajectoryEnd:
        outcome = await self.verdicts.on(stop, answer)
        return ended(stop, final_observation=seen.after, outcome=outcome)

    def _slow(self, what: str) -> SandboxTimeout:
        return SandboxTimeout(f"{what} took more than {self.deadlines.reset_s:g} s")
