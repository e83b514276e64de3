"""A webhook is its owner's: it is told what they may see, and nobody who sees only their own finds it."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.serving import address_of
from deskhand_platform.settings import Settings, WebhookSettings
from deskhand_platform.states import AlarmState
from deskhand_platform.tables import webhook_deliveries, webhooks
from deskhand_platform.webhooks import sending
from deskhand_platform.webhooks.sending import Sender

DATABASES = ("sqlite", "postgresql")
HERE = WebhookSettings(
    networks=(ipaddress.ip_network("127.0.0.0/8"),), first_pause_s=0.02, attempts=2, per_owner=3
)
BODY = {"task_id": "fake/press-button"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"webhooks": HERE})


class Door:
    """Takes everything in, or hangs."""

    def __init__(self) -> None:
        self.url, self.came, self.hangs = "", 0, False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.came += 1
        if self.hangs:
            await reader.read()
        else:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        writer.close()


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    made = Door()
    async with await asyncio.start_server(made.answer, "127.0.0.1", 0) as server:
        made.url = address_of(server.sockets[0])
        yield made


Asks = Callable[..., Awaitable[Any]]


@pytest.fixture
async def ask(
    anonymous: httpx.AsyncClient, person: Callable[..., Awaitable[str]], accounts: Accounts
) -> Asks:
    """Two submitters and an operator; each is asked as by name, with the status that is expected."""
    tokens = {
        "ada": await person("ada", Role.SUBMITTER),
        "bob": await person("bob", Role.SUBMITTER),
        "eve": await person("eve", Role.OPERATOR),
    }

    async def asked(name: str, method: str, path: str, status: int = 200, **more: Any) -> Any:
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        answer = await anonymous.request(method, f"/v1/{path}", headers=headers, **more)
        assert answer.status_code == status, (name, method, path, answer.text)
        return answer.json()

    return asked


async def end_one(ask: Asks, name: str, **more: Any) -> str:
    """A task of theirs that is over."""
    id = (await ask(name, "POST", "tasks", 201, json={**BODY, **more}))["id"]
    await ask(name, "DELETE", f"tasks/{id}")
    return str(id)


async def told(store: Store, id: str, count: int) -> list[Any]:
    """What a webhook has been told, in order, once it is so many."""
    query = sa.select(webhook_deliveries).where(
        webhook_deliveries.c.webhook_id == id, webhook_deliveries.c.state == "delivered"
    )
    while True:
        async with store.database.read() as connection:
            rows = (await connection.execute(query.order_by(webhook_deliveries.c.id))).mappings().all()
        if len(rows) >= count:
            return [row["payload"] for row in rows]
        await asyncio.sleep(0.02)


async def test_each_is_told_of_what_its_owner_may_see(ask: Asks, store: Store, door: Door) -> None:
    hooks = {
        name: (await ask(name, "POST", "webhooks", 201, json={"url": door.url}))["id"]
        for name in ("ada", "bob", "eve")
    }
    ended = {name: await end_one(ask, name) for name in ("ada", "bob", "eve")}
    async with asyncio.timeout(60), Sender(store, HERE).running():
        assert [one["data"]["id"] for one in await told(store, hooks["eve"], 3)] == [*ended.values()]
        for name in ("ada", "bob"):
            [one] = await told(store, hooks[name], 1)
            assert (one["data"]["id"], one["data"]["owner"]) == (ended[name], name)


async def test_no_text_of_a_task_keeps_others_from_being_told(ask: Asks, store: Store, door: Door) -> None:
    hooks = {
        name: (await ask(name, "POST", "webhooks", 201, json={"url": door.url}))["id"]
        for name in ("ada", "bob")
    }
    odd = await end_one(ask, "ada", labels={"a": "x\0y"})
    ended = await end_one(ask, "bob")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        assert [one["data"]["id"] for one in await told(store, hooks["bob"], 1)] == [ended]
        assert [one["data"]["labels"] for one in await told(store, hooks["ada"], 1)] == [{"a": "x\0y"}]
    [delivery] = (await ask("ada", "GET", f"webhooks/{hooks['ada']}/deliveries"))["items"]
    assert delivery["payload"]["data"]["id"] == odd


async def test_submitters_find_their_own_alone(ask: Asks, store: Store, door: Door) -> None:
    hooks = {
        name: await ask(name, "POST", "webhooks", 201, json={"url": f"{door.url}/{name}"})
        for name in ("ada", "bob", "eve")
    }
    assert [one["owner"] for one in hooks.values()] == ["ada", "bob", "eve"]
    for name in ("ada", "bob"):
        assert [one["id"] for one in await ask(name, "GET", "webhooks")] == [hooks[name]["id"]]
    assert len(await ask("eve", "GET", "webhooks")) == 3
    await end_one(ask, "bob")
    closed = HERE.model_copy(update={"networks": (), "attempts": 1})
    bobs = f"webhooks/{hooks['bob']['id']}"
    async with asyncio.timeout(60), Sender(store, closed).running():
        while not (dead := (await ask("bob", "GET", f"{bobs}/deliveries?state=dead"))["items"]):
            await asyncio.sleep(0.02)
    # what is public is asked of everybody's alike
    assert "no public address" in dead[0]["reason"] and door.came == 0
    again = f"{bobs}/deliveries/{dead[0]['id']}/retry"
    for method, path in (("GET", bobs), ("DELETE", bobs), ("GET", f"{bobs}/deliveries"), ("POST", again)):
        await ask("ada", method, path, 404)
    eves = f"webhooks/{hooks['eve']['id']}"
    await ask("ada", "POST", f"{eves}/deliveries/{dead[0]['id']}/retry", 404)
    assert (await ask("bob", "POST", again))["state"] == "pending"
    assert len((await ask("eve", "GET", f"{bobs}/deliveries"))["items"]) == 1
    await ask("bob", "DELETE", bobs)
    await ask("eve", "DELETE", f"webhooks/{hooks['ada']['id']}")
    assert await ask("ada", "GET", "webhooks") == []


async def test_submitters_are_told_of_no_alarms_and_of_no_place_inside(ask: Asks, door: Door) -> None:
    body = {"url": door.url, "about": "alarms"}
    refused = await ask("ada", "POST", "webhooks", 403, json=body)
    assert "metrics:read" in refused["error"]["message"]
    await ask("eve", "POST", "webhooks", 201, json=body)
    inside = {"url": "http://169.254.169.254/latest/meta-data"}
    assert (await ask("ada", "POST", "webhooks", 422, json=inside))["error"]["field"] == "url"


async def test_a_token_has_nothing_sent_that_it_may_not_read(
    anonymous: httpx.AsyncClient, accounts: Accounts, ask: Asks, door: Door
) -> None:
    _, token = await accounts.tokens.create("eve", "writes", scopes=["tasks:write"])
    headers = {"Authorization": f"Bearer {token}"}
    for about in ("tasks", "alarms"):
        body = {"url": door.url, "about": about}
        assert (await anonymous.post("/v1/webhooks", json=body, headers=headers)).status_code == 403


@pytest.mark.parametrize("less", [{"scopes": ["tasks:read", "tasks:write"]}, {"lasts_s": 3600.0}])
async def test_a_token_for_a_part_or_a_time_makes_nothing_that_outlives_it(
    anonymous: httpx.AsyncClient, accounts: Accounts, ask: Asks, door: Door, less: dict[str, Any]
) -> None:
    _, token = await accounts.tokens.create("ada", "nightly", **less)
    headers = {"Authorization": f"Bearer {token}"}
    refused = await anonymous.post("/v1/webhooks", json={"url": door.url}, headers=headers)
    assert refused.status_code == 403 and "sign in by password" in refused.text
    made = (await ask("ada", "POST", "webhooks", 201, json={"url": door.url}))["id"]
    assert [one["id"] for one in (await anonymous.get("/v1/webhooks", headers=headers)).json()] == [made]
    assert (await anonymous.delete(f"/v1/webhooks/{made}", headers=headers)).status_code == 200


async def test_a_token_sees_nothing_among_deliveries_that_it_may_not_read(
    anonymous: httpx.AsyncClient, accounts: Accounts, store: Store, ask: Asks, door: Door
) -> None:
    _, token = await accounts.tokens.create("eve", "reads", scopes=["tasks:read", "tasks:write"])
    headers = {"Authorization": f"Bearer {token}"}
    await AlarmBook(store).tell("platform", "disk_low", AlarmState.RAISED, {"free_gb": 1.5})
    for about, status in (("tasks", 404), ("alarms", 403)):
        made = await ask("eve", "POST", "webhooks", 201, json={"url": door.url, "about": about})
        path = f"webhooks/{made['id']}/deliveries"
        told = (await ask("eve", "GET", path))["items"]  # an alarm that stands is told first
        assert len(told) == (about == "alarms")
        assert (await anonymous.get(f"/v1/{path}", headers=headers)).json()["items"] == []
        again = await anonymous.post(f"/v1/{path}/none/retry", headers=headers)
        assert again.status_code == status


async def test_an_owner_has_so_many_and_no_more(ask: Asks, door: Door) -> None:
    body = {"url": door.url}
    at_once = await asyncio.gather(*(ask("ada", "POST", "webhooks", 201, json=body) for _ in range(3)))
    refused = (await ask("ada", "POST", "webhooks", 429, json=body))["error"]
    assert (refused["type"], refused["used"], refused["limit"]) == ("quota_exceeded", 3, 3)
    assert "remove one" in refused["message"] and refused["retry_s"] > 0
    await ask("bob", "POST", "webhooks", 201, json=body)
    await ask("ada", "DELETE", f"webhooks/{at_once[0]['id']}")
    answers = await asyncio.gather(
        *(ask("ada", "POST", "webhooks", status, json=body) for status in (201, 429)), return_exceptions=True
    )
    assert len(await ask("ada", "GET", "webhooks")) == 3, answers


async def test_what_an_owner_may_no_longer_see_is_not_sent(
    ask: Asks, accounts: Accounts, store: Store, door: Door
) -> None:
    made = [
        (await ask("eve", "POST", "webhooks", 201, json={"url": door.url, "about": about}))["id"]
        for about in ("tasks", "alarms")
    ]
    door.hangs = True
    before = await end_one(ask, "ada")
    short = HERE.model_copy(update={"timeout_s": 0.05, "attempts": 1})
    async with asyncio.timeout(60), Sender(store, short).running():
        while not (await ask("eve", "GET", f"webhooks/{made[0]}/deliveries?state=dead"))["items"]:
            await asyncio.sleep(0.02)
    [dead] = (await ask("eve", "GET", f"webhooks/{made[0]}/deliveries"))["items"]
    assert dead["payload"]["data"]["id"] == before
    # it waits to be sent again, when its owner becomes a submitter
    await ask("eve", "POST", f"webhooks/{made[0]}/deliveries/{dead['id']}/retry")
    await accounts.users.change("eve", role=Role.SUBMITTER)
    door.hangs = False
    await AlarmBook(store).tell("platform", "disk_low", AlarmState.RAISED, {"free_gb": 1.5})
    others, own = await end_one(ask, "bob"), await end_one(ask, "eve")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        assert [one["data"]["id"] for one in await told(store, made[0], 1)] == [own]
        listed = (await ask("eve", "GET", f"webhooks/{made[0]}/deliveries"))["items"]
        assert [one["payload"]["data"]["id"] for one in listed] == [own] and others != own
        await ask("eve", "POST", f"webhooks/{made[0]}/deliveries/{dead['id']}/retry", 404)
        assert (await ask("eve", "GET", f"webhooks/{made[1]}/deliveries"))["items"] == []
        await accounts.users.change("eve", disabled=True)
        await end_one(ask, "bob")
        ended = (await ask("bob", "POST", "webhooks", 201, json={"url": door.url}))["id"]
        await end_one(ask, "bob")
        await told(store, ended, 1)
        assert len(await told(store, made[0], 1)) == 1


async def test_one_from_before_there_were_owners_is_told_of_everybody(
    ask: Asks, store: Store, door: Door
) -> None:
    made = (await ask("eve", "POST", "webhooks", 201, json={"url": door.url}))["id"]
    async with store.database.write() as connection:
        await connection.execute(webhooks.update().values(owner=None))
    ended = await end_one(ask, "ada")
    async with asyncio.timeout(60), Sender(store, HERE).running():
        assert [one["data"]["id"] for one in await told(store, made, 1)] == [ended]
    assert [one["owner"] for one in await ask("eve", "GET", "webhooks")] == [None]
    assert await ask("ada", "GET", "webhooks") == []


async def test_one_owner_whose_receivers_hang_holds_up_nobody_else(
    ask: Asks, store: Store, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "AT_ONCE", 4)
    monkeypatch.setattr(sending, "OF_ONE", 2)
    door.hangs = True
    await ask("ada", "POST", "webhooks", 201, json={"url": door.url})
    for _ in range(8):
        await end_one(ask, "ada")
    fine = Door()
    async with await asyncio.start_server(fine.answer, "127.0.0.1", 0) as server:
        bobs = (await ask("bob", "POST", "webhooks", 201, json={"url": address_of(server.sockets[0])}))["id"]
        await end_one(ask, "bob")
        async with asyncio.timeout(60), Sender(store, HERE.model_copy(update={"timeout_s": 50.0})).running():
            await told(store, bobs, 1)
            while door.came < 2:
                await asyncio.sleep(0.02)
            assert door.came == 2
