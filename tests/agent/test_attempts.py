"""Trying again within an episode."""

from __future__ import annotations

from typing import Any

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.episode import TRY_AGAIN, run_episode
from deskhand_agent.memory import WindowMemory
from deskhand_agent.prompt import build_prompt
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Failure, StopReason, Trajectory
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.errors import VerifierError
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, Click, Finish, Outcome, Split, VerifierSpec

TASK = make_task("fake/press-button", 3)


class Does:
    """One list of actions after another; the last one for ever."""

    id = "does"
    reads_state = False

    def __init__(self, *turns: Action) -> None:
        self.turns, self.seen = list(turns), list[Context]()

    async def act(self, context: Context) -> Decision:
        self.seen.append(context)
        action = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        return Decision(actions=(action,), text="does")


async def press(right: bool) -> Click:
    sandbox = FakeSandbox({})
    await sandbox.reset(TASK)
    boxes: Any = await sandbox.evaluate("buttons")
    goal = TASK.environment.settings["goal"]
    assert isinstance(goal, list)
    label = next(each for each in boxes if (each == goal[0]) is right)
    left, top, right_edge, bottom = boxes[label]
    return Click(x=(left + right_edge) // 2, y=(top + bottom) // 2)


async def run(
    policy: Does, *, attempts: int, verifier: Any = None, sink: MemorySink | None = None
) -> Trajectory:
    return await run_episode(
        TASK, sandbox=FakeSandbox({}), policy=policy, verifier=verifier or create_verifier(TASK.verifier),
        sink=sink or MemorySink(), split=Split.TRAIN, attempts=attempts,
    )  # fmt: skip


async def test_after_a_failure_the_start_state_comes_again_and_the_agent_is_told() -> None:
    wrong, right = await press(False), await press(True)
    policy, sink = Does(wrong, right), MemorySink()
    done = await run(policy, attempts=3, sink=sink)
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success
    assert [step.answer for step in done.steps] == [TRY_AGAIN, None]
    first, second = policy.seen
    assert second.observation.screenshot == first.observation.screenshot
    (kept,) = sink.trajectories
    assert [step.answer for step in kept.steps] == [TRY_AGAIN, None]
    prompt = build_prompt(second, memory=WindowMemory(), coordinates=CoordinateSystem())
    assert f"-> user: {TRY_AGAIN}" in prompt[-1].text


async def test_attempts_end_and_each_has_the_tasks_turns() -> None:
    nowhere = Does(Click(x=0, y=0))
    done = await run(nowhere, attempts=3)
    assert len(done.steps) == 3 * TASK.limits.turns
    assert done.end is not None and done.end.stop_reason is StopReason.TURN_LIMIT
    told = [step.index for step in done.steps if step.answer == TRY_AGAIN]
    assert told == [TASK.limits.turns - 1, 2 * TASK.limits.turns - 1]


async def test_one_attempt_is_all_where_no_more_are_asked_for_and_success_needs_no_other() -> None:
    wrong, right = await press(False), await press(True)
    assert len((await run(Does(wrong, right), attempts=1)).steps) == 1
    done = await run(Does(right, wrong), attempts=3)
    assert len(done.steps) == 1 and done.steps[0].answer is None


async def test_what_a_failed_attempt_scored_is_kept_with_its_last_turn() -> None:
    class ByDegrees:
        scores = iter((0.75, 0.25, 0.5))

        async def score(self, sandbox: Any, *, answer: str | None) -> Outcome:
            return Outcome(score=next(self.scores), success=False)

    sink = MemorySink()
    done = await run(Does(Finish(text="")), attempts=3, verifier=ByDegrees(), sink=sink)
    assert [step.attempt_score for step in sink.trajectories[0].steps] == [0.75, 0.25, None]
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.score == 0.5


async def test_saying_that_it_is_done_ends_an_attempt_too() -> None:
    done = await run(Does(Finish(text=""), await press(True)), attempts=2)
    assert done.end is not None and done.end.outcome is not None and done.end.outcome.success
    assert done.steps[0].answer == TRY_AGAIN


async def test_a_step_is_kept_though_its_verdict_breaks() -> None:
    class Breaks:
        async def score(self, sandbox: Any, *, answer: str | None) -> Outcome:
            raise VerifierError("no verdict")

    sink = MemorySink()
    done = await run(Does(Finish(text="")), attempts=2, verifier=Breaks(), sink=sink)
    assert done.end is not None and done.end.failure is Failure.VERIFIER
    assert len(sink.trajectories[0].steps) == len(done.steps) == 1


@pytest.mark.parametrize("attempts", [1, 2])
async def test_the_verdict_is_on_the_last_attempt(attempts: int) -> None:
    done = await run(Does(await press(False)), attempts=attempts)
    assert done.end is not None and done.end.outcome is not None and not done.end.outcome.success
    assert len(done.steps) == attempts


async def test_a_task_without_a_verifier_ends_without_a_verdict() -> None:
    unverified = create_verifier(VerifierSpec(name="none"))
    done = await run(Does(await press(True), Finish(text="pressed")), attempts=2, verifier=unverified)
    end = done.end
    assert end is not None and (end.stop_reason, end.outcome, end.failure) == (
        StopReason.FINISHED,
        None,
        None,
    )
    assert end.final_observation is not None
    # nobody says that it failed: it is not tried again
    assert [step.answer for step in done.steps] == [None, None]
