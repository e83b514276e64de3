"""A person who takes the controls, thinks, acts, and hands them back."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_agent.episode import run_episode
from deskhand_agent.reviewing import PersonsAnswer, ReviewedPolicy
from deskhand_agent.sinks import MemorySink
from deskhand_agent.steering import SteeredPolicy
from deskhand_agent.turn import Deadlines
from deskhand_agent.types import Context, Decision, Failure, ReviewVerdict, StopReason, Trajectory
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.types import Click, Finish, Observation, Split, Start, Task, Wait, Zoom

pytestmark = pytest.mark.usefixtures("simulated_time")

WRONG, RIGHT = Click(x=50, y=50), Click(x=10, y=10)
PART = Zoom(start=(40, 40), end=(59, 55))
"""Of the stub's screen of 100 x 80: neither click means there what it means on the whole."""


class Hands:
    """Answers as it is told, one entry for each time it is asked; a number: so long nobody lets go."""

    def __init__(self, *turns: PersonsAnswer | float | None) -> None:
        self.turns = list(turns)

    async def next(self, context: Context) -> PersonsAnswer | None:
        turn = self.turns.pop(0) if self.turns else None
        if isinstance(turn, float):
            await asyncio.sleep(turn)
            return None
        return turn


class Says:
    """A reviewer who says one thing."""

    def __init__(self, answer: PersonsAnswer) -> None:
        self.answer = answer

    async def review(self, context: Context, decision: Decision, *, within_s: float) -> PersonsAnswer:
        await asyncio.sleep(0.3)
        return self.answer


def did(*actions: Any) -> PersonsAnswer:
    return PersonsAnswer(by="ada", actions=actions)


def seen_whole(stub: SimpleNamespace) -> Any:
    """A sandbox whose screens can be looked at closer."""
    screen = encoded(Picture.new("RGB", (100, 80)))

    class Real(stub.Sandbox):
        async def act(self, action: Any) -> Observation:
            return replace(await super().act(action), screenshot=screen)

        async def reset(self, task: Task) -> Start:
            start = await super().reset(task)
            return replace(start, observation=replace(start.observation, screenshot=screen))

    return Real()


async def play(
    stub: SimpleNamespace, policy: Any, sandbox: Any, *, model_s: float = 30.0, **task: Any
) -> Trajectory:
    return await run_episode(
        stub.task(1, **task),
        sandbox=sandbox,
        policy=policy,
        verifier=stub.Verifier(),
        sink=MemorySink(),
        split=Split.TRAIN,
        deadlines=Deadlines(model_s=model_s),
    )


async def test_after_a_closer_look_a_person_acts_on_the_whole_screen_that_they_see(
    stub: SimpleNamespace,
) -> None:
    policy, sandbox = stub.Policy((PART,), (WRONG,), (Finish(),)), seen_whole(stub)
    hands = Hands(None, None, did(RIGHT))
    played = await play(stub, SteeredPolicy(policy, hands, person_s=30), sandbox)
    assert sandbox.actions == [RIGHT]
    assert [step.observation.region for step in played.steps] == [None, None, None]
    assert played.steps[1].observation.size_px == (100, 80)
    review = played.steps[1].decision.review
    assert review is not None and review.verdict is ReviewVerdict.STEERED
    assert played.end is not None and played.end.outcome is not None and played.end.outcome.success


async def test_a_person_who_takes_over_while_the_model_decides_on_a_part_acts_on_the_whole(
    stub: SimpleNamespace,
) -> None:
    thought = Decision(actions=(WRONG,), text="that one", cost={"usd": 0.5})
    policy, sandbox = stub.Policy((PART,), thought, (Finish(),)), seen_whole(stub)
    hands = Hands(None, None, None, did(RIGHT))
    played = await play(stub, SteeredPolicy(policy, hands, person_s=30), sandbox)
    assert sandbox.actions == [RIGHT]
    step = played.steps[1]
    assert (step.observation.region, step.decision.actions) == (None, (RIGHT,))
    review = step.decision.review
    # what it was about to do is in pixels of what the step does not show
    assert review is not None and (review.verdict, review.proposed) == (ReviewVerdict.STEERED, None)
    assert step.decision.cost == {"usd": 0.5}


async def test_who_hands_back_after_a_closer_look_leaves_the_policy_with_it(stub: SimpleNamespace) -> None:
    policy, sandbox = stub.Policy((PART,), (Click(x=0, y=0),), (Finish(),)), seen_whole(stub)
    played = await play(stub, SteeredPolicy(policy, Hands(None, None, 0.01), person_s=30), sandbox)
    assert sandbox.actions == [Click(x=40, y=40)]
    assert played.steps[1].observation.region == (40, 40, 60, 56)


async def test_what_a_review_of_a_part_replaces_is_in_pixels_of_the_part(stub: SimpleNamespace) -> None:
    policy, sandbox = stub.Policy((PART,), (WRONG,), (Finish(),)), seen_whole(stub)
    person = Says(PersonsAnswer(by="ada", actions=(Click(x=0, y=0),)))

    class OnlyParts(ReviewedPolicy):
        async def act(self, context: Context) -> Decision:
            return await (super().act(context) if context.observation.region else policy.act(context))

    played = await play(stub, OnlyParts(policy, person, wait_s=30), sandbox)
    assert sandbox.actions == [Click(x=40, y=40)]
    assert played.steps[1].observation.region is not None


@pytest.mark.parametrize("asked", [0, 1])
async def test_holding_the_controls_without_acting_costs_neither_episode_nor_model_time(
    stub: SimpleNamespace, asked: int
) -> None:
    """Before the model is asked, or when it has decided."""
    hands = Hands(*[None] * asked, 3.0)
    policy = SteeredPolicy(stub.Policy((WRONG,)), hands, person_s=30)
    played = await play(stub, policy, stub.Sandbox(), model_s=2.0, seconds=2.5, turns=3)
    assert played.end is not None
    assert (played.end.stop_reason, len(played.steps)) == (StopReason.TURN_LIMIT, 3)


async def test_a_person_who_does_nothing_for_too_long_ends_the_wait(stub: SimpleNamespace) -> None:
    policy = SteeredPolicy(stub.Policy((WRONG,)), Hands(30.0), person_s=0.05)
    played = await play(stub, policy, stub.Sandbox())
    assert played.end is not None and played.end.failure is Failure.MODEL_TIMEOUT
    assert "did nothing within 0.05 s" in played.end.failure_detail


async def test_a_turn_reviewed_and_then_taken_over_waited_for_both(stub: SimpleNamespace) -> None:
    policy = ReviewedPolicy(stub.Policy((WRONG,)), Says(PersonsAnswer(by="bob")), wait_s=30)
    hands = Hands(None, did(RIGHT, Wait(seconds=0.0)))
    played = await play(stub, SteeredPolicy(policy, hands, person_s=30), stub.Sandbox(), turns=1)
    review = played.steps[0].decision.review
    assert review is not None and (review.verdict, review.by) == (ReviewVerdict.REPLACED, "ada")
    assert review.proposed is not None and review.proposed.actions == (WRONG,)
    assert review.waited_s >= 0.3
