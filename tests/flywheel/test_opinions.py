"""What was said of steps, one after the other."""

from __future__ import annotations

import pytest
from flywheel_episodes import make_end, make_start, make_step, make_trajectory, write

from deskhand_flywheel import database
from deskhand_flywheel import opinions as module
from deskhand_flywheel.opinions import Opinion, opinions
from deskhand_flywheel.prm.targets import LabelSource, targets_from
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import StepScore, TrajectoryFilter

DATABASES = ("sqlite", "postgresql")


async def test_people_and_judges_on_steps_of_whole_trajectories(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAGE", 2)
    await write(store, make_trajectory("a", end=make_end(), labels={"run": "1"}))
    await write(store, make_trajectory("b", end=make_end()))
    await store.begin(make_start("running"))
    await store.step("running", make_step(0))
    await store.mark("a", 1, "ada", 0.0, "Back again.")
    await store.mark("a", 1, "bob", 1.0)
    await store.mark("b", 0, "ada", 1.0)
    await store.mark("b", None, "ada", 1.0)

    def judged(trajectory_id: str, scorer: str) -> StepScore:
        return StepScore(trajectory_id=trajectory_id, step_index=0, score=0.5, scorer=scorer, rationale="So.")

    await store.add_scores(
        [
            judged("a", "judge:m@1"),
            judged("a", "judge:m@2"),
            judged("a", "prm:x"),
            judged("running", "judge:m@1"),
        ]
    )
    said = [opinion async for opinion in opinions(store)]
    assert said == [
        ("a", 0, 0.5, "So.", "judge:m@1"),
        ("a", 0, 0.5, "So.", "judge:m@2"),
        ("a", 1, 0.0, "Back again.", "human:ada"),
        ("a", 1, 1.0, None, "human:bob"),
        ("b", 0, 1.0, None, "human:ada"),
    ]
    assert isinstance(said[0], Opinion)
    chosen = TrajectoryFilter(labels={"run": "1"})
    assert [o.source async for o in opinions(store, chosen, sources=("judge:m@2", "human"))] == [
        "judge:m@2",
        "human:ada",
        "human:bob",
    ]
    assert [o async for o in opinions(store, sources=())] == []


async def test_of_some_trajectories_alone_no_other_row_is_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_AT_ONCE", 2)
    monkeypatch.setattr(module, "_PAGE", 3)
    for name in "abcde":
        await write(store, make_trajectory(name, end=make_end()))
        await store.mark(name, 0, "ada", 1.0)
        await store.mark(name, 1, "ada", 0.0)
    made: list[tuple[object, ...]] = []
    monkeypatch.setattr(module, "Opinion", lambda *values: made.append(values) or Opinion(*values))
    said = [o async for o in opinions(store, trajectory_ids=["d", "a", "b", "a", "gone"])]
    assert [(o.trajectory_id, o.step_index) for o in said] == [(name, at) for name in "abd" for at in (0, 1)]
    made.clear()
    await targets_from(store, [LabelSource.HUMAN], ["b"])
    assert {values[0] for values in made} == {"b"}
    assert [o async for o in opinions(store, trajectory_ids=[])] == []
