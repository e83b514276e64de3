"""Episodes that need no sandbox, against a recording or oneself: a turn of one, and many at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from deskhand_agent.errors import AgentError
from deskhand_agent.types import Context, Policy, Step, StepTimings

Item = TypeVar("Item")
Made = TypeVar("Made")


async def decided(policy: Policy, context: Context, *, index: int) -> Step:
    """The turn in which a policy decides on what it is shown; nothing is done, and nothing earned yet.

    Args:
        index: of the turn.

    Raises:
        AgentError: the model failed.
    """
    began = time.monotonic()
    decision = await policy.act(context)
    return Step(
        index=index,
        observation=context.observation,
        decision=decision,
        reward=0.0,
        timings=StepTimings(model_ms=1000 * (time.monotonic() - began), act_ms=0.0, settle_ms=0.0),
        finished_at_s=time.time(),
    )


async def in_order(
    work: Callable[[Item], Awaitable[Made]], items: Iterable[Item], *, concurrency: int
) -> list[Made]:
    """What the work makes of each, so many at a time; what the model failed in is left out.

    Raises:
        AgentError: it failed in more than half of them.
    """
    gate = asyncio.Semaphore(concurrency)
    errors: list[AgentError] = []

    async def one(item: Item) -> list[Made]:
        async with gate:
            try:
                return [await work(item)]
            except AgentError as error:
                errors.append(error)
                return []

    done = await asyncio.gather(*map(one, items))
    if 2 * len(errors) > len(done):
        raise errors[0]
    return [made for each in done for made in each]
