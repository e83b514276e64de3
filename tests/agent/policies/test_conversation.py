from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image as Picture

from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.errors import EndpointError
from deskhand_agent.memory import WindowMemory
from deskhand_agent.policies.conversation import conversation, shrunk
from deskhand_agent.prompt import ImageSegment
from deskhand_agent.types import Context, Decision, Step, StepTimings
from deskhand_sandbox.pictures import as_image, encoded
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


def test_a_picture_is_shrunk_to_what_is_asked_for() -> None:
    whole = encoded(Picture.effect_noise((60, 40), 50).convert("RGB"))
    assert shrunk(whole, (60, 40)) is whole
    smaller = shrunk(whole, (30, 20))
    assert (smaller.width_px, smaller.height_px) == (30, 20)


@pytest.mark.parametrize("kept", [0, 20, 300])
def test_a_damaged_picture_ends_its_episode_alone(kept: int) -> None:
    data = encoded(Picture.effect_noise((60, 40), 50).convert("RGB")).data or b""
    with pytest.raises(EndpointError, match="is not a readable picture"):
        shrunk(as_image(data[:kept] + b"\0" * 9, (60, 40)), (30, 20))
