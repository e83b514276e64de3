"""Datasets: routed by outcome, versioned, and never from what is held out."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from flywheel_episodes import make_end, make_trajectory, write

from deskhand_flywheel.errors import EmptySelection, HeldOutRefused, UnknownDataset
from deskhand_flywheel.records import decode, dumps
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import DatasetKind, SelectionRule, Sieve, TrajectoryFilter
from deskhand_sandbox.types import Split

DATABASES = ("sqlite", "postgresql")

HELD_OUT = ("miniwob/secret",)


@pytest.fixture
async def filled(store: Store) -> Store:
    await write(store, make_trajectory("win", end=make_end()))
    await write(store, make_trajectory("loss", end=make_end(success=False)))
    await write(store, make_trajectory("broken", end=make_end(success=None)))
    await write(store, make_trajectory("running"))
    await write(store, make_trajectory("test", end=make_end(), split=Split.TEST))
    await write(store, make_trajectory("validation", end=make_end(), split=Split.VALIDATION))
    await write(store, make_trajectory("secret", end=make_end(), task_id=HELD_OUT[0], instruction="Keep it."))
    return store


@pytest.mark.parametrize(
    ("rule", "kind", "ids"),
    [
        (SelectionRule.SUCCESS, DatasetKind.SFT, ("win",)),
        (SelectionRule.FAILURE, DatasetKind.CONTINUED_PRETRAINING, ("loss",)),
        (SelectionRule.ALL, DatasetKind.RL_POOL, ("loss", "win")),
    ],
)
async def test_outcomes_are_routed(
    filled: Store, rule: SelectionRule, kind: DatasetKind, ids: tuple[str, ...]
) -> None:
    dataset = await filled.select_dataset("demo", rule, held_out=HELD_OUT)
    assert (dataset.kind, dataset.trajectory_ids, dataset.version) == (kind, ids, 1)
    assert dataset.recipe["rule"] == rule.value
    assert dataset.recipe["held_out"] == list(HELD_OUT)
    assert await filled.dataset("demo") == dataset


async def test_a_new_selection_is_a_new_version(filled: Store) -> None:
    first = await filled.select_dataset("demo", SelectionRule.SUCCESS, held_out=HELD_OUT)
    await write(filled, make_trajectory("win 2", end=make_end()))
    second = await filled.select_dataset("demo", SelectionRule.SUCCESS, held_out=HELD_OUT)
    assert (second.version, second.trajectory_ids) == (2, ("win", "win 2"))
    assert await filled.dataset("demo") == second
    assert await filled.dataset("demo", 1) == first
    assert await filled.datasets() == (second, first)


async def test_a_dataset_is_made_again_of_its_recipe_and_read_again_by_its_ids(filled: Store) -> None:
    """Whatever came into the store after it: its ids name the very episodes, byte for byte."""
    sieve = Sieve(unique=True, thin_to=3, within_longest=True, least_success=0.1)
    made = await filled.select_dataset("demo", SelectionRule.ALL, sieve=sieve, held_out=HELD_OUT)
    recipe = made.recipe
    again = await filled.select_dataset(
        "again",
        SelectionRule(str(recipe["rule"])),
        decode(TrajectoryFilter, recipe["filter"]),
        sieve=decode(Sieve, recipe["sieve"]),
        held_out=[str(each) for each in cast("list[str]", recipe["held_out"])],
    )
    assert (again.trajectory_ids, again.recipe, again.kind) == (made.trajectory_ids, recipe, made.kind)
    before = [each async for each in filled.each_trajectory(made.trajectory_ids, images=True)]
    await write(filled, make_trajectory("aaa before all", end=make_end()))
    kept = await filled.dataset("demo", made.version)
    assert kept == made and [each.id for each in before] == [*made.trajectory_ids]
    after = [each async for each in filled.each_trajectory(kept.trajectory_ids, images=True)]
    assert [dumps(each) for each in after] == [dumps(each) for each in before]


async def test_versions_made_at_once_do_not_collide(filled: Store) -> None:
    made = await asyncio.gather(
        *(filled.select_dataset("demo", SelectionRule.ALL, held_out=HELD_OUT) for _ in range(5))
    )
    assert sorted(dataset.version for dataset in made) == [1, 2, 3, 4, 5]


async def test_a_recipe_that_selects_nothing_is_refused(filled: Store) -> None:
    with pytest.raises(EmptySelection, match="collect some first"):
        await filled.select_dataset(
            "demo", SelectionRule.SUCCESS, TrajectoryFilter(policy_id="nobody"), held_out=HELD_OUT
        )
    with pytest.raises(UnknownDataset):
        await filled.dataset("demo")


async def test_held_out_tasks_and_splits_are_refused(filled: Store) -> None:
    named = TrajectoryFilter(task_ids=("miniwob/click-test", HELD_OUT[0]))
    with pytest.raises(HeldOutRefused, match="miniwob/secret"):
        await filled.select_dataset("demo", SelectionRule.SUCCESS, named, held_out=HELD_OUT)
    for split in (Split.TEST, Split.VALIDATION):
        with pytest.raises(HeldOutRefused, match=split.value):
            await filled.select_dataset(
                "demo", SelectionRule.SUCCESS, TrajectoryFilter(split=split), held_out=HELD_OUT
            )
    assert await filled.datasets() == ()


async def test_the_repository_s_own_list_is_the_default(store: Store) -> None:
    from deskhand_sandbox.tasks.splits import HELD_OUT_TASKS

    held_out = sorted(HELD_OUT_TASKS)[0]
    await write(store, make_trajectory("secret", end=make_end(), task_id=held_out))
    with pytest.raises(HeldOutRefused):
        await store.select_dataset("demo", SelectionRule.SUCCESS, TrajectoryFilter(task_ids=(held_out,)))
    with pytest.raises(EmptySelection):
        await store.select_dataset("demo", SelectionRule.SUCCESS)


async def test_an_unknown_dataset_or_version_is_named(filled: Store) -> None:
    await filled.select_dataset("demo", SelectionRule.ALL, held_out=HELD_OUT)
    with pytest.raises(UnknownDataset, match="version 7"):
        await filled.dataset("demo", 7)
    with pytest.raises(UnknownDataset, match="other"):
        await filled.dataset("other")
