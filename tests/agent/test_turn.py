from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.time_limits import TimeLimit
from deskhand_agent.turn import Deadlines, TurnRunner
from deskhand_agent.types import StopReason
from deskhand_agent.users import Conversation, by_rule
from deskhand_sandbox.errors import InvalidAction, SandboxTimeout, UnsupportedCapability
from deskhand_sandbox.types import (
    Action,
    Answer,
    Click,
    Finish,
    KeyDown,
    KeyUp,
    Observation,
    PointerDown,
    PointerUp,
    Run,
    Touch,
    TypeText,
    Zoom,
)

pytestmark = pytest.mark.usefixtures("simulated_time")


def telling(stub: SimpleNamespace, *, act: dict[int, Exception] | None = None) -> Any:
    """A sandbox whose commands return their own words, and that clicks return nothing."""

    class Telling(stub.Sandbox):
        async def act(self, action: Action) -> Observation:
            seen = await super().act(action)
            return replace(seen, output=action.command) if isinstance(action, Run) else seen

    return Telling(act=act or {})


def runner(stub: SimpleNamespace, sandbox: Any, *, seconds: float = 30.0, act_s: float = 1.0) -> TurnRunner:
    sandbox.wanted = 100
    return TurnRunner(
        sandbox,
        stub.Rewards(),
        policy=stub.Policy(),
        deadlines=Deadlines(act_s=act_s),
        limit=TimeLimit(seconds),
        user=Conversation(by_rule, stub.task(), "", answer_s=1.0),
    )


async def test_rewards_and_settle_times_of_a_turn_add_up(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    actions = [TypeText(text="a"), Answer(text="b"), Click(x=1, y=1)]
    result = await runner(stub, sandbox).run(actions, stub.observation("before"))
    assert (result.reward, result.settle_ms, result.answer, result.stop) == (2.0, 6.0, "b", None)
    assert result.observation == stub.observation("2")


async def test_no_actions_change_nothing(stub: SimpleNamespace) -> None:
    result = await runner(stub, stub.Sandbox()).run((), stub.observation("before"))
    assert (result.observation, result.reward, result.stop) == (stub.observation("before"), 0.0, None)


async def test_nothing_follows_the_end(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    result = await runner(stub, sandbox).run([Finish(), TypeText(text="late")], stub.observation())
    assert (result.stop, sandbox.actions) == (StopReason.FINISHED, [])


async def test_what_a_kind_cannot_do_is_the_agents_error(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox(act={0: UnsupportedCapability("a stub sandbox has no terminal")})
    result = await runner(stub, sandbox).run([Run(command="ls")], stub.observation("before"))
    assert result.action_error == "a stub sandbox has no terminal"
    assert result.observation == stub.observation("before")


@pytest.mark.parametrize("at", [(1, 1), (101, 1)])
async def test_what_was_held_for_an_action_that_failed_is_let_go_of(
    stub: SimpleNamespace, at: tuple[int, int]
) -> None:
    sandbox = stub.Sandbox(act={3: InvalidAction("nothing is there")})
    down = (KeyDown(key="a"), KeyDown(key="Shift"), PointerDown())
    after = (
        TypeText(text="late"),
        PointerUp(button="right"),
        KeyUp(key="Shift"),
        PointerUp(),
        KeyUp(key="b"),
    )
    actions = [*down, Click(x=at[0], y=at[1]), *after]
    result = await runner(stub, sandbox).run(actions, stub.observation("before"))
    assert result.action_error == "nothing is there"
    assert sandbox.actions == [*down, KeyUp(key="Shift"), PointerUp()]
    assert result.observation == stub.observation("6")


async def test_what_cannot_be_let_go_of_hides_no_error(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox(act={1: InvalidAction("first"), 2: InvalidAction("second")})
    actions = [KeyDown(key="Shift"), Click(x=1, y=1), KeyUp(key="Shift")]
    assert (await runner(stub, sandbox).run(actions, stub.observation())).action_error == "first"


async def test_actions_that_come_after_the_time_limit_are_left(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    actions = [KeyDown(key="a"), Click(x=1, y=1), KeyUp(key="b"), KeyUp(key="a"), Finish()]
    result = await runner(stub, sandbox, seconds=-1.0).run(actions, stub.observation("before"))
    assert sandbox.actions == [KeyDown(key="a"), KeyUp(key="a")]
    assert result.stop is StopReason.TIME_LIMIT
    assert result.action_error == "the episode's time was up before Click"
    assert (result.reward, result.observation) == (2.0, stub.observation("2"))


async def test_what_ended_the_episode_in_its_last_moment_counts(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox()
    late = runner(stub, sandbox, seconds=-1.0)
    sandbox.wanted = 1
    result = await late.run([Click(x=10, y=10), TypeText(text="late")], stub.observation())
    assert (result.stop, result.action_error) == (StopReason.TERMINATED, None)
    assert sandbox.actions == [Click(x=10, y=10)]


async def test_a_command_gets_the_time_it_asks_for_and_no_more_than_is_left(stub: SimpleNamespace) -> None:
    sandbox = stub.Sandbox(act={0: stub.HANG})
    began = time.monotonic()
    with pytest.raises(SandboxTimeout, match="Run took more than"):
        await runner(stub, sandbox, seconds=0.2, act_s=0.1).run([Run(command="yes")], stub.observation())
    assert 0.25 < time.monotonic() - began < 5


@pytest.mark.parametrize("action", [TypeText(text="a" * 8), Touch(x=1, y=1, hold_ms=400)])
async def test_an_action_has_the_time_it_takes_in_itself(stub: SimpleNamespace, action: Action) -> None:
    sandbox = stub.Sandbox()
    act = sandbox.act

    async def slowly(action: Action) -> Observation:
        await asyncio.sleep(0.2)
        return await act(action)

    sandbox.act = slowly
    result = await runner(stub, sandbox, act_s=0.1).run([action], stub.observation())
    assert (result.action_error, sandbox.actions) == (None, [action])


async def test_what_each_action_returned_is_seen_after_the_last(stub: SimpleNamespace) -> None:
    actions = [Run(command="one"), Run(command=""), Click(x=1, y=1), Run(command="two"), Click(x=2, y=2)]
    result = await runner(stub, telling(stub)).run(actions, stub.observation("before", output="earlier"))
    assert result.observation == stub.observation("5", output="one\ntwo")
    only = await runner(stub, telling(stub)).run([Run(command="")], stub.observation())
    assert only.observation.output == ""
    none = await runner(stub, telling(stub)).run([Click(x=1, y=1)], stub.observation(output="earlier"))
    assert none.observation.output is None


async def test_what_an_action_returned_is_seen_where_a_later_one_fails(stub: SimpleNamespace) -> None:
    sandbox = telling(stub, act={2: InvalidAction("nothing is there")})
    actions = [KeyDown(key="a"), Run(command="one"), Click(x=1, y=1), KeyUp(key="a")]
    result = await runner(stub, sandbox).run(actions, stub.observation())
    assert (result.action_error, result.observation.output) == ("nothing is there", "one")


async def test_a_closer_look_hides_nothing_that_was_returned(
    stub: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = stub.observation("part", region=(0, 0, 10, 10))
    monkeypatch.setattr("deskhand_agent.turn.zoomed", lambda action, screen: part)
    actions = [Run(command="one"), Zoom(start=(0, 0), end=(9, 9))]
    result = await runner(stub, telling(stub)).run(actions, stub.observation())
    assert result.observation == replace(part, output="one")
