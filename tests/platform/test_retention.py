"""What is old and over is dropped, and nothing that anybody still waits for."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.tables import events
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform import retention
from deskhand_platform.client.stream import EventReader
from deskhand_platform.queue import TaskQueue
from deskhand_platform.retention import Retention, dropped_up_to
from deskhand_platform.settings import RetentionSettings
from deskhand_platform.states import WorkState
from deskhand_platform.tables import webhook_deliveries
from deskhand_platform.task_orders import PolicyRef, TaskOrder
from deskhand_platform.webhooks.about import About
from deskhand_platform.webhooks.book import DeliveryState, WebhookBook
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.tasks.setup.downloads import Downloads

DATABASES = ("sqlite", "postgresql")
DAY_S = 86_400.0
MONTH = RetentionSettings(
    task_events_s=30 * DAY_S, deliveries_s=30 * DAY_S, downloads_s=30 * DAY_S, every_s=0.01
)
NONE_FETCHED = Downloads(Path("nowhere"))


async def cancel_some(store: Store, count: int) -> None:
    """Tasks that are over, each with one event."""
    queue = TaskQueue(store.database)
    order = TaskOrder(task=make_task("fake/press-button", 1), policy=PolicyRef(name="scripted", settings={}))
    for _ in range(count):
        await queue.cancel((await queue.submit(order)).id)


async def tell(store: Store, subject: str, kind: EventKind, name: str) -> int:
    told = Event(id=0, at_s=time.time(), subject=subject, kind=kind, name=name, data={"step": 1})
    return (await store.append_event(told)).id


async def ids_of_tasks(store: Store) -> list[int]:
    return [one.id for one in await store.events_after(0, name="task")]


async def age(store: Store, days: float, up_to: int | None = None) -> None:
    """Make events older."""
    older = events.update().values(at_s=events.c.at_s - days * DAY_S)
    async with store.database.write() as connection:
        await connection.execute(older if up_to is None else older.where(events.c.id <= up_to))


async def drop(store: Store, settings: RetentionSettings = MONTH) -> int:
    return await Retention(store.database, settings, NONE_FETCHED).drop(time.time())


async def test_old_events_of_tasks_go_and_all_others_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    kept = [
        await tell(store, "run:round-1-ppo", EventKind.METRIC, "ppo/iteration"),
        await tell(store, "round:1", EventKind.STATE, "round"),
        await tell(store, "platform", EventKind.ALARM, "disk_low"),
        # nobody of the queue
        await tell(store, "run:round-1-ppo", EventKind.STATE, "task"),
    ]
    await cancel_some(store, 5)
    old = await ids_of_tasks(store)
    await age(store, 31)
    await cancel_some(store, 2)
    young = [one for one in await ids_of_tasks(store) if one not in old]
    assert await drop(store, RetentionSettings(task_events_s=None)) == 0
    assert await drop(store) == 5
    left = await store.events_after(0)
    assert [one.id for one in left if one.name != retention.DROPPED] == [*kept, *young]
    assert await dropped_up_to(store.database) == max(old)
    assert [one.name for one in left].count(retention.DROPPED) == 1
    assert await drop(store) == 0


async def test_nothing_goes_that_a_webhook_has_not_been_told(store: Store) -> None:
    book = WebhookBook(store.database)
    await cancel_some(store, 4)
    told = await ids_of_tasks(store)
    await age(store, 90)
    slow, _ = await book.add("ada", 5, "https://example.com", About.TASKS, {}, [WorkState.CANCELLED], told[1])
    await book.add("ada", 5, "https://example.com", About.ALARMS, {}, [], told[3])
    assert await drop(store) == 2
    assert await ids_of_tasks(store) == told[2:]
    await book.spread(
        slow.after_event, [slow], await store.events_after(slow.after_event, name="task"), told[3]
    )
    assert await drop(store) == 2
    deliveries = await book.deliveries(slow.id)
    assert [one.payload["data"]["event_id"] for one in deliveries[::-1]] == told[2:]  # pyright: ignore


async def test_deliveries_go_when_they_are_over_and_old(store: Store) -> None:
    book = WebhookBook(store.database)
    await cancel_some(store, 5)
    hook, _ = await book.add("ada", 5, "https://example.com", About.TASKS, {}, [WorkState.CANCELLED], 0)
    await book.spread(0, [hook], await store.events_after(0, name="task"), await store.last_event_id())
    waiting, arrived, dead, again, young = (await book.deliveries(hook.id))[::-1]
    for one in (arrived, young):
        await book.delivered(one)
    for one in (dead, again):
        await book.missed(one, "nobody is there", None)
    older = webhook_deliveries.update().values(
        created_at_s=webhook_deliveries.c.created_at_s - 40 * DAY_S,
        due_at_s=webhook_deliveries.c.due_at_s - 40 * DAY_S,
        ended_at_s=webhook_deliveries.c.ended_at_s - 40 * DAY_S,
    )
    async with store.database.write() as connection:
        await connection.execute(older.where(webhook_deliveries.c.id != young.id))
    await book.retry(hook.id, again.id)
    assert await drop(store, RetentionSettings(deliveries_s=None)) == 0
    assert await drop(store) == 2
    left = {one.id: one.state for one in await book.deliveries(hook.id)}
    pending = dict.fromkeys((waiting.id, again.id), DeliveryState.PENDING)
    assert left == {**pending, young.id: DeliveryState.DELIVERED}


async def test_what_tasks_fetched_goes_when_none_has_used_it_for_long(store: Store, tmp_path: Path) -> None:
    downloads, now = Downloads(tmp_path), time.time()
    (tmp_path / "fetched").mkdir()
    old, young = (downloads.fetched(f"https://example.com/{days}") for days in (31, 29))
    for place, days in ((old, 31), (young, 29)):
        place.touch()
        at_s = now - days * DAY_S
        os.utime(place, (at_s, at_s))
    for_ever = RetentionSettings(downloads_s=None)
    assert await Retention(store.database, for_ever, downloads).drop(now) == 0
    assert await Retention(store.database, RetentionSettings(), downloads).drop(now) == 1
    assert not old.exists() and young.exists()


async def told_ids(
    client: httpx.AsyncClient, path: str, last_id: int, **params: str
) -> tuple[list[int], str]:
    """Ids of what a stream tells, and all of it."""
    asked, headers = {"follow": "false", **params}, {"Last-Event-ID": str(last_id)}
    answer = await client.get(path, params=asked, headers=headers)
    assert answer.status_code == 200, answer.text
    lines = answer.text.splitlines()
    return [int(line[4:]) for line in lines if line.startswith("id: ")], answer.text


async def test_a_stream_is_told_what_is_gone(client: httpx.AsyncClient, store: Store) -> None:
    metric = await tell(store, "run:r", EventKind.METRIC, "ppo/iteration")
    await cancel_some(store, 3)
    old = await ids_of_tasks(store)
    await age(store, 31)
    await cancel_some(store, 1)
    [young] = set(await ids_of_tasks(store)) - set(old)
    await drop(store)
    for path in ("/v1/tasks/events", "/v1/events", f"/v1/events?subject=run:r&subject=task:{'0' * 32}"):
        refused = await client.get(path, headers={"Last-Event-ID": str(old[0])})
        assert refused.status_code == 410, path
        said = refused.json()["error"]["message"]
        assert f"up to {old[-1]} are no longer kept" in said and "begin again" in said
    assert (await client.get("/v1/tasks/events", params={"after": old[0]})).status_code == 410
    gone = f": events of tasks up to {old[-1]} are no longer kept"
    ids, text = await told_ids(client, "/v1/tasks/events", 0)
    assert ids == [young] and gone in text
    ids, text = await told_ids(client, "/v1/tasks/events", old[-1])
    assert ids == [young] and gone not in text
    ids, text = await told_ids(client, "/v1/events", 0, subject="run:r")
    assert ids == [metric] and gone not in text
    # of rounds nothing was dropped
    assert (await told_ids(client, "/v1/events", metric, subject="run:r"))[0] == []


async def test_it_drops_by_itself(store: Store) -> None:
    await cancel_some(store, 2)
    await age(store, 31)
    async with asyncio.timeout(60), Retention(store.database, MONTH, NONE_FETCHED).running():
        while await ids_of_tasks(store):
            await asyncio.sleep(0.01)


async def test_a_log_that_is_too_large_is_begun_anew_under_whoever_writes_it(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "LARGEST_LOG", 10)
    large, small, old = tmp_path / "worker.log", tmp_path / "chat.log", tmp_path / "worker.log.1"
    small.write_text("0123456789")
    old.write_text("of the time before")
    logs = [tmp_path / "no.log", large, small]
    with large.open("ab", buffering=0) as child:
        child.write(b"more than ten")
        async with asyncio.timeout(60), Retention(store.database, MONTH, NONE_FETCHED, logs).running():
            while large.stat().st_size:
                await asyncio.sleep(0.01)
        child.write(b"and on")
    assert (large.read_bytes(), old.read_bytes()) == (b"and on", b"more than ten")
    assert small.read_text() == "0123456789" and len([*tmp_path.glob("*.log*")]) == 3


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_no_dropping(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    class Odd(Retention):
        tries, dropped = 0, asyncio.Event()

        async def drop(self, now_s: float) -> int:
            self.tries += 1
            if self.tries == 1:
                raise RuntimeError("odd")
            self.dropped.set()
            return 0

    odd = Odd(store.database, MONTH, NONE_FETCHED)
    async with asyncio.timeout(60), odd.running():
        await odd.dropped.wait()
    assert 'raise RuntimeError("odd")' in caplog.text


@pytest.mark.parametrize(
    ("lines", "told", "last"),
    [
        (["id: 7", "data: {}", ""], [7], 7),
        ([": still here", "id: 9", ""], [], 9),
        ([": still here", ""], [], 3),
        (["data: {}", ""], [], 3),
    ],
)
def test_a_reader_goes_on_where_the_platform_has_looked(
    lines: Sequence[str], told: list[int], last: int
) -> None:
    reader = EventReader(last_id=3)
    assert [one.id for line in lines if (one := reader.feed(line)) is not None] == told
    assert reader.last_id == last
