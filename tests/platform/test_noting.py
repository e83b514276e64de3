"""What the worker's sink counts of an episode for its owner's stored bytes."""

from __future__ import annotations

import time
from dataclasses import replace

from PIL import Image as Picture

from deskhand_agent.ids import new_id
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.store import Store
from deskhand_platform.noting import Noting
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Observation, Split


async def test_pictures_trees_and_outputs_count(store: Store) -> None:
    async def nobody(*_: object) -> None: ...

    noting = Noting(store, nobody, attended=nobody)
    start = TrajectoryStart(
        id=new_id(), task=make_task("fake/press-button", 1), instruction="", policy_id="p", policy_update=0,
        group_id=None, split=Split.TRAIN, started_at_s=time.time(), labels={},
    )  # fmt: skip
    await noting.begin(start)
    screen = encoded(Picture.new("RGB", (40, 30)))
    shown = Observation(screenshot=screen, captured_at_s=1.0, settled_ms=1.0)
    picture = len(screen.data or b"")
    step = Step(
        index=0,
        observation=replace(shown, text_tree="é" * 500, terminal="$ ls", output="\ud800"),
        decision=Decision(actions=(Click(x=7, y=9),), text="click"),
        reward=0.0,
        timings=StepTimings(model_ms=1.0, act_ms=2.0, settle_ms=1.5),
        finished_at_s=time.time(),
    )
    await noting.step(start.id, step)
    assert noting.sizes[start.id] == picture + 1000 + 4 + 1
    end = TrajectoryEnd(
        final_observation=replace(shown, text_tree="[1] button"),
        outcome=None,
        stop_reason=StopReason.TURN_LIMIT,
        failure=None,
        ended_at_s=time.time(),
    )
    await noting.end(start.id, end)
    assert noting.sizes[start.id] == 2 * picture + 1005 + 10
