"""Rolling out against what an expert recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deskhand_agent.errors import EndpointError, InferenceTimeout
from deskhand_agent.sinks import MemorySink
from deskhand_agent.types import Context, Decision, Fault, StopReason, Trajectory
from deskhand_agent.worker import Job, run_episodes
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Action, AskUser, Click, Drag, Limits, Press, Scroll, TypeText
from deskhand_trainer.semi_online import SemiOnline, all_beside, beside, nearness

SIZE = (160, 200)
EXPERT: tuple[Action, ...] = (
    Click(x=50, y=100),
    TypeText(text="ada"),
    Press(keys=("Enter",)),
    Click(x=9, y=9),
)


@pytest.mark.parametrize(
    ("said", "expert", "reward"),
    [
        ((), (Click(x=50, y=100),), 0.0),
        ((TypeText(text="ada"),), (Click(x=50, y=100),), 0.1),
        ((Click(x=50, y=100), Click(x=1, y=1)), (Click(x=50, y=100),), 0.1),
        ((Click(x=70, y=100),), (Click(x=50, y=100),), 0.5),
        ((Click(x=60, y=100),), (Click(x=50, y=100),), 1.0),
        ((Click(x=50, y=100, count=2),), (Click(x=50, y=100),), 0.5),
        ((Click(x=50, y=100, button="right"),), (Click(x=50, y=100),), 0.5),
        ((TypeText(text="ada "),), (TypeText(text="ada"),), 1.0),
        ((TypeText(text="Ada"),), (TypeText(text="ada"),), 0.5),
        ((Press(keys=("Tab",)),), (Press(keys=("Enter",)),), 0.5),
        ((Scroll(x=9, y=9, dy_px=300),), (Scroll(x=90, y=90, dy_px=100),), 1.0),
        ((Scroll(x=9, y=9, dy_px=-100),), (Scroll(x=9, y=9, dy_px=100),), 0.5),
        ((Scroll(x=9, y=9, dx_px=-100),), (Scroll(x=9, y=9, dx_px=100),), 0.5),
        ((Drag(path=((1, 1), (9, 50), (80, 80))),), (Drag(path=((2, 2), (78, 82))),), 1.0),
        ((Drag(path=((1, 1), (80, 120))),), (Drag(path=((2, 2), (78, 82))),), 0.5),
        ((Drag(path=((1, 40), (80, 80))),), (Drag(path=((2, 2), (78, 82))),), 0.5),
    ],
)
def test_nearness(said: tuple[Action, ...], expert: tuple[Action, ...], reward: float) -> None:
    assert nearness(said, expert, SIZE, 0.05) == pytest.approx(reward)


class Says:
    id = "says"
    reads_state = False

    def __init__(self, *actions: Action) -> None:
        self.actions, self.seen = list(actions), list[Context]()

    async def act(self, context: Context) -> Decision:
        self.seen.append(context)
        return Decision(actions=(self.actions[len(context.steps)],), text="says")


@pytest.fixture
async def expert() -> Trajectory:
    """Four turns on a screen that shows what was typed."""
    task = make_task("fake/never-done", 0)
    task = replace(task, limits=Limits(turns=len(EXPERT), seconds=30))

    class Source:
        def lease(self, kind: str, **_: Any) -> FakeSandbox:
            return FakeSandbox({})

    source: Any = Source()
    sink = MemorySink()
    await run_episodes([Job(task=task)], source=source, policy=Says(*EXPERT), sink=sink, concurrency=1)
    return sink.trajectories[0]


async def go(expert: Trajectory, policy: Says, patches: int) -> Trajectory:
    return await beside(expert, policy, SemiOnline(patches=patches), group_id="g", policy_update=7)


async def test_doing_what_the_expert_did_is_success(expert: Trajectory) -> None:
    policy = Says(*EXPERT)
    done = await go(expert, policy, 0)
    assert [step.reward for step in done.steps] == [1.0] * 4
    assert [step.observation for step in done.steps] == [step.observation for step in expert.steps]
    assert done.end is not None and done.end.outcome is not None
    assert (done.end.outcome.success, done.end.outcome.score) == (True, 1.0)
    assert (done.start.group_id, done.start.policy_update, done.start.policy_id) == ("g", 7, "says")
    assert done.id != expert.id


async def test_where_it_strays_the_expert_takes_the_turns_place(expert: Trajectory) -> None:
    policy = Says(EXPERT[0], TypeText(text="bob"), *EXPERT[2:])
    done = await go(expert, policy, 1)
    assert [step.reward for step in done.steps] == [1.0, 0.5, 1.0, 1.0]
    assert done.steps[1].decision.actions == (TypeText(text="bob"),)
    # its past shows what the screen is of: the expert's action
    assert policy.seen[2].steps[1].decision.actions == (EXPERT[1],)
    assert policy.seen[2].steps[0].decision.actions == (EXPERT[0],)
    assert done.end is not None and done.end.outcome is not None
    assert (done.end.outcome.success, done.end.outcome.score) == (False, 3 / 4)
    assert done.end.stop_reason is StopReason.FINISHED


async def test_its_past_says_what_came_of_the_experts_turns(expert: Trajectory) -> None:
    """What the user replied, and what went wrong; of its own void reply nothing is left where he acted."""
    asks = replace(
        expert.steps[0], decision=Decision(actions=(AskUser(question="who?"),), text="ask"), answer="ada"
    )
    fails = replace(expert.steps[1], action_error="no such field")
    asked = replace(expert, steps=(asks, fails, *expert.steps[2:]))

    class Mumbles(Says):
        async def act(self, context: Context) -> Decision:
            decision = await super().act(context)
            if len(context.steps) != 1:
                return decision
            return replace(decision, actions=(), error="no action", fault=Fault.SYNTAX)

    policy = Mumbles(AskUser(question="who?"), *EXPERT[1:])
    done = await go(asked, policy, 1)
    first, second = policy.seen[2].steps
    assert (first.answer, second.action_error) == ("ada", "no such field")
    shown = second.decision
    assert (shown.actions, shown.error, shown.fault) == ((EXPERT[1],), None, None)
    # what it learns from is its own
    assert done.steps[1].decision.error == "no action" and done.steps[0].answer is None


async def test_once_too_often_ends_it(expert: Trajectory) -> None:
    wrong = Click(x=150, y=190)
    done = await go(expert, Says(EXPERT[0], wrong, wrong, EXPERT[3]), 1)
    assert [step.reward for step in done.steps] == pytest.approx([1.0, 0.1, 0.1])
    assert done.end is not None and done.end.outcome is not None
    assert done.end.outcome.score == pytest.approx(1 / 4)
    assert done.end.stop_reason is StopReason.TERMINATED
    at_once = await go(expert, Says(wrong), 0)
    assert at_once.end is not None and at_once.end.outcome is not None
    assert (len(at_once.steps), at_once.end.outcome.score) == (1, 0.0)


async def test_groups_of_each_expert_in_order(expert: Trajectory) -> None:
    other = replace(expert, start=replace(expert.start, id="other"))
    told: dict[str, Any] = {"concurrency": 3, "policy_update": 0}
    found, dropped = await all_beside([expert, other], Says(*EXPERT), SemiOnline(), group_size=2, **told)
    assert len(found) == 4 and dropped == {}
    assert found[0].start.group_id == found[1].start.group_id != found[2].start.group_id
    single, _ = await all_beside([expert], Says(*EXPERT), SemiOnline(), group_size=1, **told)
    assert single[0].start.group_id is None


async def test_what_the_model_fails_in_is_left_out_and_told(expert: Trajectory) -> None:
    class FailsOnce(Says):
        failed = False

        async def act(self, context: Context) -> Decision:
            if not self.failed:
                self.failed = True
                raise InferenceTimeout("too late")
            return await super().act(context)

    found, dropped = await all_beside(
        [expert], FailsOnce(*EXPERT), SemiOnline(), group_size=2, concurrency=1, policy_update=0
    )
    assert len(found) == 1 and dropped == {"model_timeout": 1}


async def test_a_model_that_fails_mostly_is_an_error(expert: Trajectory) -> None:
    class Fails(Says):
        async def act(self, context: Context) -> Decision:
            raise EndpointError("gone")

    with pytest.raises(EndpointError):
        await all_beside([expert], Fails(), SemiOnline(), group_size=2, concurrency=1, policy_update=0)
