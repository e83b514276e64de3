from __future__ import annotations

import asyncio
import gzip
import ipaddress
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from deskhand_flywheel.errors import StorageFull
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.client.signature import WrongSignature, signed, verify
from deskhand_platform.queue import TaskQueue
from deskhand_platform.serving import address_of, answering, listen
from deskhand_platform.settings import Settings, WebhookSettings
from deskhand_platform.states import AlarmState
from deskhand_platform.webhooks.book import Delivery
from deskhand_platform.webhooks.sending import Sender

DATABASES = ("sqlite", "postgresql")
HERE = WebhookSettings(networks=(ipaddress.ip_network("127.0.0.0/8"),), first_pause_s=0.02, attempts=5)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhooks": HERE})


@dataclass
class Receiver:
    url: str = ""
    answers: list[int] = field(default_factory=list)
    """Of the next requests; 204 after them."""
    says: bytes = b"no room"
    encoding: bytes = b""
    """In which it says it."""
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while (message := await receive()).get("more_body") or message["body"]:
            body += message["body"]
            if not message.get("more_body"):
                break
        self.got.append(({name.decode(): value.decode() for name, value in scope["headers"]}, body))
        status = self.answers.pop(0) if self.answers else 204
        headers = [(b"location", b"http://127.0.0.1:9/")] if status == 302 else []
        headers += [(b"content-encoding", self.encoding)] if self.encoding else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if status == 204 else self.says})


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made, listener = Receiver(), listen("127.0.0.1", 0)
    async with answering(made, listener):
        made.url = address_of(listener) + "/hook"
        yield made


async def submit(client: httpx.AsyncClient, **more: Any) -> str:
    return (await client.post("/v1/tasks", json={"task_id": "fake/press-button", **more})).json()["id"]


async def add(client: httpx.AsyncClient, url: str, **more: Any) -> dict[str, Any]:
    made = await client.post("/v1/webhooks", json={"url": url, **more})
    assert made.status_code == 201, made.text
    return made.json()


async def settled(client: httpx.AsyncClient, webhook: str, count: int, state: str) -> list[dict[str, Any]]:
    while True:
        found = (await client.get(f"/v1/webhooks/{webhook}/deliveries", params={"state": state})).json()[
            "items"
        ]
        if len(found) >= count:
            return found[::-1]
        await asyncio.sleep(0.02)


async def test_a_result_arrives_signed(client: httpx.AsyncClient, store: Store, receiver: Receiver) -> None:
    before = await submit(client)
    await client.delete(f"/v1/tasks/{before}")
    made = await add(client, receiver.url, labels={"batch": "a"})
    assert made["secret"].startswith("whsec_") and made["states"] == ["done", "failed", "cancelled"]
    for path in ("/v1/webhooks", f"/v1/webhooks/{made['id']}"):
        assert made["secret"] not in (await client.get(path)).text
    mine, other = await submit(client, labels={"batch": "a", "x": "y"}), await submit(client)
    for id in (other, mine):
        await client.delete(f"/v1/tasks/{id}")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        [delivery] = await settled(client, made["id"], 1, "delivered")
    assert (delivery["attempts"], delivery["reason"], delivery["due_at_s"]) == (1, None, None)
    [(headers, body)] = receiver.got
    assert verify(made["secret"], headers, body) == delivery["id"]
    told = json.loads(body)
    assert told == delivery["payload"]
    assert (told["type"], told["data"]["id"], told["data"]["state"]) == ("task.cancelled", mine, "cancelled")
    assert told["data"]["event_id"] > 0 and headers["host"] in receiver.url
    for wrong in (body + b" ", body.replace(b"cancelled", b"done")):
        with pytest.raises(WrongSignature, match="another's"):
            verify(made["secret"], headers, wrong)
    with pytest.raises(WrongSignature, match="off"):
        verify(made["secret"], signed(made["secret"], "x", body, int(time.time()) - 3600), body)
    with pytest.raises(WrongSignature, match="not signed"):
        verify(made["secret"], {}, body)


