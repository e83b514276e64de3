"""One turn: carry out what was decided, and say what came of it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deskhand_agent.accounts import charged
from deskhand_agent.outputs import together
from deskhand_agent.test_time.zoom import on_screen, zoomed
from deskhand_agent.time_limits import TimeLimit, within
from deskhand_agent.types import Decision, Policy, Step, StepTimings, StopReason, patience_s, reads_tree
from deskhand_agent.users import Conversation
from deskhand_sandbox.base import Capability, RewardingVerifier, Sandbox, Verifier, verdict_s
from deskhand_sandbox.deadlines import asked_s
from deskhand_sandbox.dialects.pointing import letting_go
from deskhand_sandbox.errors import InvalidAction, SandboxTimeout, UnsupportedCapability, VerifierError
from deskhand_sandbox.tasks.setup import asked_s as setup_s
from deskhand_sandbox.types import (
    Action,
    Answer,
    AskUser,
    ControlAction,
    DeviceAction,
    Fail,
    Finish,
    Observation,
    Run,
    Task,
    Wait,
    Zoom,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlines:
    """How long the loop waits before it takes something for broken."""

    reset_s: float = 90.0
    """Setting a task up, beyond what its own steps may take."""
    model_s: float = 120.0
    """One decision, unless the policy's own settings allow it more; its waits for a person or for a turn at a
    rate limit are not counted."""
    act_s: float = 45.0
    """One action, beyond the time the action itself asks for."""
    verify_s: float = 45.0
    """One verdict, beyond what the verifier's own steps may take, or one step reward."""
    answer_s: float = 60.0
    """One answer of the user."""

    def of_task(self, task: Task, verifier: Verifier) -> Deadlines:
        """With what the task's own set-up steps and its verifier may take besides.

        Raises:
            InvalidTask: a set-up step is refused.
        """
        more_s = verdict_s(verifier)
        return replace(self, reset_s=self.reset_s + setup_s(task), verify_s=self.verify_s + more_s)

    def of_policy(self, policy: Policy) -> Deadlines:
        """With no less for a decision than the policy's own settings allow it."""
        return replace(self, model_s=max(self.model_s, patience_s(policy)))


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnResult:
    """What came of a turn."""

    observation: Observation
    """The screen after it."""
    reward: float = 0.0
    """Environment rewards of its actions, added up."""
    action_error: str | None = None
    """Why an action could not be carried out; the ones after it only let go of what they held."""
    user_reply: str | None = None
    """What the user said to `AskUser`."""
    user_costs: tuple[Mapping[str, float], ...] = ()
    """What each of their replies cost, where one did."""
    answer: str | None = None
    """What the agent said with `Answer` or `Finish`."""
    stop: StopReason | None = None
    """Why the episode ends here; None when it goes on."""
    settle_ms: float = 0.0
    """Waiting for a still screen, all actions together."""
    outputs: tuple[str, ...] = ()
    """What its actions returned, in order; those that return nothing left out."""

    def step(
        self, index: int, observation: Observation, decision: Decision, *, model_ms: float, act_ms: float
    ) -> Step:
        """The record of the turn that was decided on this observation."""
        decision = charged(decision, *self.user_costs) if self.user_costs else decision
        return Step(
            index=index,
            observation=observation,
            decision=decision,
            reward=self.reward,
            action_error=self.action_error,
            answer=self.user_reply,
            timings=StepTimings(model_ms=model_ms, act_ms=act_ms, settle_ms=self.settle_ms),
            finished_at_s=time.time(),
        )


