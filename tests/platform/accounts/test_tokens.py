from __future__ import annotations

import time

import httpx
import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.tables import api_tokens, metadata

DATABASES = ("sqlite", "postgresql")


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_opens_what_it_is_for_and_no_more(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, store: Store
) -> None:
    body = {"label": "nightly", "scopes": ["tasks:read"], "lasts_s": 3600}
    made = (await client.post("/v1/tokens", json=body)).json()
    assert abs(made["about"]["expires_at_s"] - time.time() - 3600) < 60
    assert made["token"] not in str((await client.get("/v1/tokens")).json())
    async with store.database.read() as connection:
        for table in metadata.sorted_tables:
            assert made["token"] not in str((await connection.execute(sa.select(table))).all())
    assert not (await client.get("/v1/info")).json()["limited"]
    limited = bearer(made["token"])
    assert (await anonymous.get("/v1/tasks", headers=limited)).status_code == 200
    refused = await anonymous.post("/v1/tasks", json={"task_id": "fake/press-button"}, headers=limited)
    assert refused.status_code == 403 and "'tasks:write'" in refused.text
    # it is not traded for more
    assert (await anonymous.post("/v1/tokens", json={"label": "more"}, headers=limited)).status_code == 403
    assert (
        await anonymous.put("/v1/password", json={"password": "x" * 12}, headers=limited)
    ).status_code == 403
    assert (await anonymous.post("/login", json={"token": made["token"]})).status_code == 204
    del anonymous.headers["Authorization"]
    by_cookie = await anonymous.get("/v1/info")
    assert by_cookie.json()["scopes"] == ["tasks:read"]
    assert by_cookie.json()["limited"]
    assert (await anonymous.get("/v1/users")).status_code == 403


@pytest.mark.parametrize("less", [{"scopes": ["admin"]}, {"lasts_s": 3600}])
async def test_an_administrators_limited_token_makes_nobody_an_administrator(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, accounts: Accounts, less: dict[str, object]
) -> None:
    await accounts.users.add("ada", Role.SUBMITTER, "a password of hers")
    made = (await client.post("/v1/tokens", json={"label": "nightly", **less})).json()
    limited = bearer(made["token"])
    assert (await anonymous.get("/v1/users", headers=limited)).status_code == 200
    for method, path, body in (
        ("POST", "users", {"name": "eve", "role": "admin"}),
        ("PATCH", "users/ada", {"role": "admin"}),
        ("PUT", "users/owner/password", {}),
    ):
        refused = await anonymous.request(method, f"/v1/{path}", json=body, headers=limited)
        assert refused.status_code == 403 and "sign in by password" in refused.text
    assert [(one.name, one.role) for one in await accounts.users.list()] == [
        ("ada", Role.SUBMITTER),
        ("owner", Role.ADMIN),
    ]


async def test_an_expired_or_revoked_token_opens_nothing(
    client: httpx.AsyncClient, accounts: Accounts, store: Store
) -> None:
    short, expired = await accounts.tokens.create("owner", "short", lasts_s=60)
    revoked_about, revoked = await accounts.tokens.create("owner", "old")
    cookie = await accounts.sessions.begin("owner", revoked_about.id)
    for token in (expired, revoked):
        assert (await client.get("/v1/info", headers=bearer(token))).status_code == 200
    async with store.database.write() as connection:
        past = sa.update(api_tokens).where(api_tokens.c.id == short.id).values(expires_at_s=time.time() - 1)
        await connection.execute(past)
    answer = await client.delete(f"/v1/tokens/{revoked_about.id}")
    assert answer.json()["revoked_at_s"] is not None
    for token in (expired, revoked):
        refused = await client.get("/v1/info", headers=bearer(token))
        assert refused.status_code == 401 and "expired or was revoked" in refused.text
        assert (await client.post("/login", json={"token": token})).status_code == 401
    assert await accounts.sessions.holder(cookie) is None
    listed = {one["id"]: one for one in (await client.get("/v1/tokens")).json()}
    assert listed[short.id]["used_at_s"] is not None and listed[revoked_about.id]["revoked_at_s"] is not None


async def test_what_cannot_be_is_refused(accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.SUBMITTER)
    for scopes in (["rounds:write"], ["nothing"], []):
        with pytest.raises(InvalidField, match="scopes"):
            await accounts.tokens.create("ada", "x", scopes=scopes)
    for label in ("", " ", "x" * 65):
        with pytest.raises(InvalidField, match="label"):
            await accounts.tokens.create("ada", label)
    with pytest.raises(InvalidField, match="lasts_s"):
        await accounts.tokens.create("ada", "x", lasts_s=0)
    with pytest.raises(NotFound):
        await accounts.tokens.create("nobody", "x")
    await accounts.users.change("ada", disabled=True)
    with pytest.raises(WrongState, match="disabled"):
        await accounts.tokens.create("ada", "x")


async def test_a_lesser_role_shrinks_its_tokens(accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.OPERATOR)
    _, token = await accounts.tokens.create("ada", "x", scopes=["rounds:write", "tasks:read"])
    await accounts.users.change("ada", role=Role.SUBMITTER)
    came = await accounts.tokens.holder(token)
    assert came is not None and came.scopes == {"tasks:read"} and came.only == "ada"


async def test_tokens_of_others_are_the_administrators(
    client: httpx.AsyncClient, anonymous: httpx.AsyncClient, accounts: Accounts
) -> None:
    await accounts.users.add("ada", Role.OPERATOR)
    made = await client.post("/v1/tokens", json={"label": "for ada", "owner": "ada"})
    ada = bearer(made.json()["token"])
    assert (await client.get("/v1/info", headers=ada)).json()["user"] == "ada"
    for path in ("/v1/tokens?owner=owner", "/v1/tokens?owner=*"):
        assert (await client.get(path, headers=ada)).status_code == 403
    body = {"label": "x", "owner": "owner"}
    assert (await client.post("/v1/tokens", json=body, headers=ada)).status_code == 403
    assert (await client.delete("/v1/tokens/machine", headers=ada)).status_code == 404
    assert len((await client.get("/v1/tokens?owner=*")).json()) == 2
    assert (await client.delete(f"/v1/tokens/{made.json()['about']['id']}", headers=ada)).status_code == 200
    assert (await client.get("/v1/info", headers=ada)).status_code == 401
