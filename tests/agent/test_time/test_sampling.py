"""Several replies to one turn: one is acted, all are counted, the others stay beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.accounts import Account
from deskhand_agent.errors import EndpointError, InferenceTimeout, OracleError
from deskhand_agent.inference import Sampling
from deskhand_agent.models.bundle import build_tiny
from deskhand_agent.models.engine import EngineSettings, LocalEngine
from deskhand_agent.policies.local import LocalPolicy
from deskhand_agent.test_time.sampling import ManySamples, by_judge, by_majority
from deskhand_agent.types import Candidate, Context, Decision
from deskhand_sandbox.types import Click

CONTEXT: Any = None


def click(x: int, **more: Any) -> Decision:
    return Decision(actions=(Click(x=x, y=0),), text=f"click {x}", **more)


async def test_it_is_as_patient_as_the_policy_inside() -> None:
    inside = Says()
    assert ManySamples(inside, samples=2, choose=by_majority(1.0)).longest_s == 0.0
    inside.longest_s = 900.0  # type: ignore[attr-defined]
    assert ManySamples(inside, samples=2, choose=by_majority(1.0)).longest_s == 900.0


VOID = Decision(actions=(), text="?", error="no action")


class Says:
    """Gives its replies in turn, each once all have been asked for."""

    id = "says"

    def __init__(self, *replies: Decision | Exception) -> None:
        self.replies = list(replies)
        self.asked = 0
        self.most = asyncio.Event()

    async def act(self, context: Context) -> Decision:
        number, self.asked = self.asked, self.asked + 1
        if self.asked == len(self.replies):
            self.most.set()
        await asyncio.wait_for(self.most.wait(), 60)
        reply = self.replies[number]
        if isinstance(reply, Exception):
            raise reply
        return reply


class Judge:
    """Scores a click by its x."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def scores(self, context: Context, candidates: Sequence[Decision]) -> Sequence[float]:
        self.asked.append(len(candidates))
        return [each.actions[0].x / 100 if each.actions else 1.0 for each in candidates]  # type: ignore[union-attr]


async def acted(*replies: Decision | Exception, choose: Any = None) -> Decision:
    policy = ManySamples(Says(*replies), samples=len(replies), choose=choose or by_judge(Judge()))
    return await policy.act(CONTEXT)


async def test_the_best_of_all_is_acted_and_the_others_are_kept() -> None:
    done = await acted(click(10), click(90), click(50))
    assert (done.actions, done.rating) == ((Click(x=90, y=0),), 0.9)
    assert [(each.text, each.rating) for each in done.others] == [("click 10", 0.1), ("click 50", 0.5)]


async def test_a_reply_without_an_action_is_never_preferred() -> None:
    done = await acted(VOID, click(10))
    assert done.actions == (Click(x=10, y=0),) and done.others[0].rating == 1.0
    assert (await acted(VOID, VOID)).void


async def test_what_most_say_is_acted() -> None:
    done = await acted(click(10), click(61), click(60), choose=by_majority(5))
    assert (done.actions, done.rating) == ((Click(x=61, y=0),), 2 / 3)


async def test_what_all_of_them_cost_is_counted_once() -> None:
    dear = {"usd": 0.5, "completion_tokens": 3.0}
    done = await acted(click(1, cost=dear), click(2, cost=dear), click(3, cost={"usd": 1.0}))
    assert done.cost == {"usd": 2.0, "completion_tokens": 6.0}
    account = Account()
    account.add([SimpleNamespace(decision=done)])  # type: ignore[list-item]
    assert account.cost == done.cost


async def test_what_came_to_nothing_cost_something_too() -> None:
    broken = EndpointError("no reply", cost={"usd": 0.25, "nonsense": 2.0})
    late = InferenceTimeout("late", cost={"timeout": 1.0})
    done = await acted(broken, click(1, cost={"usd": 1.0}), late, EndpointError("down"))
    assert done.cost == {"usd": 1.25, "nonsense": 2.0, "timeout": 1.0}


async def test_one_that_fails_leaves_the_others_and_all_that_fail_the_turn() -> None:
    down = EndpointError("down")
    assert (await acted(down, click(5), down)).actions == (Click(x=5, y=0),)
    with pytest.raises(EndpointError, match="down"):
        await acted(down, down)
    with pytest.raises(OracleError):
        await acted(click(5), OracleError("lost"))


async def test_what_it_writes_into_its_memory_is_not_rated() -> None:
    judge = Judge()
    written = Decision(actions=(), text="so far", summary="so far")
    done = await acted(written, written, choose=by_judge(judge))
    assert (done.summary, done.rating, judge.asked) == ("so far", None, [])


async def test_the_turn_of_a_model_is_the_reply_that_is_acted(stub: SimpleNamespace) -> None:
    """Its ids are those that were sampled for it; the tokens of all are counted."""
    bundle = build_tiny()
    settings = EngineSettings(seed=3)
    async with LocalEngine(bundle, settings=settings) as engine:
        inside = LocalPolicy(bundle=bundle, engine=engine, sampling=Sampling(max_tokens=6))
        seen = pictured(stub)
        context = Context(task=stub.task(), instruction="Click", steps=(), observation=seen)
        done = await ManySamples(inside, samples=4, choose=by_majority(5)).act(context)
        assert engine.replies == 4
    assert done.trainable and done.request == inside.request(context)
    assert done.completion is not None and len(done.others) == 3
    drawn = [done.completion, *(each.completion for each in done.others)]
    assert all(each is not None and len(each.ids) == len(each.logprobs) for each in drawn)
    assert len({each.ids for each in drawn if each is not None}) > 1
    assert done.request is not None
    assert done.cost == {
        "prompt_tokens": 4.0 * len(done.request.prompt_ids),
        "completion_tokens": float(sum(len(each.ids) for each in drawn if each is not None)),
    }
    assert isinstance(done.others[0], Candidate)


def pictured(stub: SimpleNamespace) -> Any:
    from dataclasses import replace

    from PIL import Image as Picture

    from deskhand_sandbox.pictures import encoded

    return replace(stub.observation(), screenshot=encoded(Picture.new("RGB", (100, 80), "white")))