async def test_what_fails_is_sent_again_under_the_same_id_and_given_up_in_the_end(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    made = await add(client, receiver.url)
    receiver.answers = [500, 302, 429]
    await client.delete(f"/v1/tasks/{await submit(client)}")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        [delivery] = await settled(client, made["id"], 1, "delivered")
        assert delivery["attempts"] == 4
        assert {headers["webhook-id"] for headers, _ in receiver.got} == {delivery["id"]}
        receiver.answers = [503] * HERE.attempts
        await client.delete(f"/v1/tasks/{await submit(client)}")
        [dead] = await settled(client, made["id"], 1, "dead")
        assert (dead["attempts"], dead["reason"]) == (HERE.attempts, "answered 503: no room")
        again = f"/v1/webhooks/{made['id']}/deliveries"
        assert (await client.post(f"{again}/{delivery['id']}/retry")).status_code == 409
        assert (await client.post(f"{again}/nothing/retry")).status_code == 404
        assert (await client.post(f"{again}/{dead['id']}/retry")).json()["state"] == "pending"
        await settled(client, made["id"], 2, "delivered")
        receiver.answers = [410]
        await client.delete(f"/v1/tasks/{await submit(client)}")
        [gone] = await settled(client, made["id"], 1, "dead")
        assert gone["attempts"] == 1


async def test_what_a_receiver_packs_stays_packed(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    made = await add(client, receiver.url)
    receiver.answers, receiver.encoding = [500] * HERE.attempts, b"gzip"
    receiver.says = gzip.compress(b"unpacked " * 1_000_000)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        [dead] = await settled(client, made["id"], 1, "dead")
    assert dead["reason"].startswith("answered 500: ") and "unpacked" not in dead["reason"]
    assert {headers["accept-encoding"] for headers, _ in receiver.got} == {"identity"}


async def test_one_that_hangs_holds_nobody_else_up(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        hanging = await add(client, address_of(server.sockets[0]))
        fine = await add(client, receiver.url)
        await client.delete(f"/v1/tasks/{await submit(client)}")
        async with asyncio.timeout(60), Sender(store, HERE.model_copy(update={"timeout_s": 40.0})).running():
            await settled(client, fine["id"], 1, "delivered")
            assert len(await settled(client, hanging["id"], 1, "pending")) == 1
        quick = HERE.model_copy(update={"timeout_s": 0.05})
        async with asyncio.timeout(60), Sender(store, quick).running():
            [dead] = await settled(client, hanging["id"], 1, "dead")
        assert dead["reason"] == "no answer within 0.05 s"


@pytest.mark.slow
async def test_more_than_one_look_takes_in(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    """A thousand events are read at a time."""
    made = await add(client, receiver.url, states=["running"])
    queue = TaskQueue(store.database)
    count = 1_030
    await client.post("/v1/tasks/batch", json={"tasks": [{"task_id": "fake/press-button"}] * count})
    for _ in range(count):
        assert await queue.claim("w", 60) is not None
    async with asyncio.timeout(150), Sender(store, HERE).running():
        while len(receiver.got) < count:
            await asyncio.sleep(0.05)
        await settled(client, made["id"], 50, "delivered")
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == count


async def test_alarms_go_to_those_who_want_them(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    book = AlarmBook(store)
    await book.tell("platform", "before", AlarmState.RAISED)
    made = await add(client, receiver.url, about="alarms")
    await add(client, receiver.url + "/tasks", about="tasks")
    await book.tell("platform", "disk_low", AlarmState.RAISED, {"free_gb": 1.5})
    # a run says that something happened, without a state
    happened = Event(id=0, at_s=7.0, subject="run:r", kind=EventKind.ALARM, name="kl_high", data={"value": 1})
    await store.append_event(happened)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    await book.tell("platform", "disk_low", AlarmState.CLEARED)
    async with asyncio.timeout(60), Sender(store, HERE).running():
        first, *told = [one["payload"] for one in await settled(client, made["id"], 4, "delivered")]
    # what stood when it was added
    assert (first["type"], first["data"]["name"]) == ("alarm.raised", "before")
    for one in told:
        assert one["data"].pop("event_id") > 0
    assert [one["type"] for one in told] == ["alarm.raised", "alarm.raised", "alarm.cleared"]
    assert told[1]["data"] == {
        "at_s": 7.0,
        "subject": "run:r",
        "name": "kl_high",
        "state": "raised",
        "value": 1,
    }
    assert (told[0]["data"]["name"], told[0]["data"]["free_gb"]) == ("disk_low", 1.5)
    refused = await client.post("/v1/webhooks", json={"url": receiver.url, "about": "rounds"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "about")


async def test_what_leads_inside_is_refused_now_and_later(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    refused = await client.post("/v1/webhooks", json={"url": "http://169.254.169.254/latest/meta-data"})
    error = refused.json()["error"]
    assert (refused.status_code, error["field"]) == (422, "url") and "webhooks.networks" in error["message"]
    made = await add(client, receiver.url)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    # the setting was taken back: what is known already is not reached any more either
    closed = WebhookSettings(attempts=1)
    async with asyncio.timeout(60), Sender(store, closed).running():
        [dead] = await settled(client, made["id"], 1, "dead")
    assert "no public address" in dead["reason"] and receiver.got == []


async def test_a_webhook_is_removed_with_what_it_was_to_be_told(
    client: httpx.AsyncClient, store: Store
) -> None:
    made = await add(client, "http://127.0.0.1:9/")
    await client.delete(f"/v1/tasks/{await submit(client)}")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        await settled(client, made["id"], 1, "pending")
        refused = await client.get(f"/v1/webhooks/{made['id']}/deliveries?cursor=zz")
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, "cursor")
        assert (await client.delete(f"/v1/webhooks/{made['id']}")).json()["url"] == "http://127.0.0.1:9/"
    assert (await client.get("/v1/webhooks")).json() == []
    for path in ("", "/deliveries"):
        assert (await client.get(f"/v1/webhooks/{made['id']}{path}")).status_code == 404


async def test_alarms_that_stand_are_told_first(
    client: httpx.AsyncClient, store: Store, receiver: Receiver
) -> None:
    book = AlarmBook(store)
    over = await book.tell("platform", "no_rollouts", AlarmState.RAISED)
    await book.tell("platform", "no_rollouts", AlarmState.CLEARED)
    stands = await book.tell("platform", "disk_low", AlarmState.RAISED, {"value": 1.5})
    made = await add(client, receiver.url, about="alarms")
    other = await add(client, receiver.url, about="tasks")
    await book.tell("platform", "disk_low", AlarmState.CLEARED)
    async with Sender(store, HERE).running():
        first, then = await settled(client, made["id"], 2, "delivered")
    assert (first["payload"]["type"], then["payload"]["type"]) == ("alarm.raised", "alarm.cleared")
    told = first["payload"]["data"]
    assert (told["event_id"], told["name"], told["value"]) == (stands.id, "disk_low", 1.5)
    assert told["event_id"] != over.id
    assert (await client.get(f"/v1/webhooks/{other['id']}/deliveries")).json()["items"] == []


async def test_what_cannot_be_noted_is_not_sent_again_meanwhile(
    client: httpx.AsyncClient, store: Store, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await add(client, receiver.url)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    receiver.answers, receiver.says = [500], b"\0"
    sender, full = Sender(store, HERE), [StorageFull("the disk is full")] * 8
    settle = sender._book._settle

    async def full_at_first(delivery: Delivery, **values: Any) -> None:
        if full:
            raise full.pop()
        await settle(delivery, **values)

    monkeypatch.setattr(sender._book, "_settle", full_at_first)
    async with asyncio.timeout(60), sender.running():
        [delivery] = await settled(client, made["id"], 1, "delivered")
    assert (len(receiver.got), delivery["attempts"], full) == (2, 2, [])


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_no_sending(
    client: httpx.AsyncClient,
    store: Store,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = await add(client, receiver.url)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    sender = Sender(store, HERE)
    spread, odd = sender._spread, [RuntimeError("odd")]

    async def once_odd() -> bool:
        if odd:
            raise odd.pop()
        return await spread()

    monkeypatch.setattr(sender, "_spread", once_odd)
    async with asyncio.timeout(60), sender.running():
        await settled(client, made["id"], 1, "delivered")
    assert "raise odd.pop()" in caplog.text


@pytest.mark.usefixtures("short_pauses")
async def test_one_that_nobody_foresaw_how_to_send_is_given_up_in_the_end(
    client: httpx.AsyncClient,
    store: Store,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    odd, other = await add(client, receiver.url + "?odd"), await add(client, receiver.url)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    sender = Sender(store, HERE)
    send = sender._send

    async def odd_there(delivery: Delivery, url: str, secret: str) -> tuple[str | None, bool]:
        if url.endswith("?odd"):
            raise RuntimeError("odd")
        return await send(delivery, url, secret)

    monkeypatch.setattr(sender, "_send", odd_there)
    async with asyncio.timeout(60), sender.running():
        await settled(client, other["id"], 1, "delivered")
        [delivery] = await settled(client, odd["id"], 1, "dead")
    assert (delivery["attempts"], delivery["reason"]) == (5, "could not be sent: RuntimeError: odd")
    assert 'raise RuntimeError("odd")' in caplog.text


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_when_it_has_arrived_stands_in_the_log(
    client: httpx.AsyncClient,
    store: Store,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = await add(client, receiver.url)
    await client.delete(f"/v1/tasks/{await submit(client)}")
    sender = Sender(store, HERE)
    delivered, odd = sender._book.delivered, [RuntimeError("odd")]

    async def once_odd(delivery: Delivery) -> None:
        if odd:
            raise odd.pop()
        await delivered(delivery)

    monkeypatch.setattr(sender._book, "delivered", once_odd)
    async with asyncio.timeout(60), sender.running():
        [delivery] = await settled(client, made["id"], 1, "delivered")
    told = next(record for record in caplog.records if "is sent again" in record.getMessage())
    assert delivery["id"] in told.getMessage() and told.exc_info is not None
