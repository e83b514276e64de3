"""Turns in which something was done, thought or written."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from deskhand_agent.types import Decision, Step, StepTimings
from deskhand_sandbox.types import TypeText


@pytest.fixture
def step(stub: SimpleNamespace) -> Callable[..., Step]:
    def made(index: int, said: str, *, thought: str | None = None, wrote: bool = False) -> Step:
        return Step(
            index=index,
            observation=stub.observation(f"s{index}"),
            decision=Decision(
                actions=() if wrote else (TypeText(text=said),),
                text=said,
                thought=thought,
                summary=said if wrote else None,
            ),
            reward=0.0,
            timings=StepTimings(model_ms=1, act_ms=1, settle_ms=1),
            finished_at_s=1.0,
        )

    return made
