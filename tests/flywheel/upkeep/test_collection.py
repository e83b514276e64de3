"""Garbage collection: by a rule, never what is cited, and safe beside writers in other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from flywheel_episodes import Urls, make_end, make_step, make_trajectory, picture, write
from sqlalchemy import event, select, text

from deskhand_flywheel import tables
from deskhand_flywheel.errors import InvalidQuery, MissingBlob, UnknownTrajectory
from deskhand_flywheel.sieve import Sifted
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import (
    OutcomeFilter,
    SelectionRule,
    Sieve,
    StepScore,
    StepValue,
    TrajectoryFilter,
)
from deskhand_flywheel.upkeep import Drop, RetentionRule, collect, fsck, retention_rule
from deskhand_flywheel.upkeep.retention import Keepers

DATABASES = ("sqlite", "postgresql")

EVERYTHING = RetentionRule(drop=(Drop(older_than_days=0),), orphans_after_hours=0)


async def _ids(store: Store) -> set[str]:
    return set(await store.trajectory_ids())


async def test_nothing_is_dropped_unless_asked_to(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    orphan = await store.blobs.put(b"nobody's")
    plan = await collect(store, EVERYTHING)
    assert (plan.applied, plan.trajectories, plan.steps, plan.blobs) == (False, ("a",), 3, 5)
    assert await _ids(store) == {"a"}
    assert await store.blobs.get(orphan) == b"nobody's"
    done = await collect(store, EVERYTHING, apply=True)
    assert (done.trajectories, done.steps, done.blobs, done.bytes) == (("a",), 3, 5, plan.bytes)
    with pytest.raises(UnknownTrajectory):
        await store.trajectory("a")
    with pytest.raises(MissingBlob):
        await store.image(picture(0).digest)
    assert (await fsck(store, settle_s=0)).findings == ()


async def test_the_default_rule_drops_no_trajectory_and_young_blobs_stay(store: Store) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    await store.blobs.put(b"its row is on its way")
    done = await collect(store, RetentionRule(), apply=True)
    assert (done.trajectories, done.blobs) == ((), 0)


_PUT = """
import asyncio, resource, signal, sys
from deskhand_flywheel.blobs import BlobStore
from pathlib import Path

