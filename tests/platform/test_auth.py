from __future__ import annotations

import stat

import httpx
import pytest

from deskhand_platform.api.app import create_app
from deskhand_platform.auth import open_gate, read_token
from deskhand_platform.services import Services
from deskhand_platform.settings import Settings


def test_the_token_is_made_once_private_and_kept_hashed(settings: Settings) -> None:
    gate, token = open_gate(settings.home)
    again, second = open_gate(settings.home)
    assert token is not None and len(token) >= 43
    assert second is None and again == gate
    assert token not in (settings.home / "token.hash").read_text()
    for name in ("token", "token.hash"):
        assert stat.S_IMODE((settings.home / name).stat().st_mode) == 0o600
    assert gate.knows_token(token)
    assert not gate.knows_token(token[:-1])
    assert not gate.knows_session(token)


def test_two_homes_have_different_tokens(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, token = open_gate(settings.home)
    second, _ = open_gate(tmp_path_factory.mktemp("other"))
    assert token is not None and first.knows_token(token) and not second.knows_token(token)


def test_the_environment_beats_the_file(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = open_gate(settings.home)
    assert read_token(settings.home) == token
    monkeypatch.setenv("DESKHAND_TOKEN", "another")
    assert read_token(settings.home) == "another"


def routes() -> list[tuple[str, str]]:
    described = create_app().openapi()["paths"]
    return [(method, path) for path, methods in described.items() for method in methods]


@pytest.mark.parametrize(("method", "path"), routes())
async def test_every_v1_route_asks_for_the_token(
    anonymous: httpx.AsyncClient, method: str, path: str
) -> None:
    address = path.replace("{id}", "1").replace("{digest}", "0" * 64)
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic wrong"}):
        response = await anonymous.request(method, address, headers=headers)
        assert response.status_code == 401
        assert response.json()["error"]["type"] == "unauthorized"
        assert response.headers["www-authenticate"] == "Bearer"


async def test_the_printed_address_signs_the_page_in(
    anonymous: httpx.AsyncClient, token: str, services: Services
) -> None:
    wrong = await anonymous.get("/login", params={"token": "wrong"})
    assert wrong.status_code == 401 and "set-cookie" not in wrong.headers
    response = await anonymous.get("/login", params={"token": token})
    cookie = response.headers["set-cookie"]
    assert response.status_code == 303 and response.headers["location"] == "/"
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and token not in cookie
    assert (await anonymous.get("/v1/info")).status_code == 200
    anonymous.cookies.set(services.gate.cookie, "forged")
    anonymous.cookies.delete(services.gate.cookie, domain="127.0.0.1")
    assert (await anonymous.get("/v1/info")).status_code == 401


async def test_a_wrong_bearer_is_not_rescued_by_the_cookie(anonymous: httpx.AsyncClient, token: str) -> None:
    await anonymous.get("/login", params={"token": token})
    response = await anonymous.get("/v1/info", headers={"Authorization": "Bearer wrong"})
    assert response.status_code == 401


async def test_a_foreign_host_name_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/info", headers={"Host": "evil.example"})
    assert response.status_code == 400
