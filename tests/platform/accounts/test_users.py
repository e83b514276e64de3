from __future__ import annotations

import time

import httpx
import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts
from deskhand_platform.errors import InvalidField, NotFound, WrongState
from deskhand_platform.tables import sessions

DATABASES = ("sqlite", "postgresql")


async def test_a_password_is_kept_salted_and_at_full_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "WORK", 14)
    first, second = await passwords.hashed("correct horse"), await passwords.hashed("correct horse")
    assert first != second and first.startswith("scrypt$14$") and "correct" not in first
    monkeypatch.setattr(passwords, "WORK", 4)  # what is kept says how it was made
    assert await passwords.matches("correct horse", first)
    assert not await passwords.matches("correct hors", first)
    assert not await passwords.matches("\ud800", first)
    assert not await passwords.matches("", None)


async def test_names_and_passwords_have_rules(accounts: Accounts) -> None:
    for name in ("", "Ada", "a b", "a:b", "-a", "x" * 33, "<b>"):
        with pytest.raises(InvalidField, match="name"):
            await accounts.users.add(name, Role.SUBMITTER)
    for password in ("short", "x" * 300, "long.enough"):
        with pytest.raises(InvalidField, match="password"):
            await accounts.users.add("long.enough", Role.SUBMITTER, password)
    await accounts.users.add("ada", Role.SUBMITTER, "long enough")
    with pytest.raises(WrongState, match="already"):
        await accounts.users.add("ada", Role.ADMIN)
    with pytest.raises(NotFound, match="did you mean ada"):
        await accounts.users.get("adda")


async def test_the_last_administrator_stays(accounts: Accounts) -> None:
    for change in ({"role": Role.OPERATOR}, {"disabled": True}):
        with pytest.raises(WrongState, match="last administrator"):
            await accounts.users.change("owner", **change)  # type: ignore[arg-type]
    assert (await accounts.users.get("owner")).role is Role.ADMIN
    await accounts.users.add("ada", Role.ADMIN, "long enough")
    assert (await accounts.users.change("owner", disabled=True)).disabled
    assert not await accounts.users.knows_password("owner", "whatever it was")


async def test_another_password_ends_sessions_and_leaves_tokens(accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.OPERATOR, "long enough")
    _, token = await accounts.tokens.create("ada", "x")
    cookie = await accounts.sessions.begin("ada")
    assert await accounts.sessions.holder(cookie) is not None
    await accounts.users.set_password("ada", "another one")
    assert await accounts.sessions.holder(cookie) is None
    assert await accounts.tokens.holder(token) is not None


async def test_an_administrator_keeps_accounts(client: httpx.AsyncClient) -> None:
    made = (await client.post("/v1/users", json={"name": "ada", "role": "researcher"})).json()
    assert len(made["password"]) >= 20 and made["user"]["role"] == "researcher"
    sign_in = {"name": "ada", "password": made["password"]}
    assert (await client.post("/login", json=sign_in)).status_code == 204
    again = (await client.put("/v1/users/ada/password", json={})).json()["password"]
    assert (await client.post("/login", json=sign_in)).status_code == 401
    assert (await client.post("/login", json={**sign_in, "password": again})).status_code == 204
    changed = await client.patch("/v1/users/ada", json={"role": "operator"})
    assert changed.json()["role"] == "operator"
    assert (await client.patch("/v1/users/ada", json={"disabled": True})).json()["disabled"]
    assert (await client.post("/login", json={**sign_in, "password": again})).status_code == 401
    chosen = {"name": "bob", "role": "submitter", "password": "chosen by bob"}
    assert (await client.post("/v1/users", json=chosen)).json()["password"] is None
    assert [one["name"] for one in (await client.get("/v1/users")).json()] == ["ada", "bob", "owner"]
    for wrong, status in (
        ({"name": "Ada", "role": "submitter"}, 422),
        ({"name": "ada", "role": "submitter"}, 409),
        ({"name": "eve", "role": "king"}, 422),
    ):
        assert (await client.post("/v1/users", json=wrong)).status_code == status
    assert (await client.patch("/v1/users/nobody", json={"role": "operator"})).status_code == 404


async def test_people_change_their_own_password(anonymous: httpx.AsyncClient, accounts: Accounts) -> None:
    await accounts.users.add("ada", Role.SUBMITTER, "long enough")
    await anonymous.post("/login", json={"name": "ada", "password": "long enough"})
    page = {"X-Deskhand-Page": "1"}
    wrong = {"current": "not it", "password": "another one"}
    refused = await anonymous.put("/v1/password", json=wrong, headers=page)
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "current")
    right = {"current": "long enough", "password": "another one"}
    assert (await anonymous.put("/v1/password", json=right, headers=page)).status_code == 204
    assert (await anonymous.get("/v1/info")).status_code == 401
    assert await accounts.users.knows_password("ada", "another one")


async def test_a_browser_that_is_used_stays_signed_in(
    anonymous: httpx.AsyncClient, accounts: Accounts, store: Store
) -> None:
    async def left(seconds: float) -> None:
        async with store.database.write() as connection:
            await connection.execute(sa.update(sessions).values(expires_at_s=time.time() + seconds))

    async def lasts_s() -> float:
        row = await store.database.first(sa.select(sessions.c.expires_at_s))
        assert row is not None
        return row["expires_at_s"] - time.time()

    await accounts.users.add("ada", Role.OPERATOR, "long enough")
    shown = await anonymous.post("/login", json={"name": "ada", "password": "long enough"})
    assert "Max-Age=34560000" in shown.headers["set-cookie"]  # the table ends it, and not the browser
    whole = accounts.sessions.lasts_s
    await left(30)
    assert (await anonymous.get("/v1/info")).status_code == 200
    assert whole - 60 < await lasts_s() <= whole
    await left(whole - 200)  # used a moment ago: nothing is written
    assert (await anonymous.get("/v1/info")).status_code == 200
    assert await lasts_s() < whole - 190
    await left(-1)
    assert (await anonymous.get("/v1/info")).status_code == 401