# the kernel kills it in the middle of the file
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
asyncio.run(BlobStore(sys.argv[1]).put_file(Path(sys.argv[2])))
"""


async def test_parts_that_killed_writers_left_go_when_they_are_old(
    store: Store, urls: Urls, tmp_path: Path
) -> None:
    await store.blobs.put(b"whole")
    with (tmp_path / "weights").open("wb") as file:
        file.truncate(1 << 21)
    writer = subprocess.run([sys.executable, "-c", _PUT, urls.blobs, tmp_path / "weights"], check=False)
    assert writer.returncode == -signal.SIGXFSZ
    folder = urls.folder / "blobs"
    left = [*folder.glob("*/*#*")]
    # it may still be written, by all that anybody else knows
    assert (await collect(store, EVERYTHING, apply=True)).blobs == 1 and left[0].exists()
    os.utime(left[0], (0, time.time() - 2 * 86400))
    size = left[0].stat().st_size
    for apply in (False, True):
        assert left[0].exists()
        done = await collect(store, RetentionRule(), apply=apply)
        assert (done.blobs, done.bytes) == (1, size)
    assert [path for path in folder.rglob("*") if path.is_file()] == []


async def _held_for(store: Store, trajectory_id: str, days: float) -> None:
    """As if it had come so long ago."""
    table = tables.trajectories
    came = table.update().where(table.c.id == trajectory_id).values(stored_at_s=time.time() - days * 86400)
    async with store.database.write() as connection:
        await connection.execute(came)


async def test_the_rule_chooses_by_age_and_filter(store: Store) -> None:
    for name, success, days in (("old-bad", False, 40), ("old-good", True, 40), ("new-bad", False, 3)):
        await write(store, make_trajectory(name, end=make_end(success=success)))
        await _held_for(store, name, days)
    await write(store, make_trajectory("running"))
    rule = retention_rule({"drop": [{"older_than_days": 30, "where": {"outcome": "failure"}}]})
    assert rule.drop[0].where == TrajectoryFilter(outcome=OutcomeFilter.FAILURE)
    assert (await collect(store, rule)).trajectories == ("old-bad",)
    assert (await collect(store, EVERYTHING)).trajectories == ("new-bad", "old-bad", "old-good")


async def test_an_old_episode_that_came_in_just_now_is_young(store: Store) -> None:
    long_ago = time.time() - 400 * 86400
    old = make_trajectory("old", started_at_s=long_ago, end=make_end(ended_at_s=long_ago + 9))
    assert await store.add_trajectory(old)
    rule = RetentionRule(drop=(Drop(older_than_days=365),))
    assert (await collect(store, rule, apply=True)).trajectories == ()
    await _held_for(store, "old", 366)
    assert not await store.add_trajectory(old)
    assert (await collect(store, rule, apply=True)).trajectories == ("old",)


@pytest.mark.parametrize(
    "data",
    [
        {"dorp": []},
        {"drop": [{"where": {}}]},
        {"drop": [{"older_than_days": -1}]},
        {"drop": [{"older_than_days": 1, "where": {"outcom": "failure"}}]},
        {"orphans_after_hours": "soon"},
        {"orphans_after_hours": -1},
        [],
        None,
    ],
)
def test_a_rule_that_is_none_is_refused(data: object) -> None:
    with pytest.raises(InvalidQuery, match="retention rule"):
        retention_rule(data)


async def test_what_something_cites_is_never_dropped(store: Store, tmp_path: Path) -> None:
    runs = {"rolled-out": "round-1-ppo", "learned-from": "round-2-ppo", "measured": "round-2-ppo"}
    for name in ("member", "marked", "named", *runs, "referred", "free"):
        labels = {"run": runs.get(name, "round-0-ppo")}
        if name == "measured":
            labels["purpose"] = "evaluation"
        await write(store, make_trajectory(name, end=make_end(), labels=labels, task_id=f"fake/{name}"))
    await store.select_dataset(
        "kept", SelectionRule.SUCCESS, TrajectoryFilter(task_ids=("fake/member",)), held_out=()
    )
    await store.add_scores([StepScore(trajectory_id="marked", step_index=0, score=1.0, scorer="human:me")])
    await store.add_scores([StepScore(trajectory_id="free", step_index=0, score=1.0, scorer="prm:1")])
    await store.add_step_values(
        [
            StepValue(
                trajectory_id="free", step_index=0, labeller="mc", before=0.5, before_error=0.1, after=1.0,
                after_error=0.1, continuations=8, exact=True,
            )
        ]
    )  # fmt: skip
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "weights").write_bytes(b"w" * 1000)
    kept = await store.keep_policy(
        tmp_path / "policy", parent_id=None, metadata={"replay": [{"id": "named"}], "run": "round-2-ppo"}
    )
    async with store.database.write() as connection:
        # a table of somebody else
        await connection.execute(
            text("CREATE TABLE remarks (id INTEGER, trajectory_id VARCHAR(64) REFERENCES trajectories(id))")
        )
        await connection.execute(text("INSERT INTO remarks VALUES (1, 'referred'), (2, NULL)"))
    done = await collect(store, EVERYTHING, apply=True, runs=["round-1-ppo"])
    # what measured a policy is no source of it
    assert set(done.trajectories) == {"free", "measured"}
    assert dict(done.kept) == {
        "rows of dataset_members": 1,
        "rows of remarks": 1,
        "scores that a person gave": 1,
        "policies, recipes and unfinished runs that name it": 1,
        "runs of policies that are kept": 1,
        "a run that has not finished": 1,
    }
    assert await _ids(store) == {"member", "marked", "named", "rolled-out", "learned-from", "referred"}
    async for whole in store.each_trajectory(await store.trajectory_ids(), images=True):
        assert len(whole.steps) == 3
    await store.materialise_policy(kept.id, tmp_path / "again")
    assert (await fsck(store)).ok


async def test_any_number_of_episodes_may_be_named(store: Store, tmp_path: Path) -> None:
    """PostgreSQL takes 65,535 parameters in a query, and SQLite half as many or fewer."""
    ids = [f"{number:04}" for number in range(300)]
    one = {"task_id": "t", "seed": 0, "policy_id": "p", "split": "train", "start": "{}"}
    one |= {"started_at_s": 0.0, "stored_at_s": 0.0}
    async with store.database.write() as connection:
        await connection.execute(tables.trajectories.insert(), [{**one, "id": each} for each in ids])
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "weights").write_bytes(b"w")
    await store.keep_policy(tmp_path / "policy", parent_id=None, metadata={"material": [*ids[:-1]]})
    most = 0

    def count(*told: Any) -> None:
        nonlocal most
        _, _, _, parameters, _, many = told
        most = most if many else max(most, len(parameters))

    engine = store.database.engine.sync_engine
    event.listen(engine, "before_cursor_execute", count)
    done = await collect(store, EVERYTHING)
    event.remove(engine, "before_cursor_execute", count)
    assert (done.trajectories, done.kept) == (
        (ids[-1],),
        (("policies, recipes and unfinished runs that name it", 299),),
    )
    assert 0 < most < len(ids)


async def test_of_policies_and_datasets_only_what_came_since_is_read_again(
    store: Store, tmp_path: Path
) -> None:
    """Every transaction that drops asks; what names or made the last policy still counts."""
    for name in ("a", "b", "c"):
        await write(store, make_trajectory(name, end=make_end(), labels={"run": f"run-{name}"}))
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "weights").write_bytes(b"w")

    async def keep(name: str) -> None:
        metadata = {"run": f"run-{name}", "material": [f"named by {name}"]}
        await store.keep_policy(tmp_path / "policy", parent_id=None, metadata=metadata)
        chosen = TrajectoryFilter(labels={"run": f"run-{name}"})
        await store.select_dataset(f"of {name}", SelectionRule.ALL, chosen, held_out=())

    await keep("a")
    read: list[str] = []

    def noted(*told: Any) -> None:
        if "metadata" in told[2] or "recipe" in told[2]:
            read.append(str(told[3]))

    keepers, table = Keepers(()), tables.trajectories
    event.listen(store.database.engine.sync_engine, "before_cursor_execute", noted)
    for few, made in ((False, ("a",)), (True, ("a",)), (True, ("a", "b"))):
        if "b" in made:
            await keep("b")
        read.clear()
        async with store.database.read() as connection:
            conditions = await keepers.read(connection, few=few)
            by_run = conditions["runs of policies that are kept"]
            kept = await connection.scalars(select(table.c.id).where(by_run).order_by(table.c.id))
            assert tuple(kept) == made
        assert {f"named by {each}" for each in made} <= keepers.names
        assert len(read) == (2 if not few or "b" in made else 0)
        assert "of a" not in "".join(read) or not few
    event.remove(store.database.engine.sync_engine, "before_cursor_execute", noted)


async def test_a_picture_that_was_collected_is_stored_again_when_it_is_seen_again(
    store: Store, urls: Urls
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    async with await Store.open(urls.database, urls.blobs) as other:
        await collect(other, EVERYTHING, apply=True)
    # this process remembers to have stored every one of these pictures
    again = make_trajectory("b", end=make_end())
    await write(store, again)
    async with await Store.open(urls.database, urls.blobs) as other:
        assert (await fsck(other, settle_s=0)).findings == ()
        assert await other.trajectory("b") == again


async def test_a_policys_files_that_were_collected_are_stored_again(
    store: Store, urls: Urls, tmp_path: Path
) -> None:
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "weights").write_bytes(b"w" * 1000)
    await store.blobs.put_file(tmp_path / "policy" / "weights")
    async with await Store.open(urls.database, urls.blobs) as other:
        assert (await collect(other, EVERYTHING, apply=True)).blobs == 1
    kept = await store.keep_policy(tmp_path / "policy", parent_id=None, metadata={})
    await store.materialise_policy(kept.id, tmp_path / "again")


async def test_a_picture_without_data_that_was_collected_is_missing(store: Store, urls: Urls) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    bare = (await store.trajectory("a")).steps[0]
    async with await Store.open(urls.database, urls.blobs) as other:
        await collect(other, EVERYTHING, apply=True)
    await write(store, make_trajectory("b", steps=()))
    with pytest.raises(MissingBlob):
        await store.step("b", bare)
    assert (await store.trajectory("b")).steps == ()


async def test_an_episode_played_elsewhere_brings_back_the_pictures_that_were_collected(
    store: Store, urls: Urls
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    async with await Store.open(urls.database, urls.blobs) as other:
        assert (await collect(other, EVERYTHING, apply=True)).blobs == 4
    again = make_trajectory("b", end=make_end())
    assert await store.add_trajectory(again)
    async with await Store.open(urls.database, urls.blobs) as other:
        assert (await fsck(other, settle_s=0)).findings == ()
        assert await other.trajectory("b", images=True) == again


async def test_an_episode_played_elsewhere_whose_pictures_are_gone_is_not_there_at_all(
    store: Store, urls: Urls
) -> None:
    await write(store, make_trajectory("a", end=make_end()))
    bare = await store.trajectory("a")
    async with await Store.open(urls.database, urls.blobs) as other:
        await collect(other, EVERYTHING, apply=True)
    with pytest.raises(MissingBlob):
        await store.add_trajectory(bare)
    assert await _ids(store) == set()


class _Interrupted(Store):
    """A collection comes between choosing a dataset's episodes and keeping it."""

    interrupted = False

    async def _select(
        self, rule: SelectionRule, chosen: TrajectoryFilter, sieve: Sieve, held_out: Collection[str]
    ) -> Sifted:
        sifted = await super()._select(rule, chosen, sieve, held_out)
        if not self.interrupted:
            self.interrupted = True
            assert "old" in sifted.ids
            await collect(self, RetentionRule(drop=(Drop(older_than_days=30),)), apply=True)
        return sifted


