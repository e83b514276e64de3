"""Sandboxes of a real sandbox host, leased and worked in over HTTP."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from deskhand_platform import host_address, loans
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.accounts.quotas import Quota
from deskhand_platform.services import Services
from deskhand_sandbox.host import HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings
from deskhand_sandbox.types import Click, DeviceAction, Observation

LEASES = "/v1/sandboxes"


@pytest.fixture(autouse=True)
async def _host(services: Services, tmp_path: Path) -> AsyncIterator[None]:
    pools = {"fake": PoolSettings(max_sandboxes=2), "world": PoolSettings(max_sandboxes=1, idle_s=0.2)}
    async with start_host(HostSettings(kinds=pools, state_folder=tmp_path)) as host:
        host_address.publish(services.settings.home, host.url, host.token)
        yield
        await services.loans.close()
        await services.live.close()


async def lease(client: httpx.AsyncClient, kind: str = "fake", **more: object) -> str:
    said = await client.post(LEASES, json={"kind": kind, **more})
    assert said.status_code == 201, said.text
    return f"{LEASES}/{said.json()['id']}"


async def test_a_sandbox_that_nobody_wants_any_more_has_not_failed(client: httpx.AsyncClient) -> None:
    assert (await client.delete(await lease(client, "world"))).status_code == 204
    async with asyncio.timeout(60):
        while True:
            pools = {pool["kind"]: pool for pool in (await client.get("/v1/overview")).json()["pools"]}
            if pools["world"]["leased"] == pools["world"]["idle"] == 0:
                break
            await asyncio.sleep(0.05)
    assert pools["world"]["lost"] == 0


async def test_a_sandbox_is_leased_worked_in_and_given_back(client: httpx.AsyncClient) -> None:
    at = await lease(client)
    assert (await client.get(at)).json()["owner"] == "owner"
    early = await client.post(f"{at}/actions", json={"reply": "click(point='<point>5 5</point>')"})
    assert early.status_code == 409 and f"{at}/reset" in early.json()["error"]["message"]
    start = (await client.post(f"{at}/reset", json={"task_id": "fake/press-button", "seed": 7})).json()
    assert start["instruction"].startswith("Press ")
    first = start["seen"]["screen"].removeprefix("data:image/png;base64,")
    assert base64.b64decode(first)[:4] == b"\x89PNG"
    assert (await client.get(at)).json()["task_id"] == "fake/press-button"
    seen = await client.post(f"{at}/actions", json={"reply": "click(point='<point>10 10</point>')"})
    assert seen.status_code == 200 and seen.json()["settled"]
    assert (await client.get(f"{at}/observation")).json()["width_px"] == seen.json()["width_px"]
    assert (await client.delete(at)).status_code == 204
    for over in (client.delete(at), client.get(f"{at}/observation")):
        assert (await over).status_code == 404
    async with asyncio.timeout(60):
        while (await client.get(LEASES)).json()["items"]:
            await asyncio.sleep(0.05)


async def test_a_world_is_walked(client: httpx.AsyncClient) -> None:
    at = await lease(client, "world")
    start = (await client.post(f"{at}/reset", json={"task_id": "worlds/sokoban-6x6-1", "seed": 1})).json()
    moves = "hotkey(key='up')\nhotkey(key='down')"
    seen = (await client.post(f"{at}/actions", json={"reply": moves})).json()
    assert "#" in start["seen"]["terminal"] and "#" in seen["terminal"]


async def test_what_each_action_returned_is_told(client: httpx.AsyncClient, services: Services) -> None:
    at = await lease(client)
    await client.post(f"{at}/reset", json={"task_id": "fake/press-button"})
    sandbox = services.loans.of(at.rpartition("/")[2], None).sandbox
    act = sandbox.act

    async def telling(action: DeviceAction) -> Observation:
        seen = await act(action)
        return replace(seen, output=f"at {action.x}") if isinstance(action, Click) else seen

    sandbox.act = telling
    reply = "click(point='<point>1 1</point>')\nclick(point='<point>2 1</point>')\nhotkey(key='a')"
    seen = await client.post(f"{at}/actions", json={"reply": reply})
    assert seen.json()["output"] == "at 1\nat 2"


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("actions", {"reply": "hello"}, "reply"),
        ("actions", {"reply": "finished()"}, "reply"),
        ("actions", {"reply": "click(point='<point>9999 5</point>')"}, "reply"),
        ("reset", {}, "task_id"),
        ("reset", {"task_id": "worlds/sokoban-6x6-1"}, "task"),
    ],
)
async def test_what_cannot_be_done_is_said(
    client: httpx.AsyncClient, path: str, body: dict[str, str], field: str
) -> None:
    at = await lease(client)
    await client.post(f"{at}/reset", json={"task_id": "fake/press-button"})
    refused = await client.post(f"{at}/{path}", json=body)
    assert refused.status_code == 422 and refused.json()["error"]["field"] == field
    assert (await client.get(f"{at}/observation")).status_code == 200


async def test_no_more_than_there_are(client: httpx.AsyncClient) -> None:
    unknown = await client.post(LEASES, json={"kind": "fakes"})
    assert unknown.status_code == 422 and unknown.json()["error"]["suggestions"] == ["fake"]
    both = await asyncio.gather(lease(client), lease(client))
    full = await client.post(LEASES, json={"kind": "fake", "wait_s": 0.1})
    assert full.status_code == 503 and full.headers["Retry-After"] == "5"
    await client.delete(both[0])
    await lease(client)


async def test_a_sandbox_is_its_owners(
    client: httpx.AsyncClient, accounts: Accounts, person: Callable[..., Awaitable[str]]
) -> None:
    at = await lease(client)
    ada = {"Authorization": f"Bearer {await person('ada', Role.OPERATOR)}"}
    bob = {"Authorization": f"Bearer {await person('bob', Role.RESEARCHER)}"}
    assert (await client.get(f"{at}/observation", headers=ada)).status_code == 404
    assert (await client.delete(at, headers=ada)).status_code == 404
    assert (await client.post(LEASES, json={"kind": "fake"}, headers=bob)).status_code == 403
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=1, bytes=None))
    mine = await client.post(LEASES, json={"kind": "fake"}, headers=ada)
    assert mine.status_code == 201
    more = await client.post(LEASES, json={"kind": "fake"}, headers=ada)
    assert more.status_code == 429 and more.json()["error"]["limit"] == 1
    look = await client.post("/v1/tasks/preview", json={"task_id": "fake/press-button"}, headers=ada)
    assert look.status_code == 429
    assert [one["sandboxes"] for one in (await client.get("/v1/quotas", headers=ada)).json()] == [1]
    assert (await client.put("/v1/quotas/ada", json={"sandboxes": 1})).json()["sandboxes"] == 1
    _, limited = await accounts.tokens.create("owner", "leases", scopes=["sandboxes:write"])
    narrow = {"Authorization": f"Bearer {limited}"}
    assert (await client.delete(f"{LEASES}/{mine.json()['id']}", headers=narrow)).status_code == 404
    # an administrator ends what somebody forgot
    assert (await client.delete(f"{LEASES}/{mine.json()['id']}")).status_code == 204


async def test_who_asks_for_several_at_once_gets_no_more_than_they_may_have(
    client: httpx.AsyncClient, accounts: Accounts, person: Callable[..., Awaitable[str]]
) -> None:
    ada = {"Authorization": f"Bearer {await person('ada', Role.OPERATOR)}"}
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=1, bytes=None))
    ask = [client.post(LEASES, json={"kind": "fake"}, headers=ada) for _ in range(3)]
    assert sorted([said.status_code for said in await asyncio.gather(*ask)]) == [201, 429, 429]
    # those who were refused do not count
    await accounts.quotas.set("ada", Quota(tasks=None, sandboxes=2, bytes=None))
    assert (await client.post(LEASES, json={"kind": "fake"}, headers=ada)).status_code == 201


async def test_what_nobody_asks_for_is_given_back(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loans, "IDLE_S", 0.2)
    at = await lease(client)
    async with asyncio.timeout(60):
        while (await client.get(at)).status_code != 404:
            await asyncio.sleep(0.05)
    assert (await client.get(f"{at}/observation")).status_code == 404


def with_steps(*steps: dict[str, object]) -> dict[str, object]:
    """A task in full that brings set-up steps."""
    settings = {"buttons": ["A", "B"], "goal": ["A"], "setup": [*steps]}
    return {
        "id": "mine/steps",
        "environment": {"kind": "fake", "settings": settings},
        "verifier": {"name": "fake"},
        "instruction": "Press A",
    }


async def test_a_task_is_set_up_with_its_steps(client: httpx.AsyncClient) -> None:
    task = with_steps({"type": "sleep", "parameters": {"seconds": 0}})
    begun = await client.post(f"{await lease(client)}/reset", json={"task": task})
    assert begun.status_code == 200 and begun.json()["instruction"] == "Press A", begun.text
    shown = await client.post("/v1/tasks/preview", json={"task": task})
    assert shown.status_code == 200 and shown.json()["screen"].startswith("data:image/"), shown.text


async def test_a_step_that_there_is_not_is_said(client: httpx.AsyncClient) -> None:
    task = with_steps({"type": "sleap", "parameters": {"seconds": 0}})
    for answer in (
        await client.post(f"{await lease(client)}/reset", json={"task": task}),
        await client.post("/v1/tasks/preview", json={"task": task}),
    ):
        assert answer.status_code == 422 and "did you mean sleep" in answer.json()["error"]["message"]
