"""Checks and collections asked for over HTTP, worked in processes that may be killed."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind, SelectionRule
from deskhand_flywheel.upkeep import fsck
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import EntryFilter
from deskhand_platform.api.job_models import FsckOrder, GcOrder
from deskhand_platform.client import (
    AsyncDeskhand,
    Conflict,
    Deskhand,
    InvalidRequest,
    Missing,
    NotAllowed,
    NotOver,
    TooMany,
)
from deskhand_platform.jobs.desk import JobDesk, JobRunner
from deskhand_platform.jobs.place import Place
from deskhand_platform.jobs.work import SILENT_S, gc, unfinished_runs
from deskhand_platform.rounds.config import round_config
from deskhand_platform.rounds.plan import plan
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.services import Services
from deskhand_platform.settings import JobSettings, Settings
from deskhand_platform.states import WorkState
from deskhand_sandbox.types import JsonValue

Record = Callable[..., Awaitable[str]]
WAIT_S = 150.0
"""For a process that works a job."""
EVERYTHING = {"drop": [{"older_than_days": 0}], "orphans_after_hours": 0}


class NoHost:
    async def address(self) -> tuple[str, str]:
        raise AssertionError("these jobs need no sandboxes")


@asynccontextmanager
async def worked(settings: Settings) -> AsyncIterator[None]:
    async with JobRunner(settings, NoHost()).running():
        yield


def blob_of(settings: Settings, digest: str) -> Path:
    return settings.home / "blobs" / digest[:2] / digest


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not true():
            await asyncio.sleep(0.02)


async def test_a_check_finds_what_is_lost(
    client: AsyncDeskhand, services: Services, record_episode: Record
) -> None:
    settings, store = services.settings, services.store
    episode = await record_episode(store)
    digest = (await store.trajectory(episode)).steps[0].observation.screenshot.digest
    blob_of(settings, digest).unlink()
    begun = await client.start_job(FsckOrder())
    assert (begun.kind, begun.state, begun.by, begun.result) == ("fsck", WorkState.QUEUED, "owner", None)
    with pytest.raises(NotOver, match="is queued after"):
        await client.wait_job(begun.id, timeout_s=0.1)
    async with worked(settings):
        over = await client.wait_job(begun.id, timeout_s=WAIT_S)
    assert over.state is WorkState.DONE and over.ended_at_s is not None
    assert over.result is not None and over.result["ok"] is False
    assert over.result["counts"] == {"missing_blob": 1}
    [finding] = over.result["findings"]  # type: ignore[misc]
    assert finding["subject"] == digest  # type: ignore[index, call-overload]
    log = await client.job_log(begun.id)
    assert log.over and "fsck for owner" in log.text and log.text.endswith("done\n")
    assert [(one.id, one.result) async for one in client.jobs("fsck", "done")] == [(begun.id, None)]
    assert [one async for one in client.jobs("gc")] == []
    [entry] = await services.accounts.audit.list(EntryFilter(action="POST /v1/jobs"))
    assert (entry.who, entry.status) == ("owner", 201) and '"kind":"fsck"' in entry.detail
    with pytest.raises(Conflict, match="is done already") as refused:
        await client.cancel_job(begun.id)
    assert refused.value.state == "done"


async def test_a_collection_says_first_what_would_go_and_keeps_what_is_needed(
    client: AsyncDeskhand, services: Services, record_episode: Record
) -> None:
    settings, store = services.settings, services.store
    needed = [await record_episode(store)]
    await store.select_dataset("mine/sft", SelectionRule.SUCCESS)
    number, _ = await services.book.create("smoke", checked_preset("smoke", {}))
    config = round_config((await services.book.get(number)).config)
    await services.book.plan(number, None, plan(config, None, None))
    phase = (await services.book.get(number)).phases[0]
    needed.append(await record_episode(store, run=phase.run_of(number)))  # what later phases learn from
    free = [await record_episode(store) for _ in range(3)]
    async with worked(settings):
        seen = await client.wait_job((await client.start_job(GcOrder(rule=EVERYTHING))).id, WAIT_S)
        assert seen.result is not None
        assert (seen.result["applied"], seen.result["trajectories"]) == (False, free)
        assert dict(seen.result["kept"])["a run that has not finished"] == 1  # type: ignore[arg-type, call-overload]
        assert len(await store.trajectory_ids()) == 5
        begun = await client.start_job({"kind": "gc", "rule": EVERYTHING, "apply": True})
        done = await client.wait_job(begun.id, WAIT_S)
    assert done.result is not None
    assert (done.result["applied"], done.result["trajectories"]) == (True, free)
    assert await store.trajectory_ids() == tuple(needed)
    for id in needed:
        assert await store.trajectory(id, images=True)
    assert (await fsck(store)).ok


async def test_the_client_that_blocks(url: str, token: str, services: Services) -> None:
    def called_off() -> str:
        with Deskhand(url, token) as blocking:
            return blocking.cancel_job(blocking.start_job({"kind": "gc"}).id).id

    def asked() -> None:
        with Deskhand(url, token) as blocking:
            begun = blocking.start_job({"kind": "fsck"})
            over = blocking.wait_job(begun.id, timeout_s=WAIT_S)
            assert (over.state, [one.id for one in blocking.jobs()]) == ("done", [begun.id, other])
            assert blocking.job(begun.id) == over and blocking.job_log(begun.id, 0).offset == 0
            assert blocking.wait_job(other, WAIT_S).state == "cancelled"

    other = await asyncio.to_thread(called_off)
    async with worked(services.settings):
        await asyncio.to_thread(asked)


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({"kind": "nothing"}, "kind"),
        ({}, "kind"),
        ({"kind": "gc", "rule": {"drop": 7}}, "rule"),
        ({"kind": "gc", "rule": {"drop": [{"older_than_days": -1}]}}, "rule"),
        ({"kind": "gc", "rule": {"drop": [{"older_than_days": 1, "where": {"outcom": "failure"}}]}}, "rule"),
        ({"kind": "gc", "rule": []}, "rule"),
        ({"kind": "fsck", "spare": "file:///etc"}, "spare"),
        ({"kind": "fsck", "settle_hours": -1}, "settle_hours"),
        ({"kind": "fsck", "aply": True}, "aply"),
    ],
)
async def test_an_order_that_makes_no_sense(
    client: AsyncDeskhand, services: Services, order: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await client.start_job(order)
    assert field in (refused.value.field or "") or field in str(refused.value)
    assert JobDesk(services.settings).list() == ()


async def test_who_may(client: AsyncDeskhand, url: str, person: Any) -> None:
    job = (await client.start_job({"kind": "gc"})).id
    for role, sees in ((Role.RESEARCHER, True), (Role.ANNOTATOR, True), (Role.SUBMITTER, False)):
        async with AsyncDeskhand(url, await person(f"a-{role}", role), patience_s=1) as other:
            with pytest.raises(NotAllowed):
                await other.start_job({"kind": "fsck"})
            with pytest.raises(NotAllowed):
                await other.cancel_job(job)
            if sees:
                assert (await other.job(job)).id == job
            else:
                with pytest.raises(NotAllowed):
                    await other.job(job)
    async with AsyncDeskhand(url, await person("op", Role.OPERATOR)) as operator:
        assert (await operator.start_job({"kind": "fsck"})).by == "op"
        await operator.cancel_job(job)
    for call in (client.job, client.cancel_job, client.job_log):
        with pytest.raises(Missing):
            await call("gc-1")


async def test_so_many_and_no_more(services: Services, url: str, token: str) -> None:
    object.__setattr__(services.settings, "jobs", JobSettings(waiting=2))
    async with AsyncDeskhand(url, token, patience_s=0) as client:
        for _ in range(2):
            await client.start_job({"kind": "fsck"})
        with pytest.raises(TooMany, match="2 jobs have not ended") as refused:
            await client.start_job({"kind": "fsck"})
    assert refused.value.retry_after_s == 60


def held(folder: Path) -> Any:
    """Holds a job's folder, so that its process waits."""
    lock = (folder / "lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def process_of(folder: Path) -> int | None:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (place / "cmdline").read_bytes().split(b"\0"):
                return int(place.name)
        except OSError:
            continue
    return None


async def test_one_at_a_time_and_whatever_dies_it_is_done(client: AsyncDeskhand, services: Services) -> None:
    settings = services.settings
    desk = JobDesk(settings)
    first, second = [(await client.start_job({"kind": kind})).id for kind in ("fsck", "gc")]
    lock = held(desk.folder(first))
    async with worked(settings):
        await until(lambda: process_of(desk.folder(first)))
        pid = process_of(desk.folder(first))
        assert pid is not None and process_of(desk.folder(second)) is None
        os.kill(pid, signal.SIGKILL)
        await until(lambda: process_of(desk.folder(first)) not in (None, pid))
    # the platform stops, and so does what it had begun
    assert process_of(desk.folder(first)) is None
    assert not desk.get(first).state.over
    lock.close()
    async with worked(settings):
        for id in (first, second):
            assert (await client.wait_job(id, WAIT_S)).state is WorkState.DONE


async def test_one_that_runs_is_stopped(client: AsyncDeskhand, services: Services) -> None:
    desk = JobDesk(services.settings)
    id = (await client.start_job({"kind": "gc", "apply": True})).id
    with held(desk.folder(id)):
        async with worked(services.settings):
            await until(lambda: process_of(desk.folder(id)))
            await client.cancel_job(id)
            over = await client.wait_job(id, WAIT_S)
    assert (over.state, over.reason, over.result) == (WorkState.CANCELLED, "cancelled", None)


def test_only_a_run_that_may_go_on_holds_episodes_back(tmp_path: Path) -> None:
    for name, end in (("goes-on", None), ("done", "result.json"), ("called-off", "ended.json")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spec.json").write_text("{}")
        if end is not None:
            (tmp_path / name / end).write_text('{"policy_out": null, "metrics": {}, "seconds": 1.0}')
    assert unfinished_runs(tmp_path) == {"goes-on"}


async def test_what_an_unfinished_run_goes_on_learning_from_stays(
    settings: Settings, store: Store, record_episode: Record
) -> None:
    """Whoever played it: the run's policy names it only when it is kept."""
    ids = [await record_episode(store, run="collect-1") for _ in range(5)]
    runs = settings.home / "runs"
    lists: dict[str, tuple[str, object]] = {
        "sft-1": ("episodes.json", {"demonstrations": ids[:1], "rollouts": ids[1:2]}),
        "pretrain-1": ("failures.json", ids[2:3]),
        "sft-2": ("episodes.json", {"demonstrations": ids[3:4]}),
    }
    for run, (name, listed) in lists.items():
        (runs / run).mkdir(parents=True)
        (runs / run / "spec.json").write_text("{}")
        (runs / run / name).write_text(json.dumps(listed))
    (runs / "sft-1" / "failures.json").write_text("no JSON")
    (runs / "sft-2" / "result.json").write_text('{"policy_out": null, "metrics": {}, "seconds": 1.0}')
    place = Place(store_url=settings.db_url, blobs_url=settings.blobs_url, home=settings.home)
    done = await gc(place, GcOrder(rule=EVERYTHING, apply=True), lambda *_: None)
    assert done["trajectories"] == ids[3:]
    assert done["kept"] == [["policies, recipes and unfinished runs that name it", 3]]
    assert await store.trajectory_ids() == tuple(ids[:3])


async def test_a_run_under_way_in_another_home_holds_its_episodes_back(
    settings: Settings, store: Store, record_episode: Record
) -> None:
    now, there = time.time(), settings.home / "runs" / "here"
    there.mkdir(parents=True)
    (there / "spec.json").write_text("{}")
    (there / "ended.json").write_text("{}")
    kept = [await record_episode(store, run="under-way")]
    for run in ("finished", "here", "given-up"):
        await record_episode(store, run=run)

    async def tell(run: str, kind: EventKind, name: str, at_s: float, **data: JsonValue) -> None:
        event = Event(id=0, at_s=at_s, subject=f"run:{run}", kind=kind, name=name, data=data)
        await store.append_event(event)

    for run in ("under-way", "finished", "here", "given-up"):
        await tell(run, EventKind.STATE, "run", now - 2 * SILENT_S, state="running")
    for run in ("under-way", "here"):
        await tell(run, EventKind.METRIC, "ppo", now - 60.0, step=1)
    await tell("finished", EventKind.STATE, "run", now, state="finished")
    place = Place(store_url=settings.db_url, blobs_url=settings.blobs_url, home=settings.home)
    await tell("long-gone", EventKind.STATE, "run", now - 2 * SILENT_S, state="running")
    would = await gc(place, GcOrder(rule=EVERYTHING), lambda *_: None)
    done = await gc(place, GcOrder(rule=EVERYTHING, apply=True), lambda *_: None)
    # it may only be paused: whose episodes go is told, before and after
    assert would["given_up"] == done["given_up"] == ["given-up"]
    assert len(done["trajectories"]) == 3
    assert await store.trajectory_ids() == tuple(kept)


async def test_a_collection_killed_in_the_middle_loses_nothing_that_is_needed(
    settings: Settings, store: Store, record_episode: Record
) -> None:
    needed = [await record_episode(store)]
    await store.select_dataset("mine/sft", SelectionRule.SUCCESS)
    for number in range(60):
        await record_episode(store, run=str(number))
    desk = JobDesk(settings)
    job = desk.ask("gc", {"kind": "gc", "rule": EVERYTHING, "apply": True}, "owner")
    folder = desk.folder(job.id)
    command = [sys.executable, "-m", "deskhand_platform.jobs.run", str(folder)]
    for _ in range(2):
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
        while process.returncode is None:
            await asyncio.sleep(0.002)
            state = folder / "state.json"
            if state.exists() and json.loads(state.read_text())["phase"] in ("trajectories", "blobs"):
                break
        if process.returncode is None:
            process.kill()
        await process.wait()
        assert set(needed) <= set(await store.trajectory_ids())
    last = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.DEVNULL)
    assert await last.wait() == 0
    assert desk.get(job.id).state is WorkState.DONE
    assert await store.trajectory_ids() == tuple(needed)
    assert await store.trajectory(needed[0], images=True)
    report = await fsck(store, settle_s=0)
    assert report.ok and report.counts == {}
