"""WebSockets come through the same door."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.websockets import WebSocket

from deskhand_platform.accounts.access import ROUTES, Role, Rule
from deskhand_platform.api.app import create_app
from deskhand_platform.api.deps import Who
from deskhand_platform.services import Services


async def dial(services: Services, headers: dict[str, str]) -> list[dict[str, Any]]:
    """What a WebSocket route sends to somebody with these headers."""
    app = create_app(services)

    @app.websocket("/v1/echo")
    async def echo(socket: WebSocket, who: Who) -> None:
        await socket.accept()
        await socket.send_text(who.name)
        await socket.close()

    # before the page, which takes every other address
    app.router.routes.insert(0, app.router.routes.pop())
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    named = {"host": "127.0.0.1", **headers}
    scope = {
        "type": "websocket",
        "path": "/v1/echo",
        "raw_path": b"/v1/echo",
        "query_string": b"",
        "root_path": "",
        "scheme": "ws",
        "subprotocols": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [(key.encode(), value.encode()) for key, value in named.items()],
    }
    await app(scope, receive, send)
    return sent


async def test_a_socket_is_for_whom_the_table_says(
    services: Services, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUTES, "WS /v1/echo", Rule("sandboxes:write"))
    otto = {"authorization": f"Bearer {await person('otto', Role.OPERATOR)}"}
    ada = {"authorization": f"Bearer {await person('ada', Role.ANNOTATOR)}"}
    sent = await dial(services, otto)
    assert [one["type"] for one in sent][:2] == ["websocket.accept", "websocket.send"]
    assert sent[1]["text"] == "otto"
    for refused in ({}, ada, {"authorization": "Bearer wrong"}):
        [closed] = await dial(services, refused)
        assert (closed["type"], closed["code"]) == ("websocket.close", 1008)
    monkeypatch.delitem(ROUTES, "WS /v1/echo")
    assert (await dial(services, otto))[0]["type"] == "websocket.close"


async def test_another_sites_page_opens_no_socket_with_the_cookie(
    services: Services, person: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ROUTES, "WS /v1/echo", Rule("sandboxes:write"))
    await person("otto", Role.OPERATOR)
    cookie = f"{services.accounts.cookie}={await services.accounts.sessions.begin('otto')}"
    ours = await dial(services, {"cookie": cookie, "origin": "http://127.0.0.1"})
    theirs = await dial(services, {"cookie": cookie, "origin": "http://evil.example"})
    assert ours[0]["type"] == "websocket.accept" and theirs[0]["type"] == "websocket.close"
