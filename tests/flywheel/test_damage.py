"""What cannot be read any more: typed, counted, and the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, picture, write
from sqlalchemy import func

from deskhand_flywheel import tables
from deskhand_flywheel.blobs import BlobStore
from deskhand_flywheel.errors import (
    CorruptBlob,
    EmptySelection,
    FlywheelError,
    MalformedRecord,
    MissingBlob,
    UnknownSchemaVersion,
    UnknownTrajectory,
)
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import SelectionRule, Sieve, TrajectoryFilter
from deskhand_flywheel.upkeep import FindingKind, fsck

DATABASES = ("sqlite", "postgresql")
WHY = {
    "corrupt picture": CorruptBlob,
    "cut picture": CorruptBlob,
    "lost picture": MissingBlob,
    "newer step": UnknownSchemaVersion,
    "no start": MalformedRecord,
    "gone": UnknownTrajectory,
}
"""What is wrong with an episode of that name."""


@pytest.fixture
async def damaged(store: Store, urls: Urls) -> Store:
    """One whole episode, and one with each damage; the whole one is the last."""
    pictures: dict[str, Path] = {}
    for number, name in enumerate(["a whole one", *(each for each in WHY if each != "gone"), "whole"]):
        shown = picture(1000 + number)
        pictures[name] = urls.folder / "blobs" / shown.digest[:2] / shown.digest
        steps = (make_step(0, image=shown), make_step(1, image=shown))
        await write(store, make_trajectory(name, steps=steps, end=make_end(), task_id=f"fake/{name[:2]}"))
    data = pictures["corrupt picture"].read_bytes()
    pictures["corrupt picture"].write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    data = pictures["cut picture"].read_bytes()
    pictures["cut picture"].write_bytes(data[: len(data) // 2])
    pictures["lost picture"].unlink()
    async with store.database.write() as connection:
        steps = tables.steps
        newer = func.replace(steps.c.step, '"schema_version":1', '"schema_version":9')
        of_it = steps.update().where(steps.c.trajectory_id == "newer step")
        await connection.execute(of_it.values(step=newer))
        heads = tables.trajectories
        await connection.execute(heads.update().where(heads.c.id == "no start").values(start="no JSON"))
    # another process: nothing is remembered
    return Store(store.database, BlobStore(urls.blobs))


@pytest.mark.parametrize("name", WHY)
async def test_each_damage_has_its_type(damaged: Store, name: str) -> None:
    with pytest.raises(WHY[name]):
        await damaged.trajectory(name, images=True)


async def test_who_asks_is_told_of_each_and_gets_the_others(damaged: Store) -> None:
    told: dict[str, FlywheelError] = {}
    wanted = ["a whole one", *WHY, "whole"]
    read = damaged.each_trajectory(wanted, images=True, on_damaged=lambda name, why: told.update({name: why}))
    assert [trajectory.id async for trajectory in read] == ["a whole one", "whole"]
    assert {name: type(why) for name, why in told.items()} == WHY


async def test_a_page_names_what_it_cannot_read_and_has_the_others(damaged: Store) -> None:
    page = await damaged.trajectories(limit=500)
    readable = {"a whole one", "whole", *(name for name in WHY if name not in ("gone", "no start"))}
    assert {item.id for item in page.items} == readable and page.unreadable == ("no start",)
    cursor, found = None, list[str]()
    for _ in range(7):
        one = await damaged.trajectories(limit=1, cursor=cursor)
        found += [*(item.id for item in one.items), *one.unreadable]
        cursor = one.next_cursor
    assert cursor is None and sorted(found) == sorted({*readable, "no start"})


async def test_a_dataset_leaves_out_what_it_cannot_read_and_says_how_many(damaged: Store) -> None:
    made = await damaged.select_dataset("d", SelectionRule.ALL, held_out=["fake/held"])
    # pictures are read when they are trained on
    assert set(made.trajectory_ids) == {"a whole one", "whole", *(name for name in WHY if "picture" in name)}
    assert made.recipe["left_out"] == {"unreadable": 2}
    for sieve in (Sieve(unique=True), Sieve(unique=True, clean=False)):
        again = await damaged.select_dataset("d", SelectionRule.ALL, sieve=sieve, held_out=["fake/held"])
        assert again.recipe["left_out"] == {"unreadable": 2 if sieve.clean else 1}
    only = TrajectoryFilter(task_ids=("fake/ne",))
    with pytest.raises(EmptySelection, match="left out: 1 unreadable"):
        await damaged.select_dataset("d", SelectionRule.ALL, only, held_out=["fake/held"])


async def test_the_integrity_check_counts_each_and_drops_nothing(damaged: Store) -> None:
    before = await damaged.trajectory_ids()
    report = await fsck(damaged, repair=True, settle_s=0.0)
    assert report.counts == {
        FindingKind.CHANGED_BLOB: 1,
        FindingKind.TRUNCATED_BLOB: 1,
        FindingKind.MISSING_BLOB: 1,
        FindingKind.UNKNOWN_SCHEMA: 2,
        FindingKind.UNREADABLE_RECORD: 1,
    }
    assert not report.ok
    assert (report.trajectories, await damaged.trajectory_ids()) == (7, before)
