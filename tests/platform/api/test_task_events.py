from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform import feed
from deskhand_platform.accounts.access import Role
from deskhand_platform.api.routes import events as streams
from deskhand_platform.queue import TaskQueue
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.states import WorkState

DATABASES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.slow))
BODY = {"task_id": "fake/press-button"}


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


async def told(client: httpx.AsyncClient, **params: Any) -> list[dict[str, Any]]:
    got = await client.get("/v1/tasks/events", params={"follow": "false", **params})
    assert got.status_code == 200
    return events(got.text)


async def test_every_change_of_a_task_is_told(client: httpx.AsyncClient, store: Store) -> None:
    queue = TaskQueue(store.database)
    id = (await client.post("/v1/tasks", json={**BODY, "labels": {"batch": "a=b"}})).json()["id"]
    assert await told(client) == []
    for ending in (WorkState.QUEUED, WorkState.FAILED):
        claimed = await queue.claim("w", 60)
        assert claimed is not None and claimed.id == id
        assert await queue.renew(claimed, "w", 60)
        await queue.begun(claimed, "w", "t1")
        if ending is WorkState.QUEUED:
            await queue.put_back(claimed, "w", "its sandbox was lost")
        else:
            assert await queue.settle(claimed, "w", ending, outcome=None, reason="gave up")
        assert not await queue.settle(claimed, "stranger", WorkState.DONE, outcome=None, reason=None)
    await client.post(f"/v1/tasks/{id}/retry")
    await client.delete(f"/v1/tasks/{id}")
    all_of_it = await told(client)
    assert [(one["state"], one["trajectory_id"], one["reason"]) for one in all_of_it] == [
        ("running", None, None),
        ("running", "t1", None),
        ("queued", "t1", "its sandbox was lost"),
        ("running", None, "its sandbox was lost"),
        ("running", "t1", "its sandbox was lost"),
        ("failed", "t1", "gave up"),
        ("queued", "t1", None),
        ("cancelled", "t1", "cancelled before it began"),
    ]
    assert {one["id"] for one in all_of_it} == {id}
    assert await told(client, id=id) == all_of_it
    assert await told(client, label="batch=a=b") == all_of_it
    assert await told(client, label=["batch=a=b", "other=1"]) == []
    assert await told(client, id=["nothing", "other"]) == []
    middle = all_of_it[3]["event_id"]
    assert await told(client, after=middle) == all_of_it[4:]
    resumed = await client.get(
        "/v1/tasks/events", params={"follow": "false"}, headers={"Last-Event-ID": str(middle)}
    )
    assert events(resumed.text) == all_of_it[4:]


async def test_a_task_whose_time_is_over_is_told_of(client: httpx.AsyncClient, store: Store) -> None:
    ids = [(await client.post("/v1/tasks", json={**BODY, "deadline_s": 1.0})).json()["id"] for _ in range(2)]
    assert await TaskQueue(store.database).claim("w", 60) is None
    assert sorted((one["id"], one["state"]) for one in await told(client)) == [
        (id, "failed") for id in sorted(ids)
    ]


@pytest.mark.parametrize(
    ("query", "field"), [("label=x", "label"), ("after=-1", "after"), ("follow=maybe", "follow")]
)
async def test_a_stream_that_cannot_be_is_refused(client: httpx.AsyncClient, query: str, field: str) -> None:
    refused = await client.get(f"/v1/tasks/events?{query}")
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


async def test_two_hundred_streams_get_everything(
    services: Services, store: Store, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them are there from the beginning, half come when more has happened than streams share."""
    monkeypatch.setattr(feed, "KEPT", 20)
    queue, tasks, clients = TaskQueue(store.database), 30, 200
    listener = listen("127.0.0.1", 0)
    limits = httpx.Limits(max_connections=None)
    headers = {"Authorization": f"Bearer {token}"}
    opened = asyncio.Semaphore(0)

    async def follow(http: httpx.AsyncClient) -> list[int]:
        seen: list[int] = []
        done = 0
        async with http.stream("GET", "/v1/tasks/events") as response:
            opened.release()
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    event = json.loads(line[6:])
                    seen.append(event["event_id"])
                    done += event["state"] == "done"
                if done == tasks:
                    break
        return seen

    async with (
        serve_api(services, listener),
        httpx.AsyncClient(
            base_url=address_of(listener), headers=headers, limits=limits, timeout=120, trust_env=False
        ) as http,
    ):
        await http.post("/v1/tasks/batch", json={"tasks": [BODY] * tasks})
        early = [asyncio.create_task(follow(http)) for _ in range(clients // 2)]
        for _ in early:
            await opened.acquire()
        for number in range(tasks):
            claimed = await queue.claim("w", 600)
            assert claimed is not None
            await queue.settle(claimed, "w", WorkState.DONE, outcome=None, reason=None)
            if number == tasks // 2:
                early += [asyncio.create_task(follow(http)) for _ in range(clients // 2)]
        seen = await asyncio.gather(*early)
    assert len(seen[0]) == 2 * tasks
    assert seen == [seen[0]] * clients


async def test_a_stream_ends_for_who_sees_only_their_own_by_now(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "ASK_AGAIN_S", 0.0)
    await services.accounts.users.add("ada", Role.RESEARCHER)
    _, token = await services.accounts.tokens.create("ada", "reads", scopes=["tasks:read"])
    listener = listen("127.0.0.1", 0)
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        asyncio.timeout(60),
        serve_api(services, listener),
        httpx.AsyncClient(
            base_url=address_of(listener), headers=headers, timeout=60, trust_env=False
        ) as http,
        http.stream("GET", "/v1/tasks/events") as response,
    ):
        lines = response.aiter_lines()
        assert await anext(lines) == "retry: 1000"
        await services.accounts.users.change("ada", role=Role.SUBMITTER)
        # the scopes of this token stay as they were
        assert [line async for line in lines if line.startswith("data")] == []
