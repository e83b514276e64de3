"""Trajectories: written step by step, read back exactly, paged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flywheel_episodes import (
    Urls,
    make_end,
    make_start,
    make_step,
    make_trajectory,
    picture,
    write,
)
from sqlalchemy import select, text

from deskhand_agent.types import Failure, StopReason, Trajectory
from deskhand_flywheel import tables
from deskhand_flywheel.errors import (
    ConflictingRecord,
    CorruptBlob,
    InvalidCursor,
    InvalidQuery,
    MalformedRecord,
    MissingBlob,
    StoreClosed,
    UnknownTrajectory,
)
from deskhand_flywheel.filters import matches
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import OutcomeFilter, TrajectoryFilter
from deskhand_sandbox.types import Split

DATABASES = ("sqlite", "postgresql")


async def test_an_episode_comes_back_as_it_was_written(store: Store) -> None:
    written = make_trajectory("a", end=make_end(), labels={"run": "r", "odd \ud800": "nul \0"})
    await write(store, written)
    read = await store.trajectory("a")
    assert read == written
    assert read.steps[0].observation.screenshot.data is None


async def test_with_images_every_picture_has_its_bytes(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    read = await store.trajectory("a", images=True)
    assert read.steps[1].observation.screenshot.data == picture(1).data
    request = read.steps[2].decision.request
    assert request is not None
    assert request.images[0].data == picture(2).data
    assert read.end is not None and read.end.final_observation is not None
    assert read.end.final_observation.screenshot.data == picture(99).data
    assert await store.image(picture(0).digest) == picture(0).data


async def test_an_unfinished_episode_is_readable_as_far_as_it_got(store: Store) -> None:
    await store.begin(make_start("a"))
    await store.step("a", make_step(0))
    read = await store.trajectory("a")
    assert (len(read.steps), read.end) == (1, None)


async def test_writing_the_same_twice_is_no_error(store: Store) -> None:
    trajectory = make_trajectory("a", end=make_end())
    await write(store, trajectory)
    await write(store, trajectory)
    assert await store.trajectory("a") == trajectory


async def test_writing_something_else_under_the_same_name_is_refused(store: Store) -> None:
    trajectory = make_trajectory("a", end=make_end())
    await write(store, trajectory)
    with pytest.raises(ConflictingRecord, match="trajectory a"):
        await store.begin(make_start("a", seed=7))
    with pytest.raises(ConflictingRecord, match="step 1"):
        await store.step("a", make_step(1, reward=5.0))
    with pytest.raises(ConflictingRecord, match="end"):
        await store.end("a", make_end(success=False))
    assert await store.trajectory("a") == trajectory


async def test_an_episode_that_has_ended_takes_no_further_step(store: Store) -> None:
    trajectory = make_trajectory("a", end=make_end())
    await write(store, trajectory)
    await store.begin(make_start("b"))
    results = await asyncio.gather(
        store.step("a", make_step(3)),
        store.step("a", trajectory.steps[2]),
        store.step("b", make_step(0)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [ConflictingRecord, type(None), type(None)]
    assert "trajectory a has ended without a step 3" in str(results[0])
    longer = make_trajectory("a", steps=(*trajectory.steps, make_step(3)))
    with pytest.raises(ConflictingRecord):
        await store.add_trajectory(longer)
    assert await store.trajectory("a") == trajectory
    assert (await store.summary("a")).steps == 3


async def test_of_steps_written_at_once_only_the_odd_one_fails(store: Store) -> None:
    await store.begin(make_start("a"))
    await store.step("a", make_step(0))
    results = await asyncio.gather(
        store.step("a", make_step(1)),
        store.step("a", make_step(0, reward=9.0)),
        store.step("nobody's", make_step(0)),
        store.step("a", make_step(2)),
        store.step("a", make_step(2)),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [
        type(None), ConflictingRecord, UnknownTrajectory, type(None), type(None)
    ]  # fmt: skip
    assert [step.reward for step in (await store.trajectory("a")).steps] == [0.0, 0.0, 0.0]


async def test_steps_and_ends_of_nothing_are_refused(store: Store) -> None:
    with pytest.raises(UnknownTrajectory):
        await store.step("nobody", make_step(0))
    with pytest.raises(UnknownTrajectory):
        await store.end("nobody", make_end())
    with pytest.raises(UnknownTrajectory):
        await store.trajectory("nobody")
    with pytest.raises(UnknownTrajectory):
        await store.summary("nobody")


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
async def test_a_reward_that_is_no_number_is_refused_by_name(store: Store, reward: float) -> None:
    await store.begin(make_start("a"))
    odd = make_step(0, reward=reward)
    with pytest.raises(MalformedRecord, match="the reward of step 0 of trajectory a is"):
        await store.step("a", odd)
    with pytest.raises(MalformedRecord, match="the reward of step 0 of trajectory b is"):
        await store.add_trajectory(make_trajectory("b", steps=(odd,), end=make_end()))
    assert await store.trajectory_ids() == ("a",)


async def test_a_picture_without_bytes_must_be_there_already(store: Store) -> None:
    await store.begin(make_start("a"))
    bare = replace(picture(5), data=None)
    with pytest.raises(MissingBlob):
        await store.step("a", make_step(0, image=bare))
    await store.blobs.put(picture(5).data or b"")
    await store.step("a", make_step(0, image=bare))
    assert len((await store.trajectory("a")).steps) == 1


async def test_bytes_of_another_picture_are_refused_before_the_row(store: Store) -> None:
    await store.begin(make_start("a"))
    with pytest.raises(ConflictingRecord, match="digest"):
        await store.step("a", make_step(0, image=replace(picture(1), data=picture(2).data)))
    assert (await store.trajectory("a")).steps == ()


async def test_a_damaged_picture_is_named_when_it_is_read(store: Store, urls: Urls) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    digest = picture(1).digest
    (urls.folder / "blobs" / digest[:2] / digest).write_bytes(b"broken")
    async with await Store.open(urls.database, urls.blobs) as fresh:
        assert len((await fresh.trajectory("a")).steps) == 3
        with pytest.raises(CorruptBlob, match=digest):
            await fresh.trajectory("a", images=True)


async def test_pages_go_newest_first_and_hold_everything_once(
    store: Store, new_id: Callable[[], str]
) -> None:
    ids = [new_id() for _ in range(23)]
    for trajectory_id in ids:
        await store.begin(make_start(trajectory_id))
    seen: list[str] = []
    cursor, sizes = None, []
    while True:
        page = await store.trajectories(cursor=cursor, limit=5)
        seen += [item.id for item in page.items]
        sizes.append(len(page.items))
        if page.next_cursor is None:
            break
        # what begins while somebody pages does not shift the pages
        await store.begin(make_start(new_id()))
        cursor = page.next_cursor
    assert seen == ids[::-1]
    assert sizes == [5, 5, 5, 5, 3]


async def test_a_page_that_is_exactly_full_has_no_next(store: Store) -> None:
    for trajectory_id in "abc":
        await store.begin(make_start(trajectory_id))
    assert (await store.trajectories(limit=3)).next_cursor is None
    assert (await store.trajectories(limit=2)).next_cursor == "b"


async def test_a_cursor_that_no_page_gave_out_is_refused(store: Store, new_id: Callable[[], str]) -> None:
    ids = ["of-others", new_id()]
    for trajectory_id in ids:
        await store.begin(make_start(trajectory_id))
    for cursor in ("", "nothing", "of-others\n", "F" * 32):
        with pytest.raises(InvalidCursor, match="cursor"):
            await store.trajectories(cursor=cursor)
    page = await store.trajectories(limit=1)
    assert (page.next_cursor, page.items[0].id) == ("of-others", "of-others")
    assert [one.id for one in (await store.trajectories(cursor="of-others")).items] == ids[1:]
    # one that was dropped since its page
    assert len((await store.trajectories(cursor="f" * 32)).items) == 1


@pytest.mark.parametrize("limit", [0, -1, 501])
async def test_a_limit_out_of_range_is_refused(store: Store, limit: int) -> None:
    with pytest.raises(InvalidQuery):
        await store.trajectories(limit=limit)


async def test_the_shipped_model_is_found_by_its_name_in_every_version_of_it(
    store: Store, tmp_path: Path
) -> None:
    for version, name in (("a", "deskhand-tiny"), ("b", "deskhand-tiny"), ("c", "another")):
        (tmp_path / "weights.txt").write_text(version)
        kept = await store.keep_policy(tmp_path, parent_id=None, metadata={"name": name})
        await write(store, make_trajectory(version, policy_id=kept.id))
    assert await store.trajectory_ids(TrajectoryFilter(policy_id="deskhand-tiny")) == ("a", "b")
    assert await store.trajectory_ids(TrajectoryFilter(policy_id="another")) == ()


async def test_every_filter_narrows(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end(), labels={"run": "r1", "round": "1"}))
    await write(
        store,
        make_trajectory("b", end=make_end(success=False), labels={"run": "r1", "round": "2", "folder": "f"}),
    )
    await write(store, make_trajectory("c", end=make_end(success=None), policy_id="policy-b"))
    await write(store, make_trajectory("d", task_id="miniwob/other", started_at_s=2000.0))
    await write(store, make_trajectory("e", split=Split.TEST, end=make_end()))

    async def chosen(**narrows: object) -> str:
        chosen = TrajectoryFilter(**narrows)  # pyright: ignore[reportArgumentType]
        ids = await store.trajectory_ids(chosen)
        assert await store.count_trajectories(chosen) == len(ids)
        assert [item.id for item in (await store.trajectories(chosen)).items] == list(ids[::-1])
        return "".join(ids)

    assert await chosen() == "abcde"
    assert await chosen(task_ids=("miniwob/other",)) == "d"
    assert await chosen(task_ids=("miniwob/other", "miniwob/click-test")) == "abcde"
    assert await chosen(task_ids=()) == ""
    assert await chosen(policy_id="policy-b") == "c"
    assert await chosen(split=Split.TEST) == "e"
    assert await chosen(outcome=OutcomeFilter.SUCCESS) == "ae"
    assert await chosen(outcome=OutcomeFilter.FAILURE) == "b"
    assert await chosen(outcome=OutcomeFilter.NONE) == "cd"
    assert await chosen(labels={"run": "r1"}) == "ab"
    assert await chosen(labels={"run": "r1", "round": "2"}) == "b"
    assert await chosen(folders=("f", "g")) == "b"
    assert await chosen(folders=()) == ""
    assert await chosen(since_s=1500.0) == "d"
    assert await chosen(ended=True) == "abce"
    assert await chosen(ended=False) == "d"


async def test_a_summary_says_what_a_list_shows(store: Store) -> None:
    steps = (make_step(0, reward=0.5), make_step(1, reward=-0.25))
    broken = make_end(success=None, stop_reason=StopReason.INFRASTRUCTURE, failure=Failure.SANDBOX_DIED)
    await write(store, make_trajectory("a", steps=steps, end=broken, labels={"run": "r"}))
    summary = await store.summary("a")
    assert (summary.steps, summary.reward) == (2, 0.25)
    assert (summary.failure, summary.outcome) == (Failure.SANDBOX_DIED, None)
    assert (summary.ended_at_s, summary.labels) == (1010.0, {"run": "r"})
    assert (await store.trajectories()).items == (summary,)
    assert summary.last_screen == replace(make_step(1).observation.screenshot, data=None)


async def test_many_are_read_in_the_order_asked_for(store: Store) -> None:
    written = {name: make_trajectory(name, end=make_end(), seed=ord(name)) for name in "abc"}
    for trajectory in written.values():
        await write(store, trajectory)
    read: list[Trajectory] = [found async for found in store.each_trajectory(["c", "a", "c"])]
    assert read == [written["c"], written["a"], written["c"]]
    with pytest.raises(UnknownTrajectory, match="missing"):
        _ = [found async for found in store.each_trajectory(["a", "missing"])]


async def test_sixteen_episodes_at_once_do_not_mix(store: Store) -> None:
    written = [make_trajectory(f"{number:02}", end=make_end(), seed=number) for number in range(16)]
    await asyncio.gather(*(write(store, trajectory) for trajectory in written))
    assert [found async for found in store.each_trajectory(await store.trajectory_ids())] == written


async def test_a_closed_store_takes_nothing(urls: Urls) -> None:
    store = await Store.open(urls.database, urls.blobs)
    await store.close()
    await store.close()
    with pytest.raises(StoreClosed):
        await store.begin(make_start("a"))


async def test_a_store_opened_again_has_everything(urls: Urls) -> None:
    trajectory = make_trajectory("a", end=make_end())
    async with await Store.open(urls.database, urls.blobs) as store:
        await write(store, trajectory)
    async with await Store.open(urls.database, urls.blobs) as store:
        assert await store.trajectory("a") == trajectory


def test_the_folder_of_a_store_needs_no_name_without_spaces(tmp_path: Path) -> None:
    async def main() -> None:
        folder = tmp_path / "a folder % with ü"
        async with await Store.open(
            f"sqlite+aiosqlite:///{folder / 'deskhand.db'}", (folder / "blobs").as_uri()
        ) as store:
            await write(store, make_trajectory("a", end=make_end()))
            assert (await store.trajectory("a", images=True)).steps[0].observation.screenshot.data

    asyncio.run(main())


async def test_an_episode_played_elsewhere_is_there_whole_or_not_at_all(store: Store) -> None:
    whole = make_trajectory("whole", end=make_end())
    assert await store.add_trajectory(whole)
    assert await store.trajectory("whole") == whole
    assert not await store.add_trajectory(whole)

    await store.begin(make_start("begun"))
    other = make_step(2, reward=0.5)
    await store.step("begun", other)
    with pytest.raises(ConflictingRecord, match="step 2 of trajectory begun"):
        await store.add_trajectory(make_trajectory("begun", end=make_end()))
    begun = await store.trajectory("begun")
    assert (begun.steps, begun.end) == ((other,), None)


async def test_labels_are_looked_up_once_and_not_for_each_trajectory(store: Store) -> None:
    """A filter asked again and again, as a loop does, costs what has the label, not what the task has."""
    chosen = TrajectoryFilter(task_ids=("miniwob/click-test",), labels={"run": "r"}, folders=("f",))
    query = select(tables.trajectories.c.id).where(matches(chosen))
    async with store.database.read() as connection:
        dialect = connection.dialect
        said = str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))
        explain = "EXPLAIN QUERY PLAN" if store.database.is_sqlite else "EXPLAIN"
        plan = "\n".join(str(row) for row in await connection.execute(text(f"{explain} {said}")))
    if store.database.is_sqlite:
        assert "CORRELATED" not in plan
        assert plan.count("trajectory_labels USING COVERING INDEX ix_trajectory_labels_key_value") == 2
    for name, labels in {"a": {"run": "r", "folder": "f"}, "b": {"run": "r"}, "c": {"folder": "f"}}.items():
        await write(store, make_trajectory(name, end=make_end(), labels=labels))
    assert await store.trajectory_ids(chosen) == ("a",)
    for few in (False, True):
        async with store.database.read() as connection:
            query = select(tables.trajectories.c.id).where(matches(chosen, few=few))
            assert [*await connection.scalars(query)] == ["a"]
