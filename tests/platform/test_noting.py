"""What the worker's sink counts of an episode for its owner's stored bytes."""

from __future__ import annotations

import time
from dataclasses import replace

from PIL import Image as Picture

from deskhand_agent.branching import BRANCH_OF, SHARED_TURNS
from deskhand_agent.ids import new_id
from deskhand_agent.types import (
    Decision,
    Review,
    ReviewVerdict,
    Step,
    StepTimings,
    StopReason,
    TrajectoryEnd,
    TrajectoryStart,
)
from deskhand_flywheel.store import Store
from deskhand_platform.noting import Noting
from deskhand_sandbox.pictures import encoded
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, Observation, Split

SCREEN = encoded(Picture.new("RGB", (40, 30)))
SHOWN = Observation(screenshot=SCREEN, captured_at_s=1.0, settled_ms=1.0)
STEP = Step(
    index=0,
    observation=SHOWN,
    decision=Decision(actions=(Click(x=7, y=9),), text="click"),
    reward=0.0,
    timings=StepTimings(model_ms=1.0, act_ms=2.0, settle_ms=1.5),
    finished_at_s=1.0,
)


async def nobody(*_: object) -> None: ...


def started(**labels: str) -> TrajectoryStart:
    return TrajectoryStart(
        id=new_id(), task=make_task("fake/press-button", 1), instruction="", policy_id="p", policy_update=0,
        group_id=None, split=Split.TRAIN, started_at_s=time.time(), labels=labels,
    )  # fmt: skip


async def test_pictures_trees_and_outputs_count(store: Store) -> None:
    noting, start = Noting(store, nobody, attended=nobody), started()
    await noting.begin(start)
    picture = len(SCREEN.data or b"")
    seen = replace(SHOWN, text_tree="é" * 500, terminal="$ ls", output="\ud800")
    await noting.step(start.id, replace(STEP, observation=seen))
    assert noting.sizes[start.id] == picture + 1000 + 4 + 1
    end = TrajectoryEnd(
        final_observation=replace(SHOWN, text_tree="[1] button"),
        outcome=None,
        stop_reason=StopReason.TURN_LIMIT,
        failure=None,
        ended_at_s=time.time(),
    )
    await noting.end(start.id, end)
    assert noting.sizes[start.id] == 2 * picture + 1005 + 10


async def test_what_a_person_made_of_a_turn_is_noted_where_they_did(store: Store) -> None:
    """A branch has the turns before its own from the episode it left, the reviews on them included."""
    attended: list[None] = []

    async def attends() -> None:
        attended.append(None)

    noting = Noting(store, nobody, attended=attends)
    review = Review(verdict=ReviewVerdict.ACCEPTED, by="ada", waited_s=0.0)
    reviewed = replace(STEP, decision=replace(STEP.decision, review=review))
    branch = started(**{BRANCH_OF: "another", SHARED_TURNS: "2"})
    await noting.begin(branch)
    for index in range(3):
        await noting.step(branch.id, replace(reviewed, index=index))
    assert [(each.step_index, each.scorer) for each in await store.scores(branch.id)] == [(2, "human:ada")]
    assert len(attended) == 1
