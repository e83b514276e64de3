from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_flywheel.tables import trajectories
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.alarms.watch import AlarmWatch
from deskhand_platform.settings import AlarmSettings, Settings

DATABASES = ("sqlite", "postgresql")


def limits(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update={"alarms": AlarmSettings(**changes)})


async def open_names(store: Store) -> list[str]:
    return [one.name for one in await AlarmBook(store).open()]


async def test_it_raises_once_and_clears(settings: Settings, store: Store, client: httpx.AsyncClient) -> None:
    full = limits(settings, disk_free_gb=1e9)
    await AlarmWatch(full, store).look()
    await AlarmWatch(full, store).look()
    [alarm] = (await client.get("/v1/alarms", params={"open": True})).json()["items"]
    assert (alarm["name"], alarm["subject"], alarm["state"]) == ("disk_low", "platform", "raised")
    assert alarm["data"]["unit"] == "GB free" and "state" not in alarm["data"]
    seen = await client.post(f"/v1/alarms/{alarm['id']}/acknowledge")
    assert (seen.json()["state"], seen.json()["acknowledged_by"]) == ("acknowledged", "owner")
    assert (await client.post(f"/v1/alarms/{alarm['id']}/acknowledge")).status_code == 409
    assert (await client.post("/v1/alarms/12345/acknowledge")).status_code == 404
    await AlarmWatch(full, store).look()
    assert await open_names(store) == ["disk_low"]
    await AlarmWatch(limits(settings, disk_free_gb=0), store).look()
    assert await open_names(store) == []
    [over] = (await client.get("/v1/alarms")).json()["items"]
    assert over["state"] == "cleared" and over["cleared_at_s"] >= over["raised_at_s"]


async def test_work_without_episodes_and_runs_that_collapse(
    settings: Settings, store: Store, client: httpx.AsyncClient
) -> None:
    await client.post("/v1/tasks", json={"task_id": "fake/press-button"})
    for step, success in enumerate([0.8] * 5 + [0.1] * 5):
        data = {"step": step, "success_sampled": success, "entropy": 1.0 if step < 5 else 0.01}
        event = Event(
            id=0, at_s=time.time(), subject="run:r", kind=EventKind.METRIC, name="ppo/iteration", data=data
        )
        await store.append_event(event)
    await asyncio.sleep(0.05)
    await AlarmWatch(limits(settings, disk_free_gb=0, quiet_s=0.01), store).look()
    assert sorted(await open_names(store)) == ["entropy_collapse", "no_rollouts", "reward_collapse"]


async def test_the_overview_says_what_runs(
    client: httpx.AsyncClient, store: Store, record_episode: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record_episode(store)
    await record_episode(store, success=False)
    await client.post("/v1/tasks", json={"task_id": "fake/press-button"})
    await client.post("/v1/rounds", json={"preset": "smoke"})
    found = (await client.get("/v1/overview")).json()
    assert found["tasks"]["queued"] == 1 and found["oldest_wait_s"] >= 0
    assert found["recent"] == {"ended": 2, "succeeded": 1, "broken": 0, "more": False}
    assert (found["round"], found["last_round"], found["pools"]) == (None, None, None)
    assert found["alarms"] == []
    monkeypatch.setattr("deskhand_platform.api.routes.overview.NEWEST", 1)
    recent = (await client.get("/v1/overview")).json()["recent"]
    assert recent == {"ended": 1, "succeeded": 0, "broken": 0, "more": True}
    async with store.database.write() as connection:  # the newest is under way again
        newest = sa.select(sa.func.max(trajectories.c.id)).scalar_subquery()
        under_way = sa.update(trajectories).where(trajectories.c.id == newest)
        await connection.execute(under_way.values(ended_at_s=None, success=None))
    recent = (await client.get("/v1/overview")).json()["recent"]
    assert recent == {"ended": 0, "succeeded": 0, "broken": 0, "more": True}
    async with store.database.write() as connection:  # and the one before is of long ago
        await connection.execute(sa.update(trajectories).values(started_at_s=1.0, ended_at_s=2.0))
    recent = (await client.get("/v1/overview")).json()["recent"]
    assert recent == {"ended": 0, "succeeded": 0, "broken": 0, "more": False}


async def test_what_nobody_foresaw_ends_no_watching(
    settings: Settings, store: Store, caplog: pytest.LogCaptureFixture, odd_once: Any
) -> None:
    Odd = odd_once(AlarmWatch)
    watch = Odd(limits(settings, every_s=0.01), store)
    async with asyncio.timeout(60), watch.running():
        await watch.looked.wait()
    assert 'raise RuntimeError("odd")' in caplog.text
