from __future__ import annotations

import asyncio
import json

import httpx
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import Entry, EntryFilter
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.services import Services
from deskhand_platform.tables import audit

DATABASES = ("sqlite", "postgresql")


async def test_every_change_leaves_who_what_when_where_and_its_result(
    client: httpx.AsyncClient, accounts: Accounts
) -> None:
    await client.post("/v1/users", json={"name": "ada", "role": "submitter"})
    await client.post("/v1/users", json={"name": "ada", "role": "submitter"})
    await client.patch("/v1/users/ada", json={"role": "operator"})
    _, token = await accounts.tokens.create("ada", "x")
    await client.put("/v1/quotas/ada", json={"tasks": 3}, headers={"Authorization": f"Bearer {token}"})
    await client.get("/v1/users")
    await client.post("/v1/users", json={}, headers={"Authorization": "Bearer nobody's"})
    entries = (await client.get("/v1/audit")).json()["items"]
    assert [(one["who"], one["action"], one["target"], one["status"], one["detail"]) for one in entries] == [
        ("ada", "PUT /v1/quotas/{name}", "/v1/quotas/ada", 403, ""),
        ("owner", "PATCH /v1/users/{name}", "/v1/users/ada", 200, "role operator"),
        ("owner", "POST /v1/users", "/v1/users", 409, "ada, submitter"),
        ("owner", "POST /v1/users", "/v1/users", 201, "ada, submitter"),
    ]
    assert all(one["source"] == "127.0.0.1" and one["at_s"] > 0 for one in entries)


async def test_the_log_says_which_round_policy_and_schedule(client: httpx.AsyncClient) -> None:
    begun = (await client.post("/v1/rounds", json={"preset": "smoke", "key": "k"})).json()
    again = (await client.post(f"/v1/rounds/{begun['id']}/clone", json={"key": "l"})).json()
    await client.post("/v1/promotions", json={"policy_id": "nobody", "reason": "why not"})
    timed = (await client.post("/v1/schedules", json={"preset": "smoke", "cron": "0 3 * * *"})).json()
    await client.put(f"/v1/schedules/{timed['id']}", json={"preset": "smoke", "new_successes": 20})
    entries = (await client.get("/v1/audit")).json()["items"]
    assert [(one["status"], one["detail"]) for one in entries] == [
        (200, '{"preset":"smoke","new_successes":20}'),
        (201, f'{timed["id"]}: {{"preset":"smoke","cron":"0 3 * * *"}}'),
        (422, "nobody: why not"),
        (201, f'{again["id"]}: {{"key":"l"}}'),
        (201, f'{begun["id"]}: {{"preset":"smoke","key":"k"}}'),
    ]


async def test_the_log_is_filtered_and_paged(client: httpx.AsyncClient, accounts: Accounts) -> None:
    for at in range(7):
        entry = Entry(
            who=f"u{at % 2}",
            action="POST /x",
            target=f"/x/{at}%",
            source="here",
            status=200 + 200 * (at == 3),
        )
        await accounts.audit.write(entry)
    seen: list[str] = []
    cursor = None
    while True:
        page = (
            await client.get("/v1/audit", params={"limit": 3, **({"cursor": cursor} if cursor else {})})
        ).json()
        seen += [one["target"] for one in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [f"/x/{at}%" for at in reversed(range(7))]
    for query, targets in (
        ({"user": "u1"}, ["/x/5%", "/x/3%", "/x/1%"]),
        ({"refused": "true"}, ["/x/3%"]),
        ({"target": "/4%"}, ["/x/4%"]),
        ({"target": "_"}, []),
        ({"action": "DELETE"}, []),
        ({"until_s": "1"}, []),
    ):
        found = (await client.get("/v1/audit", params=query)).json()["items"]
        assert [one["target"] for one in found] == targets
    for wrong in ("x", "-1", "9" * 30, "9" * 5000):
        assert (await client.get("/v1/audit", params={"cursor": wrong})).status_code == 422


async def test_nothing_in_the_log_is_changed_or_deleted(accounts: Accounts, store: Store) -> None:
    await accounts.audit.write(Entry(who="a", action="b", target="c", source="d", status=200))
    for change in (sa.update(audit).values(who="z"), sa.delete(audit)):
        with pytest.raises(DBAPIError, match="only ever appended"):
            async with store.database.write() as connection:
                await connection.execute(change)
    assert [one.who for one in await accounts.audit.list(EntryFilter())] == ["a"]


async def test_entries_that_come_together_are_all_there(accounts: Accounts) -> None:
    entries = [Entry(who=str(at), action="a", target="\ud800\0", source="s", status=200) for at in range(200)]
    await asyncio.gather(*map(accounts.audit.write, entries))
    found = await accounts.audit.list(EntryFilter(), limit=300)
    assert {one.who for one in found} == {str(at) for at in range(200)}
    assert all("\0" not in one.target for one in found)


async def test_settings_are_shown_without_secrets(client: httpx.AsyncClient, accounts: Accounts) -> None:
    shown = {one["name"]: one for one in (await client.get("/v1/settings")).json()}
    assert shown["worker.slots"] == {"name": "worker.slots", "value": 2, "changed": False}
    assert shown["home"]["changed"] and shown["quotas.tasks"]["value"] == 20_000
    await accounts.users.add("ada", Role.OPERATOR)
    _, token = await accounts.tokens.create("ada", "x")
    assert (await client.get("/v1/settings", headers={"Authorization": f"Bearer {token}"})).status_code == 403


async def test_half_a_character_is_no_reason_to_leave_out_what_was_begun(client: httpx.AsyncClient) -> None:
    odd = json.dumps({"preset": "smoke", "overrides": {"description": "\ud800"}})
    timed = json.dumps({**json.loads(odd), "cron": "0 3 * * *"})
    head = {"Content-Type": "application/json"}
    asked = [("POST", "rounds", odd), ("POST", "schedules", timed), ("PUT", "schedules/1", timed)]
    for method, path, body in asked:
        answer = await client.request(method, f"/v1/{path}", content=body, headers=head)
        assert answer.is_success, answer.text
    noted = [one["detail"] for one in (await client.get("/v1/audit")).json()["items"]]
    assert len(noted) == 3 and all('"overrides":{"description":"\ufffd"}' in one for one in noted)


async def test_what_ends_in_a_bug_is_in_the_log_too(
    services: Services, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def bug(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(services.queue, "retry", bug)
    id = (await client.post("/v1/tasks", json={"task_id": "fake/press-button"})).json()["id"]
    with pytest.raises(RuntimeError, match="a bug"):
        await client.post(f"/v1/tasks/{id}/retry")
    [newest, _] = (await client.get("/v1/audit")).json()["items"]
    assert (newest["who"], newest["target"], newest["status"]) == ("owner", f"/v1/tasks/{id}/retry", 500)
