from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies.conversation import conversation
from deskhand_agent.prompt import ImageSegment
from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.types import Click


def step(stub: SimpleNamespace, index: int, **said: Any) -> Step:
    decided: dict[str, Any] = {"actions": (Click(x=index, y=index),), "text": "raw"} | said
    return Step(
        index=index,
        observation=stub.observation(f"s{index}"),
        decision=Decision(**decided),
        reward=0.0,
        timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
        finished_at_s=1.0,
    )


@pytest.mark.parametrize("strategy", ["window", "summary", "constant", "episodic", "operations"])
def test_every_answer_is_that_of_the_turn_shown_with_it(stub: SimpleNamespace, strategy: Any) -> None:
    writes = strategy not in ("window", "constant")
    wrote: dict[str, Any] = {"actions": (), "summary": "so far"} if writes else {}
    steps = tuple(step(stub, index, **(wrote if index == 4 else {})) for index in range(7))
    context = Context(task=stub.task(), instruction="Do.", steps=steps, observation=stub.observation("now"))
    memory = WindowMemory(strategy=strategy, n_screenshots=5, summary_after=99 if writes else 0)
    *past, now = conversation(context, memory=memory, coordinates=CoordinateSystem()).exchanges
    assert now.step is None and past
    for exchange in past:
        assert exchange.step is not None and exchange.step.decision.actions
        assert exchange.said == f"click(point='<point>{exchange.step.index} {exchange.step.index}</point>')"
        assert ImageSegment(image=exchange.step.observation.screenshot) in exchange.shown.segments