class TurnRunner:
    """Carries out the turns of one episode."""

    def __init__(
        self,
        sandbox: Sandbox,
        verifier: Verifier,
        *,
        policy: Policy,
        deadlines: Deadlines,
        limit: TimeLimit,
        user: Conversation,
    ) -> None:
        """
        Args:
            policy: whose turns they are, and who is shown what they lead to.
            limit: the episode's.
        """
        self._sandbox = sandbox
        self._verifier = verifier
        self._policy = policy
        self._deadlines = deadlines
        self._limit = limit
        self._user = user
        self._screen: Observation | None = None
        """All of the screen as it was last seen; None before that."""

    async def run(self, actions: Sequence[Action], observation: Observation, *, told: str = "") -> TurnResult:
        """Carry out the actions in order, until one fails or ends the episode, or its time is up.

        Where one fails or comes too late, keys and buttons that were held for it are let go of. What they
        returned stands together in the last observation.

        Args:
            observation: what they were decided on; their coordinates are its pixels.
            told: what a person beside the agent says to all that they ask; empty: the user answers.

        Raises:
            InfrastructureError: the computer or the verifier failed, or passed its deadline; the loan of
                the sandbox ended.
        """
        if observation.region is None:
            self._screen = observation
        result = await self._each(actions, observation, told)
        seen = result.observation
        shown = await self.shown(replace(seen, output=together(result.outputs)) if result.outputs else seen)
        settle_ms = result.settle_ms + shown.settled_ms - seen.settled_ms
        return replace(result, observation=shown, settle_ms=settle_ms)

    async def whole(self, seen: Observation) -> Observation:
        """All of the screen where this shows a part of it, and otherwise this.

        Raises:
            InfrastructureError: the computer failed, or passed its deadline.
        """
        if seen.region is None:
            return seen
        return await self.shown(replace(await self._all(), output=seen.output, settled_ms=seen.settled_ms))

    async def shown(self, seen: Observation) -> Observation:
        """The screen looked at again with its accessibility tree, where the policy reads trees: picture and
        tree are of the same moment.

        Raises:
            InfrastructureError: the computer failed, or passed its deadline.
        """
        known = seen.text_tree is not None or seen.region is not None
        if known or not reads_tree(self._policy) or Capability.TEXT_TREE not in self._sandbox.capabilities:
            return seen
        late = SandboxTimeout(f"a look took more than {self._deadlines.act_s:g} s")
        now = await within(self._deadlines.act_s, self._sandbox.observe(text_tree=True), late)
        return replace(now, output=seen.output, settled_ms=seen.settled_ms + now.settled_ms)

    async def _each(self, actions: Sequence[Action], observation: Observation, told: str) -> TurnResult:
        result = TurnResult(observation=observation)
        for number, action in enumerate(actions):
            if number and self._limit.remaining_s <= 0:
                error = f"the episode's time was up before {type(action).__name__}"
                late = replace(result, action_error=error)
                result = await self._let_go(actions[:number], actions[number:], late)
                return replace(result, stop=result.stop or StopReason.TIME_LIMIT)
            try:
                action = on_screen(action, observation)
            except InvalidAction as error:
                result = replace(result, action_error=str(error))
            else:
                if isinstance(action, ControlAction):
                    result = await self._control(action, result, told)
                else:
                    result = await self._device(action, result)
            if result.action_error is not None:
                return await self._let_go(actions[:number], actions[number + 1 :], result)
            if result.stop is not None:
                break
        return result

    async def _let_go(self, done: Sequence[Action], left: Sequence[Action], result: TurnResult) -> TurnResult:
        """Carry out what of the actions left undone ends what those that were done began to hold."""
        for up in letting_go(done, left):
            result = replace(await self._device(up, result), action_error=result.action_error)
        return result

    async def _device(self, action: DeviceAction, result: TurnResult) -> TurnResult:
        action = self._bounded(action)
        deadline_s = self._deadlines.act_s + asked_s(action)
        late = SandboxTimeout(f"{type(action).__name__} took more than {deadline_s:g} s")
        try:
            observation = await within(deadline_s, self._sandbox.act(action), late)
        except (InvalidAction, UnsupportedCapability) as error:
            return replace(result, action_error=str(error))
        self._screen = observation
        result = replace(
            result,
            observation=observation,
            settle_ms=result.settle_ms + observation.settled_ms,
            outputs=result.outputs if observation.output is None else (*result.outputs, observation.output),
        )
        if not isinstance(self._verifier, RewardingVerifier):
            return result
        reward = await within(
            self._deadlines.verify_s,
            self._verifier.step_reward(self._sandbox),
            VerifierError(f"no step reward within {self._deadlines.verify_s:g} s"),
        )
        if not math.isfinite(reward.reward):
            raise VerifierError(f"the step reward is {reward.reward}: it must be a finite number")
        return replace(
            result,
            reward=result.reward + reward.reward,
            stop=StopReason.TERMINATED if reward.terminated else None,
        )

    async def _control(self, action: ControlAction, result: TurnResult, told: str) -> TurnResult:
        match action:
            case Answer(text=text):
                return replace(result, answer=text)
            case Finish(text=text):
                return replace(result, answer=text or result.answer, stop=StopReason.FINISHED)
            case Fail():
                return replace(result, stop=StopReason.GAVE_UP)
            case AskUser(question=question) if told:
                self._user.told(question, told)
                return replace(result, user_reply=told)
            case AskUser(question=question):
                reply = await self._user.ask(question, remaining_s=self._remaining_s())
                said = reply.text if result.user_reply is None else f"{result.user_reply} {reply.text}"
                costs = (*result.user_costs, reply.cost) if reply.cost else result.user_costs
                return replace(result, user_reply=said, user_costs=costs)
            case Zoom():
                return await self._zoomed(action, result)

    async def _zoomed(self, action: Zoom, result: TurnResult) -> TurnResult:
        screen = await self._all()
        try:
            return replace(result, observation=await asyncio.to_thread(zoomed, action, screen))
        except InvalidAction as error:
            return replace(result, action_error=str(error))

    async def _all(self) -> Observation:
        if self._screen is None:
            late = SandboxTimeout(f"a look took more than {self._deadlines.act_s:g} s")
            self._screen = await within(self._deadlines.act_s, self._sandbox.observe(), late)
        return self._screen

    def _bounded(self, action: DeviceAction) -> DeviceAction:
        """The action waiting no longer than the episode has left."""
        remaining = self._remaining_s()
        match action:
            case Wait(seconds=seconds):
                return replace(action, seconds=min(seconds, remaining))
            case Run(timeout_s=timeout_s):
                return replace(action, timeout_s=min(timeout_s, remaining))
            case _:
                return action

    def _remaining_s(self) -> float:
        return max(0.1, self._limit.remaining_s)
