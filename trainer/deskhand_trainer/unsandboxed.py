"""Episodes that need no sandbox, against a recording or oneself: a turn of one, and many at a time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TypeVar

from deskhand_agent.ending import failed_end
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
) -> tuple[list[Made], Mapping[str, int]]:
    """What the work makes of each, so many at a time; what the model failed in is left out.

    Returns:
        Both what was made, and how often the model failed, by kind (`Failure`).

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
    failures = (failed_end(error, after_setup=True).failure for error in errors)
    dropped = Counter(failure.value for failure in failures if failure is not None)
    return [made for each in done for made in each], dropped
