"""WebSockets come through the same door, over a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from deskhand_platform.accounts.access import ROLES, ROUTES, Own, Role, Rule
from deskhand_platform.api.app import create_app
from deskhand_platform.api.deps import Who
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, answering, listen

Person = Callable[..., Awaitable[str]]


@pytest.fixture
async def address(services: Services, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """Of a server with a socket for those who may take sandboxes over."""
    app = create_app(services)

    @app.websocket("/v1/echo")
    async def echo(socket: WebSocket, who: Who) -> None:
        await socket.accept()
        await socket.send_text(who.name)

    monkeypatch.setitem(ROUTES, "WS /v1/echo", Rule("sandboxes:write"))
    listener = listen("127.0.0.1", 0)
    async with answering(app, listener):
        yield address_of(listener).replace("http", "ws")


async def dial(address: str, path: str = "/v1/echo", **headers: str) -> str:
    """What it says, or the status and type of its refusal."""
    try:
        async with connect(f"{address}{path}", additional_headers=headers, proxy=None) as socket:
            return str(await socket.recv())
    except InvalidStatus as refused:
        kind = json.loads(refused.response.body or b"")["error"]["type"]
        return f"{refused.response.status_code} {kind}"


async def test_a_socket_is_for_whom_the_table_says(
    address: str, person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    otto, ada = await person("otto", Role.OPERATOR), await person("ada", Role.ANNOTATOR)
    assert await dial(address, Authorization=f"Bearer {otto}") == "otto"
    assert await dial(address, Authorization=f"Bearer {ada}") == "403 forbidden"
    assert await dial(address, Authorization="Bearer wrong") == "401 unauthorized"
    assert await dial(address) == "401 unauthorized"
    monkeypatch.delitem(ROUTES, "WS /v1/echo")
    assert await dial(address, Authorization=f"Bearer {otto}") == "403 forbidden"


async def test_another_sites_page_opens_no_socket_with_the_cookie(
    address: str, services: Services, person: Person
) -> None:
    await person("otto", Role.OPERATOR)
    cookie = f"{services.accounts.cookie}={await services.accounts.sessions.begin('otto')}"
    assert await dial(address, Cookie=cookie, Origin=address.replace("ws", "http")) == "otto"
    assert await dial(address, Cookie=cookie, Origin="http://evil.example") == "403 forbidden"


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_is_let_through_to_what_the_table_says(
    address: str, person: Person, role: Role
) -> None:
    token = await person("ada", role)
    sockets = {route: rule for route, rule in ROUTES.items() if route.startswith("WS ")}
    assert len(sockets) > 1
    for route, rule in sockets.items():
        path = route.removeprefix("WS ").replace("{id}", "1")
        may = rule.scope in ROLES[role] and (role is not Role.SUBMITTER or rule.own is not Own.NOTHING)
        assert await dial(address, path) == "401 unauthorized"
        said = await dial(address, path, Authorization=f"Bearer {token}")
        assert (said == "403 forbidden") is not may, (route, role, said)
