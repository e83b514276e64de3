from __future__ import annotations

import json
import stat
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.audit import EntryFilter
from deskhand_platform.accounts.opening import FirstAdmin, open_accounts
from deskhand_platform.accounts.signing_in import Credentials
from deskhand_platform.api.app import create_app
from deskhand_platform.api.description import OPEN
from deskhand_platform.auth import HASH_FILE, hash_token, read_token, write_private
from deskhand_platform.cli.serve import sign_in_address
from deskhand_platform.errors import TooManyTries, Unauthorized
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.tables import sessions

ON_BOTH = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
PAGE = {"X-Deskhand-Page": "1"}


@ON_BOTH
async def test_the_first_administrator_is_made_once_and_kept_hashed(settings: Settings, store: Store) -> None:
    accounts, first = await open_accounts(store.database, settings)
    assert first is not None and first.token is not None
    assert len(first.token) >= 43 and len(first.password) >= 20
    again, second = await open_accounts(store.database, settings)
    assert second is None and again.cookie == accounts.cookie
    assert stat.S_IMODE((settings.home / "token").stat().st_mode) == 0o600
    assert read_token(settings.home) == first.token
    for file in settings.home.glob("deskhand.db*"):
        kept = file.read_bytes()
        assert first.token.encode() not in kept and first.password.encode() not in kept
    assert await accounts.users.knows_password("owner", first.password)
    assert not await accounts.users.knows_password("owner", first.password[:-1])
    came = await accounts.tokens.holder(first.token)
    assert came is not None and (came.name, came.role) == ("owner", "admin")
    assert await accounts.tokens.holder(first.token[:-1]) is None


async def test_a_token_from_before_there_were_accounts_goes_on_working(
    settings: Settings, store: Store
) -> None:
    write_private(settings.home / HASH_FILE, hash_token("noted-down"))
    accounts, first = await open_accounts(store.database, settings)
    assert first is not None and first.token is None
    assert not (settings.home / "token").exists()
    came = await accounts.tokens.holder("noted-down")
    assert came is not None and came.name == "owner"


async def test_the_token_outlives_a_lost_database(settings: Settings, store: Store) -> None:
    write_private(settings.home / "token", "still-here")
    accounts, first = await open_accounts(store.database, settings)
    assert first is not None and await accounts.tokens.holder("still-here") is not None
    assert read_token(settings.home) == "still-here"


