from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform import feed
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.alarms.book import AlarmBook
from deskhand_platform.api.routes import events
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.states import AlarmState

DATABASES = ("sqlite", "postgresql")


async def append(store: Store, subject: str, number: int | str) -> int:
    event = Event(
        id=0,
        at_s=time.time(),
        subject=subject,
        kind=EventKind.METRIC,
        name="ppo/iteration",
        data={"n": number},
    )
    return (await store.append_event(event)).id


def parsed(text: str) -> list[tuple[int, str, dict[str, object]]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            found.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return found


async def test_a_stream_begins_after_the_last_event_id(client: httpx.AsyncClient, store: Store) -> None:
    ids = [await append(store, "round:1", n) for n in range(4)]
    got = parsed((await client.get("/v1/events", params={"follow": "false"})).text)
    assert [one[0] for one in got] == ids
    assert got[2][1] == "metric" and got[2][2]["data"] == {"n": 2}
    resumed = await client.get(
        "/v1/events", params={"follow": "false", "after": 0}, headers={"Last-Event-ID": str(ids[1])}
    )
    assert [one[0] for one in parsed(resumed.text)] == ids[2:]


async def test_a_token_for_some_scopes_hears_of_nothing_else(
    client: httpx.AsyncClient, store: Store, services: Services, accounts: Accounts
) -> None:
    task = await client.post("/v1/tasks", json={"task_id": "fake/press-button"})
    await services.queue.claim("w", 60.0)
    of_round = await append(store, "round:1", 1)
    await AlarmBook(store).tell("run:r", "kl_high", AlarmState.RAISED)

    async def heard(*scopes: str) -> tuple[set[str], int, int]:
        _, token = await accounts.tokens.create("owner", "x", scopes=["rounds:read", *scopes])
        head = {"Authorization": f"Bearer {token}"}
        stream = await client.get("/v1/events", params={"follow": "false"}, headers=head)
        seen = (await client.get("/v1/overview", headers=head)).json()
        subjects = {str(one[2]["subject"]) for one in parsed(stream.text)}
        return subjects, len(seen["running"]), len(seen["alarms"])

    of_task = f"task:{task.json()['id']}"
    assert of_round and await heard() == ({"round:1"}, 0, 0)
    assert await heard("tasks:read") == ({"round:1", of_task}, 1, 0)
    assert await heard("tasks:read", "metrics:read") == ({"round:1", of_task, "run:r"}, 1, 1)


async def test_half_a_character_breaks_no_stream(client: httpx.AsyncClient, store: Store) -> None:
    await append(store, "round:1", "odd \ud83d")
    await append(store, "round:1", 2)
    got = parsed((await client.get("/v1/events", params={"follow": "false"})).text)
    assert [one[2]["data"] for one in got] == [{"n": "odd \ufffd"}, {"n": 2}]


async def test_no_character_of_a_text_breaks_a_line_of_a_stream(
    client: httpx.AsyncClient, store: Store
) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\r\nf"
    await append(store, "round:1", text)
    got = parsed((await client.get("/v1/events", params={"follow": "false"})).text)
    assert [one[2]["data"] for one in got] == [{"n": text}]


async def test_a_stream_can_be_about_one_subject(client: httpx.AsyncClient, store: Store) -> None:
    await append(store, "round:1", 1)
    wanted = await append(store, "run:round-1-ppo", 2)
    got = await client.get("/v1/events", params={"follow": "false", "subject": "run:round-1-ppo"})
    assert [one[0] for one in parsed(got.text)] == [wanted]


async def test_a_stream_can_be_about_several_and_is_resumed_like_any_other(
    client: httpx.AsyncClient, store: Store
) -> None:
    wanted = ["round:1", "run:round-1-ppo"]
    ids = [await append(store, subject, 0) for subject in (*wanted, "round:2", *wanted)]
    params = {"follow": "false", "subject": wanted}
    got = await client.get("/v1/events", params=params)
    assert [(one[0], one[2]["subject"]) for one in parsed(got.text)] == [
        (ids[0], wanted[0]),
        (ids[1], wanted[1]),
        (ids[3], wanted[0]),
        (ids[4], wanted[1]),
    ]
    for seen, rest in ((ids[1], ids[3:]), (ids[3], ids[4:]), (ids[4], [])):
        resumed = await client.get("/v1/events", params=params, headers={"Last-Event-ID": str(seen)})
        assert [one[0] for one in parsed(resumed.text)] == rest


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_no_reading(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    last, odd = store.last_event_id, [RuntimeError("odd")]

    async def once_odd() -> int:
        if odd:
            raise odd.pop()
        return await last()

    monkeypatch.setattr(store, "last_event_id", once_odd)
    reader = feed.EventFeed(store)
    async with asyncio.timeout(60), reader.following():
        while reader._first is None:
            await asyncio.sleep(0.01)
        id = await append(store, "round:1", 0)
        await reader.news(60)
        assert [event.id for event in reader._recent] == [id]
    assert "raise odd.pop()" in caplog.text


@asynccontextmanager
async def served(services: Services, token: str) -> AsyncIterator[httpx.AsyncClient]:
    listener = listen("127.0.0.1", 0)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        serve_api(services, listener),
        httpx.AsyncClient(
            base_url=address_of(listener), headers=headers, timeout=60, trust_env=False
        ) as http,
    ):
        yield http


async def test_a_real_server_streams_as_things_happen_and_resumes(
    services: Services, store: Store, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_S", 0.3)
    got: list[int] = []
    both = {"subject": ["round:1", "run:round-1-ppo"]}
    async with served(services, token) as http:
        ids = [await append(store, "round:1", n) for n in range(2)]
        await append(store, "round:2", 0)
        async with asyncio.timeout(60), http.stream("GET", "/v1/events", params=both) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            beats = 0
            async for line in response.aiter_lines():
                beats += line.startswith(":")
                if line.startswith("data: "):
                    got.append(json.loads(line[6:])["id"])
                if len(got) == 2 and beats == 1:
                    # it is quiet and alive: now something happens
                    ids.append(await append(store, "run:round-1-ppo", 2))
                    beats += 1
                if len(got) == 3:
                    break
        assert got == ids
        ids.append(await append(store, "round:1", 3))
        headers = {"Last-Event-ID": str(got[-1])}
        async with (
            asyncio.timeout(60),
            http.stream("GET", "/v1/events", params=both, headers=headers) as response,
        ):
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    got.append(json.loads(line[6:])["id"])
                    break
    assert got == ids


async def test_an_open_stream_ends_when_the_platform_stops(services: Services, token: str) -> None:
    async with asyncio.timeout(60):
        opened = asyncio.Event()

        async def read(http: httpx.AsyncClient) -> None:
            async with http.stream("GET", "/v1/events") as response:
                async for _ in response.aiter_lines():
                    opened.set()

        async with served(services, token) as http:
            reading = asyncio.create_task(read(http))
            await opened.wait()
            services.stopping.set()
            await reading


async def test_a_stream_ends_for_who_is_shut_out(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "ASK_AGAIN_S", 0.0)
    about, token = await services.accounts.tokens.create("owner", "short")
    async with (
        asyncio.timeout(60),
        served(services, token) as http,
        http.stream("GET", "/v1/events") as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == "retry: 1000"
        await services.accounts.tokens.revoke(about.id)
        assert [line async for line in lines if line.startswith("data")] == []
