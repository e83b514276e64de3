"""Early experience: what actions led to, and where a success and a failure parted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, picture, write

from deskhand_agent.episode import TRY_AGAIN
from deskhand_agent.types import Trajectory
from deskhand_flywheel.errors import UnknownFormat
from deskhand_flywheel.exchange import export_trajectories, import_trajectories
from deskhand_flywheel.exchange.experience import IMAGES, NEXT_STATES, REFLECTIONS
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import DatasetKind, SelectionRule
from deskhand_sandbox.types import Action, Click, Observation, TypeText

LEFT, RIGHT = Click(x=10, y=10), Click(x=90, y=10)
FIRST, MENU, DONE, LOST = 1, 2, 3, 4


def episode(
    name: str, *turns: tuple[int, Action | None], last: int, success: bool, **start: Any
) -> Trajectory:
    """Screens by number with what was done on each, and the last screen."""
    steps = tuple(
        make_step(
            index,
            image=picture(screen),
            actions=() if action is None else (action,),
            action_error="it is off the screen" if action == Click(x=999, y=1) else None,
        )
        for index, (screen, action) in enumerate(turns)
    )
    seen = Observation(screenshot=picture(last), captured_at_s=9.0, settled_ms=0.0)
    return make_trajectory(name, steps=steps, end=make_end(success=success, final_observation=seen), **start)


async def exported(store: Store, folder: Path, *trajectories: Trajectory) -> tuple[list[Any], list[Any]]:
    for each in trajectories:
        await write(store, each)
    await export_trajectories(store, [each.id for each in trajectories], folder, "experience")
    names = (NEXT_STATES, REFLECTIONS)
    lines = [list(map(json.loads, (folder / name).read_text().splitlines())) for name in names]
    for line in lines[0] + lines[1]:
        for key in ("image", "next_image", "rejected_image"):
            assert key not in line or (folder / line[key]).is_file()
    return lines[0], lines[1]


def image(number: int) -> str:
    return f"{IMAGES}/{picture(number).digest}.png"


async def test_every_turn_that_did_something_has_what_came_of_it(store: Store, tmp_path: Path) -> None:
    good = episode("good", (FIRST, LEFT), (MENU, TypeText(text="a")), last=DONE, success=True)
    bad = episode("bad", (FIRST, None), (FIRST, Click(x=999, y=1)), last=FIRST, success=False)
    states, _ = await exported(store, tmp_path / "out", good, bad)
    assert [(each["trajectory_id"], each["step"], each["image"], each["next_image"]) for each in states] == [
        ("good", 0, image(FIRST), image(MENU)),
        ("good", 1, image(MENU), image(DONE)),
        ("bad", 1, image(FIRST), image(FIRST)),
    ]
    assert [each["changed"] for each in states] == [True, True, False]
    assert [each["refused"] for each in states] == [None, None, "it is off the screen"]
    assert states[1]["action"] == "type(content='a')"
    assert len(list((tmp_path / "out" / IMAGES).iterdir())) == 3


async def test_where_a_success_and_a_failure_parted_is_reflected_on(store: Store, tmp_path: Path) -> None:
    good = episode("good", (FIRST, LEFT), (MENU, LEFT), last=DONE, success=True)
    lost = episode("lost", (FIRST, RIGHT), (LOST, LEFT), last=LOST, success=False)
    idle = episode("idle", (FIRST, Click(x=5, y=99)), (FIRST, Click(x=999, y=1)), last=FIRST, success=False)
    _, told = await exported(store, tmp_path / "out", good, lost, idle)
    assert {each["image"] for each in told} == {image(FIRST)}
    assert {(each["trajectory_id"], each["step"]) for each in told} == {("good", 0)}
    assert [(each["rejected_trajectory_id"], each["rejected_image"]) for each in told] == [
        ("lost", image(LOST)), ("idle", image(FIRST)), ("idle", image(FIRST))
    ]  # fmt: skip
    thoughts = [each["thought"] for each in told]
    assert "leads to another screen, from which the task was not done" in thoughts[0]
    assert "changes nothing" in thoughts[1] and "refused: it is off the screen" in thoughts[2]
    assert all(thought.endswith("on the way on which the task was done.") for thought in thoughts)


async def test_what_many_episodes_show_is_told_once(store: Store, tmp_path: Path) -> None:
    good = [episode(f"good {n}", (FIRST, LEFT), (MENU, LEFT), last=DONE, success=True) for n in range(3)]
    lost = [episode(f"lost {n}", (FIRST, RIGHT), (LOST, LEFT), last=LOST, success=False) for n in range(3)]
    other = episode("other", (FIRST, TypeText(text="a")), last=DONE, success=True)
    elsewhere = [replace(each, start=replace(each.start, id=f"{each.id} 7")) for each in (good[0], lost[0])]
    elsewhere = [
        replace(each, start=replace(each.start, task=replace(each.start.task, seed=7))) for each in elsewhere
    ]
    _, told = await exported(store, tmp_path / "out", *good, *lost, other, *elsewhere)
    assert [(each["trajectory_id"], each["rejected_trajectory_id"]) for each in told] == [
        ("good 0", "lost 0"), ("other", "lost 0"), ("good 0 7", "lost 0 7")
    ]  # fmt: skip


async def test_another_way_is_no_mistake_and_another_start_no_comparison(
    store: Store, tmp_path: Path
) -> None:
    good = episode("good", (FIRST, LEFT), (MENU, LEFT), last=DONE, success=True)
    # the same action; another to the same screen; the same screen of another seed
    same = episode("same", (FIRST, LEFT), last=LOST, success=False)
    other_way = episode("way", (FIRST, RIGHT), (MENU, None), last=MENU, success=False)
    other_seed = episode("seed", (FIRST, RIGHT), last=LOST, success=False, seed=7)
    _, told = await exported(store, tmp_path / "out", good, same, other_way, other_seed)
    assert told == []


async def test_an_attempt_before_another_failed_and_its_last_turn_led_nowhere(
    store: Store, tmp_path: Path
) -> None:
    turns = (FIRST, RIGHT), (LOST, LEFT), (FIRST, LEFT), (MENU, LEFT)
    tried = episode("tried", *turns, last=DONE, success=True)
    told = (tried.steps[0], replace(tried.steps[1], answer=TRY_AGAIN), *tried.steps[2:])
    states, reflected = await exported(store, tmp_path / "out", replace(tried, steps=told))
    assert [(each["step"], each["next_image"]) for each in states] == [
        (0, image(LOST)), (2, image(MENU)), (3, image(DONE))
    ]  # fmt: skip
    assert [(each["step"], each["rejected_step"]) for each in reflected] == [(2, 0)]


async def test_a_route_makes_a_dataset_of_both_and_it_only_goes_out(store: Store, tmp_path: Path) -> None:
    good = episode("good", (FIRST, LEFT), last=DONE, success=True)
    bad = episode("bad", (FIRST, RIGHT), last=LOST, success=False)
    await exported(store, tmp_path / "out", good, bad)
    made = await store.select_dataset("mine/experience", SelectionRule.EXPERIENCE, held_out=())
    assert made.kind is DatasetKind.EARLY_EXPERIENCE and set(made.trajectory_ids) == {"good", "bad"}
    assert await store.dataset("mine/experience") == made
    with pytest.raises(UnknownFormat, match="only goes out"):
        await import_trajectories(store, tmp_path / "out", format="experience")