async def test_two_homes_have_different_tokens_and_cookies(
    services: Services, token: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = load_settings(home=tmp_path_factory.mktemp("other"))
    async with await Store.open(other.db_url, other.blobs_url) as store:
        accounts, _ = await open_accounts(store.database, other)
        assert accounts.cookie != services.accounts.cookie
        assert await accounts.tokens.holder(token) is None


def test_the_environment_beats_the_file(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    write_private(settings.home / "token", "mine")
    assert read_token(settings.home) == "mine"
    monkeypatch.setenv("DESKHAND_TOKEN", "another")
    assert read_token(settings.home) == "another"


def routes() -> list[tuple[str, str]]:
    # current, as test_app.py proves: every worker that collects this file would make it anew, for seconds
    described = json.loads((Path(__file__).parents[2] / "web_ui/openapi.json").read_text())["paths"]
    return [(method, path) for path, methods in described.items() if path not in OPEN for method in methods]


@pytest.mark.parametrize(("method", "path"), routes())
async def test_every_route_that_is_not_open_asks_for_the_token(
    anonymous: httpx.AsyncClient, method: str, path: str
) -> None:
    address = path.replace("{id}", "1").replace("{digest}", "0" * 64)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic wrong"}):
        response = await anonymous.request(method, address, headers=headers)
        assert response.status_code == 401
        assert response.json()["error"]["type"] in ("unauthorized", "authentication_error")
        assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("form", "status"), [("json", 204), ("data", 303)])
async def test_the_token_in_a_body_becomes_a_cookie(
    anonymous: httpx.AsyncClient, token: str, services: Services, form: str, status: int
) -> None:
    response = await anonymous.request("POST", "/login", **{form: {"token": f" {token}\n"}})  # type: ignore[arg-type]
    cookie = response.headers["set-cookie"]
    assert response.status_code == status and response.headers.get("location") in (None, "/")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and token not in cookie
    assert "Secure" not in cookie and response.headers["cache-control"] == "no-store"
    assert (await anonymous.get("/v1/info")).status_code == 200
    anonymous.cookies.set(services.accounts.cookie, "forged")
    anonymous.cookies.delete(services.accounts.cookie, domain="127.0.0.1")
    assert (await anonymous.get("/v1/info")).status_code == 401


async def test_signing_out_takes_the_cookie_back(anonymous: httpx.AsyncClient, token: str) -> None:
    await anonymous.post("/login", json={"token": token})
    assert (await anonymous.get("/v1/info")).status_code == 200
    assert (await anonymous.get("/logout")).status_code != 204  # a link cannot sign anybody out
    assert (await anonymous.get("/v1/info")).status_code == 200
    assert (await anonymous.post("/logout")).status_code == 204
    assert (await anonymous.get("/v1/info")).status_code == 401
    again = await anonymous.post("/logout")
    assert again.status_code == 204 and "set-cookie" not in again.headers


async def test_a_wrong_token_is_told_in_a_sentence(anonymous: httpx.AsyncClient, token: str) -> None:
    for wrong in ("wrong", token[:-1], "\ud800"):
        body = json.dumps({"token": wrong})
        response = await anonymous.post("/login", content=body, headers={"Content-Type": "application/json"})
        assert response.status_code == 401 and "set-cookie" not in response.headers
        error = response.json()["error"]
        assert (error["type"], error["message"]) == ("unauthorized", "that is not this platform's token")


@pytest.mark.parametrize(
    "body", ["", "{", "[" * 4000, "[]", '{"token": 3}', '{"other": "x"}', '"' + "x" * 5000]
)
async def test_a_body_without_a_token_is_refused(anonymous: httpx.AsyncClient, body: str) -> None:
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        response = await anonymous.post("/login", content=body, headers={"Content-Type": kind})
        assert response.status_code == 422 and response.json()["error"]["field"] == "token"
        assert "set-cookie" not in response.headers


@ON_BOTH
async def test_a_name_that_no_database_holds_is_refused(anonymous: httpx.AsyncClient) -> None:
    refused = await anonymous.post("/login", json={"name": "a\0", "password": "x"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "name")


async def test_a_name_and_its_password_sign_in(
    anonymous: httpx.AsyncClient, opened: tuple[object, FirstAdmin], services: Services
) -> None:
    given = {"name": "owner", "password": opened[1].password}
    assert (await anonymous.post("/login", json=given)).status_code == 204
    assert (await anonymous.get("/v1/info")).json()["role"] == "admin"
    [cookie] = anonymous.cookies.jar
    assert cookie.expires is not None and cookie.value is not None
    async with services.store.database.read() as connection:
        assert str(cookie.value) not in str((await connection.execute(sa.select(sessions))).all())
    for wrong in ({"name": "owner", "password": "x"}, {"name": "nobody", "password": given["password"]}):
        refused = await anonymous.post("/login", json=wrong)
        assert refused.status_code == 401 and "set-cookie" not in refused.headers
        assert refused.json()["error"]["message"] == "that is not a name with its password"
    for missing, field in (({"name": "owner"}, "password"), ({"password": "x"}, "name")):
        refused = await anonymous.post("/login", json=missing)
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)


@ON_BOTH
async def test_a_session_ends(anonymous: httpx.AsyncClient, token: str, services: Services) -> None:
    sessions = services.accounts.sessions
    await anonymous.post("/login", json={"token": token})
    [cookie] = anonymous.cookies.jar
    await anonymous.post("/logout")
    # not only the browser forgets it
    headers = {"Cookie": f"{cookie.name}={cookie.value}"}
    assert (await anonymous.get("/v1/info", headers=headers)).status_code == 401
    sessions.lasts_s = -1.0
    late = await sessions.begin("owner")
    assert await sessions.holder(late) is None


@ON_BOTH
async def test_too_many_wrong_tries_are_held_back(
    anonymous: httpx.AsyncClient, opened: tuple[object, FirstAdmin], services: Services
) -> None:
    right = {"name": "owner", "password": opened[1].password}
    for _ in range(services.settings.auth.tries):
        assert (await anonymous.post("/login", json={"name": "owner", "password": "x"})).status_code == 401
    held = await anonymous.post("/login", json=right)
    assert held.status_code == 429 and int(held.headers["Retry-After"]) > 0
    assert held.json()["error"]["type"] == "too_many_tries"
    assert held.json()["error"]["retry_s"] == services.settings.auth.tries_window_s
    tries = await services.accounts.audit.list(EntryFilter(action="POST /login"))
    # newest first: that it was held back is told once, however often it is tried
    assert [one.status for one in tries] == [429] + [401] * services.settings.auth.tries
    assert (tries[0].who, tries[0].source) == ("", "127.0.0.1")


async def _tried_from(services: Services, sources: list[str]) -> list[int]:
    listener = listen("127.0.0.1", 0)
    async with (
        serve_api(services, listener),
        httpx.AsyncClient(base_url=address_of(listener), timeout=60, trust_env=False) as client,
    ):
        tries = [
            await client.post(
                "/login", json={"name": f"nobody-{at}", "password": "x"}, headers={"X-Forwarded-For": source}
            )
            for at, source in enumerate(sources)
        ]
    return [one.status_code for one in tries]


@pytest.mark.parametrize("proxies", [(), ("127.0.0.0/8",)])
async def test_only_a_listed_proxy_says_where_a_try_comes_from(
    services: Services, proxies: tuple[str, ...]
) -> None:
    limit = services.settings.auth.tries
    forged = [f"192.0.2.{at}" for at in range(limit + 1)]
    settings = services.settings.model_copy(update={"proxies": tuple(map(ip_network, proxies))})
    statuses = await _tried_from(replace(services, settings=settings), forged)
    assert statuses == [401] * limit + [401 if proxies else 429]
    told = await services.accounts.audit.list(EntryFilter(action="POST /login"))
    assert {one.source for one in told} == (set(forged) if proxies else {"127.0.0.1"})


@ON_BOTH
async def test_wrong_tokens_keep_out_nobody_elsewhere(services: Services, token: str) -> None:
    sign_in, limit = services.accounts.sign_in, services.settings.auth.tries
    for at in range(4 * limit):
        with pytest.raises(Unauthorized):
            await sign_in(Credentials(token="wrong"), f"192.0.2.{at}")
    assert await sign_in(Credentials(token=token), "198.51.100.1")


@ON_BOTH
async def test_a_machine_is_its_whole_network_of_ipv6(services: Services, token: str) -> None:
    sign_in, limit = services.accounts.sign_in, services.settings.auth.tries
    for at in range(limit):
        with pytest.raises(Unauthorized):
            await sign_in(Credentials(token="wrong"), f"2001:db8:0:1::{at:x}")
    with pytest.raises(TooManyTries):
        await sign_in(Credentials(token=token), "2001:db8:0:1:2:3:4:5")
    for source in ("2001:db8:0:2::1", "::ffff:192.0.2.1", "192.0.2.1", ""):
        assert await sign_in(Credentials(token=token), source)


async def test_one_s_own_password_is_tried_no_oftener(
    anonymous: httpx.AsyncClient, services: Services
) -> None:
    await services.accounts.users.add("ada", Role.SUBMITTER, "long enough")
    await anonymous.post("/login", json={"name": "ada", "password": "long enough"})
    tried = {"current": "not it", "password": "another one"}
    for status in [422] * services.settings.auth.tries + [429]:
        assert (await anonymous.put("/v1/password", json=tried, headers=PAGE)).status_code == status
    tried["current"] = "long enough"
    assert (await anonymous.put("/v1/password", json=tried, headers=PAGE)).status_code == 429


@pytest.mark.parametrize(
    "headers", [{}, {**PAGE, "Origin": "http://evil.example"}, {**PAGE, "Origin": "null"}]
)
async def test_another_sites_page_changes_nothing_with_the_cookie(
    anonymous: httpx.AsyncClient, token: str, services: Services, headers: dict[str, str]
) -> None:
    await anonymous.post("/login", json={"token": token})
    body = {"task_id": "fake/press-button"}
    refused = await anonymous.post("/v1/tasks", json=body, headers=headers)
    assert refused.status_code == 403 and refused.json()["error"]["type"] == "forbidden"
    assert await services.queue.list() == ()
    own = {**PAGE, "Origin": "http://127.0.0.1"}
    assert (await anonymous.post("/v1/tasks", json=body, headers=own)).status_code == 201
    assert (await anonymous.get("/v1/tasks")).status_code == 200


@pytest.mark.parametrize("path", ["/login", "/logout"])
async def test_another_site_signs_nobody_in_or_out(
    anonymous: httpx.AsyncClient, token: str, path: str
) -> None:
    headers = {"Origin": "http://evil.example"}
    refused = await anonymous.post(path, data={"token": token}, headers=headers)
    assert refused.status_code == 403 and "set-cookie" not in refused.headers


async def test_no_address_signs_anybody_in(anonymous: httpx.AsyncClient, token: str) -> None:
    for method, path in (("GET", "/login"), ("GET", "/"), ("POST", "/login"), ("GET", "/v1/info")):
        response = await anonymous.request(method, path, params={"token": token})
        assert "set-cookie" not in response.headers
    assert (await anonymous.get("/v1/info", params={"token": token})).status_code == 401
    assert sign_in_address("http://127.0.0.1:1", token).partition("#")[0] == "http://127.0.0.1:1/"


async def test_over_tls_the_cookie_stays_on_tls(services: Services, token: str) -> None:
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="https://127.0.0.1") as client:
        response = await client.post("/login", json={"token": token})
    assert "Secure" in response.headers["set-cookie"]


