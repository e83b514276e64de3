from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.types import Decision, Step, StepTimings, Trajectory, TrajectoryStart
from deskhand_sandbox.types import EnvironmentSpec, Observation, Split, Task, VerifierSpec
from deskhand_trainer.base.pages import SeenPage
from deskhand_trainer.config import SftConfig
from deskhand_trainer.errors import RunRefused
from deskhand_trainer.sft.run import run_sft


async def test_demonstrations_in_which_nothing_is_done_are_refused_and_change_nothing(
    bundle: ModelBundle, pages: list[SeenPage]
) -> None:
    """Turns there are, and none that could be imitated."""
    task = Task(id="t", environment=EnvironmentSpec(kind="fake"), verifier=VerifierSpec(name="fake"))
    start = TrajectoryStart(
        id="x", task=task, instruction="go", policy_id="p", policy_update=0, group_id=None, split=Split.TRAIN,
        started_at_s=0,
    )  # fmt: skip
    step = Step(
        index=0, observation=Observation(screenshot=pages[0].image, captured_at_s=0, settled_ms=0),
        decision=Decision(actions=(), text="?", error="no action"), reward=0.0,
        timings=StepTimings(model_ms=0, act_ms=0, settle_ms=0), finished_at_s=0,
    )  # fmt: skip
    void = Trajectory(start=start, steps=(step, replace(step, index=1)), end=None)
    before = [p.clone() for p in bundle.model.parameters()]
    nowhere: Any = None
    with pytest.raises(RunRefused, match="none of 2 demonstrations has a turn with an action to imitate"):
        await run_sft(bundle, [void, void], nowhere, SftConfig(perception_tasks=()))
    assert all((a == b).all() for a, b in zip(before, bundle.model.parameters(), strict=True))


async def test_a_released_model_is_refused_before_pages_are_collected(bundle: ModelBundle) -> None:
    nowhere: Any = None
    with pytest.raises(RunRefused, match=r"already sees.*perception_tasks=\[\]"):
        await run_sft(replace(bundle, tiny=None), [], nowhere, SftConfig())
