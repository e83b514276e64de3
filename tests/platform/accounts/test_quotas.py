from __future__ import annotations

import asyncio

import httpx
import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.accounts.quotas import Quota, note_recorded
from deskhand_platform.errors import QuotaExceeded
from deskhand_platform.queue import TaskQueue
from deskhand_platform.services import Services

DATABASES = ("sqlite", "postgresql")
TASK = {"task_id": "fake/press-button"}


@pytest.fixture
async def ada(client: httpx.AsyncClient, accounts: Accounts) -> httpx.AsyncClient:
    await accounts.users.add("ada", Role.SUBMITTER)
    _, token = await accounts.tokens.create("ada", "x")
    client.headers["Authorization"] = f"Bearer {token}"
    return client


async def test_tasks_beyond_the_quota_are_told_when_and_how_many(
    ada: httpx.AsyncClient, accounts: Accounts
) -> None:
    await accounts.quotas.set("ada", Quota(tasks=3, sandboxes=None, bytes=None))
    keyed = [{**TASK, "key": str(at)} for at in range(3)]
    first = await ada.post("/v1/tasks/batch", json={"tasks": keyed})
    assert first.status_code == 201
    refused = await ada.post("/v1/tasks", json=TASK)
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
    error = refused.json()["error"]
    assert (error["type"], error["used"], error["limit"], error["asked"]) == ("quota_exceeded", 3, 3, 1)
    # what is there already is not asked for again
    assert (await ada.post("/v1/tasks/batch", json={"tasks": keyed})).json() == first.json()
    id = first.json()["ids"][0]
    await ada.delete(f"/v1/tasks/{id}")
    assert (await ada.post("/v1/tasks", json=TASK)).status_code == 201
    again = await ada.post(f"/v1/tasks/{id}/retry")
    assert again.status_code == 429
    assert (await ada.get(f"/v1/tasks/{id}")).json()["state"] == "cancelled"
    [own] = (await ada.get("/v1/quotas")).json()
    assert (own["owner"], own["tasks"], own["limits"]["tasks"]) == ("ada", 3, 3)


async def test_two_at_once_do_not_pass_together(ada: httpx.AsyncClient, accounts: Accounts) -> None:
    await accounts.quotas.set("ada", Quota(tasks=4, sandboxes=None, bytes=None))
    answers = await asyncio.gather(*(ada.post("/v1/tasks", json=TASK) for _ in range(12)))
    assert sorted(one.status_code for one in answers) == [201] * 4 + [429] * 8


async def test_stored_bytes_hold_tasks_back_until_there_is_room(
    ada: httpx.AsyncClient, accounts: Accounts, store: Store, record_episode: object
) -> None:
    kept = await record_episode(store, owner="ada")  # type: ignore[operator]
    await note_recorded(store.database, kept, "ada", 600)
    await note_recorded(store.database, kept, "ada", 500)
    await note_recorded(store.database, "deleted-since", "ada", 10_000)
    assert (await accounts.quotas.usage("ada")).bytes == 1100
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=None, bytes=1000))
    refused = await ada.post("/v1/tasks", json=TASK)
    error = refused.json()["error"]
    assert (refused.status_code, error["used"], error["limit"]) == (429, 1100, 1000)
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=None, bytes=2000))
    assert (await ada.post("/v1/tasks", json=TASK)).status_code == 201


async def test_tasks_of_an_owner_at_their_sandboxes_wait_and_others_go(
    services: Services, ada: httpx.AsyncClient, accounts: Accounts, token: str
) -> None:
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=1, bytes=None))
    mine = [(await ada.post("/v1/tasks", json={**TASK, "priority": 9})).json()["id"] for _ in range(2)]
    head = {"Authorization": f"Bearer {token}"}
    other = (await ada.post("/v1/tasks", json=TASK, headers=head)).json()["id"]
    claimed = [await services.queue.claim("w", 60.0) for _ in range(3)]
    assert [one and one.id for one in claimed] == [mine[0], other, None]
    with pytest.raises(QuotaExceeded, match="1 of 1 sandboxes"):
        await accounts.quotas.check_sandboxes("ada", 0)
    await accounts.quotas.check_sandboxes("owner", 100)
    assert claimed[0] is not None
    await services.queue.put_back(claimed[0], "w", "")
    again = await services.queue.claim("w", 60.0)
    assert again is not None and again.id == mine[0]


async def test_who_may_have_no_sandbox_has_no_task_worked(
    services: Services, ada: httpx.AsyncClient, accounts: Accounts
) -> None:
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=0, bytes=None))
    assert (await ada.post("/v1/tasks", json=TASK)).status_code == 201
    assert await services.queue.claim("w", 60.0) is None
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=1, bytes=None))
    assert await services.queue.claim("w", 60.0) is not None


async def test_leases_count_where_a_task_is_claimed(
    store: Store, ada: httpx.AsyncClient, accounts: Accounts
) -> None:
    held = {"ada": 2, "task-1": 9}

    async def leased() -> dict[str, int]:
        return held

    queue = TaskQueue(store.database, accounts.quotas, leased=leased)
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=3, bytes=None))
    for _ in range(3):
        await ada.post("/v1/tasks", json=TASK)
    first = await queue.claim("w", 0.0)
    assert first is not None
    again = await queue.claim("w", 60.0)  # of a worker that died: it has its sandbox
    assert again is not None and again.id == first.id
    assert await queue.claim("w", 60.0) is None
    held["ada"] = 0
    assert [await queue.claim("w", 60.0) is not None for _ in range(3)] == [True, True, False]


async def test_the_last_sandbox_goes_to_one_of_several_claims(
    services: Services, ada: httpx.AsyncClient, accounts: Accounts
) -> None:
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=1, bytes=None))
    for _ in range(4):
        await ada.post("/v1/tasks", json=TASK)
    claimed = await asyncio.gather(*(services.queue.claim(f"w{n}", 60.0) for n in range(4)))
    assert sum(one is not None for one in claimed) == 1


async def test_an_administrator_sets_them(client: httpx.AsyncClient, accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.SUBMITTER)
    set_here = (await client.put("/v1/quotas/ada", json={"tasks": 5})).json()
    assert set_here["limits"]["tasks"] == 5 and set_here["limits"]["sandboxes"] == 16
    assert set_here["set_here"] == {"tasks": 5, "sandboxes": None, "bytes": None}
    usage = {one["owner"]: one for one in (await client.get("/v1/quotas")).json()}
    assert usage["owner"]["limits"] == {"tasks": None, "sandboxes": None, "bytes": None}
    assert (await client.put("/v1/quotas/ada", json={"tasks": -1})).status_code == 422
    assert (await client.put("/v1/quotas/nobody", json={"tasks": 1})).status_code == 404
