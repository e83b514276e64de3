from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.alarms.watch import AlarmWatch
from deskhand_platform.settings import AlarmSettings, Settings


def limits(settings: Settings, **changes: Any) -> Settings:
    return settings.model_copy(update={"alarms": AlarmSettings(**changes)})


async def open_names(store: Store) -> list[str]:
    return [one.name for one in await AlarmBook(store).open()]


async def test_it_raises_once_and_clears(settings: Settings, store: Store, client: httpx.AsyncClient) -> None:
    full = limits(settings, disk_free_gb=1e9)
    await AlarmWatch(full, store).look()
    await AlarmWatch(full, store).look()
    [alarm] = (await client.get("/v1/alarms", params={"open": True})).json()
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
    [over] = (await client.get("/v1/alarms")).json()
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


class Receiver:
    """A webhook that refuses the first posts."""

    def __init__(self, refusals: int) -> None:
        self.taken: list[dict[str, Any]] = []
        self.refusals = refusals
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                receiver.refusals -= 1
                if receiver.refusals < 0:
                    receiver.taken.append(body)
                self.send_response(503 if receiver.refusals >= 0 else 204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver(refusals=2)
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


async def test_a_webhook_is_told_in_order_again_until_it_takes_it(
    settings: Settings, store: Store, receiver: Receiver
) -> None:
    book = AlarmBook(store)
    hooked = limits(settings, disk_free_gb=1e9, every_s=0.05, webhook=receiver.url, webhook_retry_s=0.02)
    await store.append_event(
        Event(id=0, at_s=1.0, subject="run:old", kind=EventKind.ALARM, name="before", data={})
    )
    async with AlarmWatch(hooked, store).running():
        await _until(lambda: len(receiver.taken) == 1)
    assert (receiver.taken[0]["name"], receiver.taken[0]["state"]) == ("disk_low", "raised")
    # while nobody delivered: a restart goes on where it stood
    event = Event(
        id=0, at_s=time.time(), subject="run:r", kind=EventKind.ALARM, name="kl_high", data={"value": 1}
    )
    await store.append_event(event)
    quiet = limits(settings, disk_free_gb=0, every_s=0.05, webhook=receiver.url)
    async with AlarmWatch(quiet, store).running():
        await _until(lambda: len(receiver.taken) == 3)
    assert [(one["name"], one["state"]) for one in receiver.taken[1:]] == [
        ("kl_high", "raised"),
        ("disk_low", "cleared"),
    ]
    assert [one.name for one in await book.open()] == ["kl_high"]


async def _until(holds: Any) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0.02)


async def test_the_overview_says_what_runs(
    client: httpx.AsyncClient, store: Store, record_episode: Any
) -> None:
    await record_episode(store)
    await record_episode(store, success=False)
    await client.post("/v1/tasks", json={"task_id": "fake/press-button"})
    await client.post("/v1/rounds", json={"preset": "smoke"})
    found = (await client.get("/v1/overview")).json()
    assert found["tasks"]["queued"] == 1 and found["oldest_wait_s"] >= 0
    assert found["recent"] == {"ended": 2, "succeeded": 1, "broken": 0}
    assert (found["round"], found["last_round"], found["pools"]) == (None, None, None)
    assert found["alarms"] == []