async def test_pictures_and_events_come_to_the_cookie(
    anonymous: httpx.AsyncClient, token: str, services: Services
) -> None:
    data = b"\x89PNG and more"
    digest = await services.store.blobs.put(data)
    await anonymous.post("/login", json={"token": token})
    assert (await anonymous.get(f"/v1/images/{digest}")).content == data
    assert (await anonymous.get("/v1/events", params={"follow": "false"})).status_code == 200
    await anonymous.post("/logout")
    for path in (f"/v1/images/{digest}", "/v1/events?follow=false"):
        assert (await anonymous.get(path)).status_code == 401


async def test_a_wrong_bearer_is_not_rescued_by_the_cookie(anonymous: httpx.AsyncClient, token: str) -> None:
    await anonymous.post("/login", json={"token": token})
    response = await anonymous.get("/v1/info", headers={"Authorization": "Bearer wrong"})
    assert response.status_code == 401


async def test_a_foreign_host_name_is_refused(client: httpx.AsyncClient) -> None:
    for name in ("evil.example", "evil.example:80", "[::2]:80"):
        response = await client.get("/v1/info", headers={"Host": name})
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["type"] == "unknown_host" and "the setting hosts" in error["message"]
    for name in ("localhost", "LOCALHOST:8420", "[::1]:8420", "::1"):
        assert (await client.get("/v1/info", headers={"Host": name})).status_code == 200


@pytest.mark.parametrize("host", ["desk.example:443", "127.0.0.1:8420"])
async def test_behind_a_proxy_the_page_works_by_its_public_name(
    services: Services, token: str, host: str
) -> None:
    settings = services.settings.model_copy(update={"hosts": ("Desk.example",)})
    transport = httpx.ASGITransport(create_app(replace(services, settings=settings)))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        client.headers.update({"Host": host, "Origin": "https://desk.example"})
        assert (await client.post("/login", json={"token": token})).status_code == 204
        body = {"task_id": "fake/press-button"}
        for headers, status in ((PAGE, 201), ({**PAGE, "Origin": "https://evil.example"}, 403)):
            assert (await client.post("/v1/tasks", json=body, headers=headers)).status_code == status
