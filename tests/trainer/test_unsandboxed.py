"""Turns and episodes without a sandbox."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from deskhand_agent.errors import EndpointError, InferenceTimeout
from deskhand_agent.types import Context, Decision
from deskhand_sandbox.backends.fake import FakeSandbox
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Wait
from deskhand_trainer.unsandboxed import decided, in_order


class Waits:
    id = "waits"
    reads_state = False

    async def act(self, context: Context) -> Decision:
        await asyncio.sleep(0.01)
        return Decision(actions=(Wait(seconds=1.0),), text=context.instruction)


async def test_a_turn_is_what_was_decided_on_what_was_shown() -> None:
    task = make_task("fake/press-button", 0)
    start = await FakeSandbox({}).reset(task)
    context = Context(task=task, instruction="press", steps=(), observation=start.observation)
    step = await decided(Waits(), context, index=3)
    assert (step.index, step.reward, step.observation) == (3, 0.0, start.observation)
    assert (step.decision.text, step.decision.actions) == ("press", (Wait(seconds=1.0),))
    assert step.timings.model_ms >= 9.0
    assert step.timings == replace(step.timings, act_ms=0.0, settle_ms=0.0)


async def test_so_many_at_a_time_and_in_order() -> None:
    under_way, most = 0, 0

    async def work(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(7 - number):
            await asyncio.sleep(0)
        under_way -= 1
        return 10 * number

    assert await in_order(work, range(7), concurrency=3) == ([10 * number for number in range(7)], {})
    assert most == 3


async def test_what_the_model_failed_in_is_left_out_and_told_and_more_than_half_is_an_error() -> None:
    async def work(number: int) -> int:
        if number == 5:
            raise InferenceTimeout("too late")
        if number % 2:
            raise EndpointError(f"{number} is gone")
        return number

    assert await in_order(work, range(6), concurrency=1) == (
        [0, 2, 4],
        {"model_error": 2, "model_timeout": 1},
    )
    with pytest.raises(EndpointError, match="1 is gone"):
        await in_order(work, (0, 1, 3), concurrency=1)
    assert await in_order(work, (), concurrency=1) == ([], {})
