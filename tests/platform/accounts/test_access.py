"""Who may do what: every route has its line, and every role meets exactly what the table says."""

from __future__ import annotations

import re

import httpx
import pytest

from deskhand_platform.accounts.access import OPEN, ROLES, ROUTES, SCOPES, Own, Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.api.app import create_app
from deskhand_platform.services import Services

REQUESTS = {route: rule for route, rule in ROUTES.items() if not route.startswith("WS ")}
"""WebSockets are in no description; see test_sockets.py."""


def described() -> set[str]:
    return {
        f"{method.upper()} {path}"
        for path, methods in create_app().openapi()["paths"].items()
        for method in methods
    }


def test_every_route_has_its_line_and_every_line_its_route() -> None:
    assert set(REQUESTS) == (described() - OPEN) | {"GET /v1/openapi.json"}
    assert not OPEN & set(ROUTES) and OPEN - described() == {"GET /{path}"}


def test_every_scope_is_known_and_somebody_has_it() -> None:
    assert {rule.scope for rule in ROUTES.values()} - {None} <= set(SCOPES)
    assert all(scopes <= set(SCOPES) for scopes in ROLES.values())
    assert ROLES[Role.ADMIN] == set(SCOPES)
    assert [role for role in Role if "admin" in ROLES[role]] == [Role.ADMIN]


def test_whose_a_thing_is_is_asked_only_where_the_address_names_it() -> None:
    named = {route for route, rule in ROUTES.items() if rule.own in (Own.TASK, Own.TRAJECTORY)}
    assert all("{id}" in route for route in named)


async def call(client: httpx.AsyncClient, route: str, token: str) -> httpx.Response:
    method, path = route.split(" ")
    address = re.sub(r"\{(\w+)\}", "1", path.replace("{digest}", "0" * 64))
    query = {"follow": "false"} if path.endswith("/events") else {}
    headers = {"Authorization": f"Bearer {token}"}
    return await client.request(method, address, headers=headers, params=query)


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_is_let_through_to_what_the_table_says(
    anonymous: httpx.AsyncClient, accounts: Accounts, role: Role
) -> None:
    await accounts.users.add("ada", role)
    _, token = await accounts.tokens.create("ada", "test")
    for route, rule in REQUESTS.items():
        may = rule.scope is None or rule.scope in ROLES[role]
        if role is Role.SUBMITTER and rule.own is Own.NOTHING:
            may = False
        answer = await call(anonymous, route, token)
        refused = answer.status_code == 403
        if refused and may:  # the mark named in the address is somebody else's
            refused = "are theirs to change" not in answer.text
        assert refused is not may, (route, role, answer.status_code, answer.text)


async def test_a_route_without_a_line_is_nobodys(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(ROUTES, "GET /v1/info")
    refused = await client.get("/v1/info")
    assert refused.status_code == 403 and "not in the table" in refused.text


async def test_what_is_open_asks_nobody(anonymous: httpx.AsyncClient) -> None:
    assert (await anonymous.get("/healthz")).status_code == 200
    assert (await anonymous.get("/v1/nothing")).status_code == 404
    assert (await anonymous.get("/metrics")).status_code == 401


async def test_submitters_see_their_own_alone(
    anonymous: httpx.AsyncClient, services: Services, accounts: Accounts, record_episode: object, token: str
) -> None:
    heads = {"owner": {"Authorization": f"Bearer {token}"}}
    for name in ("ada", "bob"):
        await accounts.users.add(name, Role.SUBMITTER)
        heads[name] = {"Authorization": f"Bearer {(await accounts.tokens.create(name, 'x'))[1]}"}
    body = {"task_id": "fake/press-button", "key": "same"}
    ids = {
        name: (await anonymous.post("/v1/tasks", json=body, headers=head)).json()["id"]
        for name, head in heads.items()
    }
    assert len(set(ids.values())) == 3  # a key is its owner's own
    episodes = {
        name: await record_episode(services.store, owner=name)  # type: ignore[operator]
        for name in heads
    }
    label = {"label": "owner=bob"}
    for path, mine, asked in (
        ("tasks", ids, {"owner": "bob", **label}),
        ("trajectories", episodes, label),
    ):
        listed = (await anonymous.get(f"/v1/{path}", headers=heads["ada"])).json()["items"]
        assert [one["id"] for one in listed] == [mine["ada"]]
        other = (await anonymous.get(f"/v1/{path}", headers=heads["ada"], params=asked)).json()["items"]
        assert [one["id"] for one in other] in ([], [mine["ada"]])
        everything = (await anonymous.get(f"/v1/{path}", headers=heads["owner"])).json()["items"]
        assert {one["id"] for one in everything} == set(mine.values())
    for method, path in (
        ("GET", f"/v1/tasks/{ids['bob']}"),
        ("DELETE", f"/v1/tasks/{ids['bob']}"),
        ("POST", f"/v1/tasks/{ids['bob']}/retry"),
        ("GET", f"/v1/trajectories/{episodes['bob']}"),
        ("GET", f"/v1/trajectories/{episodes['bob']}/steps"),
        ("GET", f"/v1/trajectories/{episodes['bob']}/replay.html"),
        ("GET", f"/v1/trajectories/{episodes['bob']}/annotations"),
    ):
        assert (await anonymous.request(method, path, headers=heads["ada"])).status_code == 404
        assert (await anonymous.request(method, path, headers=heads["bob"])).status_code != 404
    assert (
        await anonymous.get(f"/v1/trajectories/{episodes['ada']}", headers=heads["ada"])
    ).status_code == 200


async def test_a_role_holds_at_once(anonymous: httpx.AsyncClient, accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.RESEARCHER)
    _, token = await accounts.tokens.create("ada", "x")
    headers = {"Authorization": f"Bearer {token}"}
    assert (await anonymous.post("/v1/rounds", json={"preset": "smoke"}, headers=headers)).status_code == 403
    await accounts.users.change("ada", role=Role.OPERATOR)
    assert (await anonymous.post("/v1/rounds", json={"preset": "smoke"}, headers=headers)).status_code == 201
    await accounts.users.change("ada", disabled=True)
    assert (await anonymous.get("/v1/info", headers=headers)).status_code == 401