async def test_an_episode_that_is_collected_while_it_is_chosen_is_not_in_the_dataset(urls: Urls) -> None:
    async with await _Interrupted.open(urls.database, urls.blobs) as store:
        for name in ("old", "young"):
            await write(store, make_trajectory(name, end=make_end()))
        await _held_for(store, "old", 40)
        kept = await store.select_dataset("kept", SelectionRule.SUCCESS, held_out=())
        assert kept.trajectory_ids == ("young",)
        assert await store.datasets() == (kept,)


_WRITE = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[1])
from flywheel_episodes import make_end, make_start, make_step, picture
from deskhand_flywheel.store import Store

async def main():
    async with await Store.open(sys.argv[2], sys.argv[3]) as store:
        for number in range(int(sys.argv[5])):
            name = f"{sys.argv[4]}-{number}"
            await store.begin(make_start(name))
            for index in range(5):
                await store.step(name, make_step(index, image=picture(index)))
            await store.end(name, make_end())
            os.write(1, b".")

asyncio.run(main())
"""


async def test_collecting_beside_writers_of_the_same_pictures_loses_none(store: Store, urls: Urls) -> None:
    arguments = [str(Path(__file__).parents[1]), urls.database, urls.blobs]
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITE, *arguments, name, "12"], stdout=subprocess.PIPE)
        for name in ("one", "two")
    ]
    collected = 0
    while any(writer.poll() is None for writer in writers):
        collected += (await collect(store, EVERYTHING, apply=True)).blobs
        async for whole in store.each_trajectory(await store.trajectory_ids()):
            assert whole.end is None or len(whole.steps) == 5
    for writer in writers:
        assert writer.stdout is not None
        assert os.read(writer.stdout.fileno(), 1000) == b"." * 12
        writer.stdout.close()
        assert writer.wait() == 0
    # how many came and went beside the writers is up to the scheduler
    collected += (await collect(store, EVERYTHING, apply=True)).blobs
    assert collected >= 5
    async with await Store.open(urls.database, urls.blobs) as fresh:
        assert (await fsck(fresh)).ok
        await write(fresh, make_trajectory("last", steps=(make_step(0),), end=make_end()))
        await fresh.trajectory("last", images=True)
