"""Routes: rules as data, and what they leave out of a dataset."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from flywheel_episodes import make_end, make_step, make_trajectory, picture, write

from deskhand_agent.types import Trajectory
from deskhand_flywheel.curation import Candidate, thinned
from deskhand_flywheel.errors import EmptySelection, InvalidRoutes
from deskhand_flywheel.routing import load_routes, read_routes
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule, Sieve, TrajectoryFilter
from deskhand_sandbox.types import Click, Split

DATABASES = ("sqlite", "postgresql")
HELD_OUT = ("miniwob/secret",)


def episode(
    name: str, *, task: str = "miniwob/easy", success: bool = True, screen: int = 0, x: int = 70
) -> Trajectory:
    """One click on one screen."""
    step = make_step(0, actions=(Click(x=x, y=92),), image=picture(screen))
    return make_trajectory(name, steps=(step,), end=make_end(success=success), task_id=task)


def test_without_rules_of_one_s_own_nothing_is_thrown_away() -> None:
    routes = read_routes({})
    assert {route.name: route.rule for route in routes} == {
        "sft": SelectionRule.SUCCESS,
        "rejected": SelectionRule.FAILURE,
        "pool": SelectionRule.ALL,
    }
    assert {route.sieve for route in routes} == {Sieve()}


def test_rules_are_laid_on_the_default_ones(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(
        "sft: {unique: true}\nrejected: null\nhard: {outcome: success, least_success: 0.1, most_success: 0.5}"
    )
    routes = {route.name: route for route in load_routes(file)}
    assert list(routes) == ["sft", "pool", "hard"]
    assert routes["sft"].rule is SelectionRule.SUCCESS and routes["sft"].sieve == Sieve(unique=True)
    assert routes["hard"].sieve == Sieve(least_success=0.1, most_success=0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sft: {uniqe: true}", "route sft: no 'uniqe'; did you mean unique"),
        ("mine: {unique: true}", "route mine.outcome: no None; there are success, failure, all"),
        ("mine: {outcome: sucess}", "did you mean success"),
        ("sft: {unique: 1}", "route sft: not a Sieve: .*expected bool"),
        ("sft: {least_success: 0.9, most_success: 0.1}", "go from 0 to 1"),
        ("sft: {most_success: .nan}", "go from 0 to 1"),
        ("sft: {thin_above: 2}", "thin_above goes from 0 to 1"),
        ("sft: {thin_to: -1}", "thin_to from 0"),
        ("sft: yes", "route sft: expected a mapping"),
        ("- sft", "expected a mapping of routes"),
        ("sft: {", "is no YAML"),
    ],
)
def test_rules_that_make_no_sense_are_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(InvalidRoutes, match=said):
        load_routes(tmp_path / "rules.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRoutes, match=r"nothing\.yaml cannot be read"):
        load_routes(tmp_path / "nothing.yaml")


async def test_a_band_takes_tasks_by_how_often_they_succeed(store: Store) -> None:
    for number in range(4):
        await write(store, episode(f"easy {number}", task="t/easy", x=number))
        await write(store, episode(f"fair {number}", task="t/fair", x=number, success=number % 2 == 0))
        await write(store, episode(f"hard {number}", task="t/hard", x=number, success=False))
    band = Sieve(least_success=0.25, most_success=0.75)
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=band, held_out=())
    assert made.trajectory_ids == tuple(f"fair {number}" for number in range(4))
    assert made.recipe["left_out"] == {"difficulty": 8}
    # the band is of all episodes of a task, whatever the rule takes of them
    made = await store.select_dataset("d", SelectionRule.SUCCESS, sieve=band, held_out=())
    assert made.trajectory_ids == ("fair 0", "fair 2")
    # its bounds are in it
    edge = Sieve(least_success=1.0)
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=edge, held_out=())
    assert {name.split()[0] for name in made.trajectory_ids} == {"easy"}


async def test_of_tasks_that_mostly_succeed_the_newest_few_are_taken(store: Store) -> None:
    for number in range(5):
        await write(store, episode(f"easy {number}", task="t/easy", x=number, success=number != 4))
        await write(store, episode(f"fair {number}", task="t/fair", x=number, success=number < 3))
    made = await store.select_dataset("d", SelectionRule.SUCCESS, sieve=Sieve(thin_to=2), held_out=())
    # three of five is no more than .6
    assert made.trajectory_ids == ("easy 2", "easy 3", "fair 0", "fair 1", "fair 2")
    assert made.recipe["left_out"] == {"thinned": 2}
    sieve = Sieve(thin_to=1, thin_above=0.5)
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=sieve, held_out=())
    assert made.trajectory_ids == ("easy 4", "fair 4")


def test_thinning_many_episodes_takes_time_by_their_number() -> None:
    many = [Candidate(id=f"{n:06}", task_id="t", success=True, turns=3) for n in range(40_000)]
    begun = time.process_time()
    assert len(thinned(many, [each.id for each in many], Sieve(thin_to=8))) == 39_992
    assert time.process_time() - begun < 1


async def test_what_took_longer_than_the_longest_success_is_left_out(store: Store) -> None:
    def long(name: str, turns: int, *, task: str = "t/a", success: bool = False) -> Trajectory:
        steps = tuple(make_step(n, actions=(Click(x=n, y=turns),)) for n in range(turns))
        return make_trajectory(name, steps=steps, end=make_end(success=success), task_id=task)

    for each in (
        long("won in 2", 2, success=True), long("won in 3", 3, success=True), long("lost in 3", 3),
        long("lost in 4", 4), long("never won", 9, task="t/b"),
    ):  # fmt: skip
        await write(store, each)
    sieve = Sieve(within_longest=True)
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=sieve, held_out=())
    assert made.trajectory_ids == ("lost in 3", "never won", "won in 2", "won in 3")
    assert made.recipe["left_out"] == {"overlong": 1}


async def test_a_task_that_always_failed_gets_a_stored_success(store: Store) -> None:
    """Of other rounds: the newest, of training seeds, and not what begins as a held-out task does."""
    now = {"labels": {"round": "2"}}
    for name, task, success, more in (
        ("1 won", "t/a", True, {}), ("2 won", "t/a", True, {}), ("3 lost", "t/a", False, now),
        ("3 won", "t/b", True, now), ("2 b won", "t/b", True, {}), ("3 c lost", "t/c", False, now),
        ("9 test", "t/a", True, {"split": Split.TEST}), ("2 d won", "t/d", True, {}),
        ("3 d lost", "t/d", False, now), ("0 secret", HELD_OUT[0], True, {}),
    ):  # fmt: skip
        screen = 7 if "secret" in name or name == "2 d won" else len(name)
        steps = (make_step(0, image=picture(screen)),)
        await write(
            store, make_trajectory(name, steps=steps, end=make_end(success=success), task_id=task, **more)
        )
    chosen, sieve = TrajectoryFilter(labels={"round": "2"}), Sieve(rescue=True)
    made = await store.select_dataset("d", SelectionRule.ALL, chosen, sieve=sieve, held_out=HELD_OUT)
    assert made.trajectory_ids == ("2 won", "3 c lost", "3 d lost", "3 lost", "3 won")
    made = await store.select_dataset("d", SelectionRule.SUCCESS, chosen, sieve=sieve, held_out=HELD_OUT)
    assert made.trajectory_ids == ("2 won", "3 won")
    made = await store.select_dataset("d", SelectionRule.FAILURE, chosen, sieve=sieve, held_out=HELD_OUT)
    assert made.trajectory_ids == ("3 c lost", "3 d lost", "3 lost")


async def test_the_same_actions_on_the_same_screens_are_taken_once(store: Store) -> None:
    for name, change in {"a": {}, "b": {}, "c": {"x": 71}, "d": {"screen": 1}}.items():
        await write(store, episode(name, **change))
    said_otherwise = episode("e")
    (step,) = said_otherwise.steps
    other = replace(step, decision=replace(step.decision, thought="In other words."), reward=0.5)
    await write(store, replace(said_otherwise, steps=(other,)))
    # one that goes on after the same first turn did something else
    await write(store, replace(episode("f"), steps=(step, replace(step, index=1))))
    told_otherwise = make_trajectory("g", steps=episode("a").steps, end=make_end(), instruction="Click it.")
    read_otherwise = episode("h")
    seen = replace(read_otherwise.steps[0].observation, output="3 files")
    await write(store, told_otherwise)
    await write(store, replace(read_otherwise, steps=(replace(step, observation=seen),)))
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=Sieve(unique=True), held_out=())
    assert made.trajectory_ids == ("a", "c", "d", "f", "g", "h")
    assert made.recipe["left_out"] == {"duplicate": 2}
    assert (await store.select_dataset("d", SelectionRule.ALL, held_out=())).recipe["left_out"] == {}


async def test_what_begins_like_a_held_out_task_is_not_trained_on(store: Store) -> None:
    await write(store, episode("secret", task=HELD_OUT[0], screen=3))
    await write(store, episode("same start", screen=3, x=5))
    await write(store, episode("other screen", screen=4))
    words = make_trajectory(
        "other words", steps=episode("x", screen=3).steps, end=make_end(), instruction="Click it."
    )
    await write(store, words)
    made = await store.select_dataset("d", SelectionRule.ALL, held_out=HELD_OUT)
    assert made.trajectory_ids == ("other screen", "other words")
    assert made.recipe["left_out"] == {"contaminated": 1}
    made = await store.select_dataset("d", SelectionRule.ALL, sieve=Sieve(clean=False), held_out=HELD_OUT)
    assert made.trajectory_ids == ("other screen", "other words", "same start")


async def test_what_was_left_out_is_said_where_nothing_stays(store: Store) -> None:
    await write(store, episode("easy"))
    with pytest.raises(EmptySelection, match="left out: 1 difficulty") as refused:
        await store.select_dataset("d", SelectionRule.ALL, sieve=Sieve(most_success=0.5), held_out=())
    assert refused.value.left_out == {"difficulty": 1}
