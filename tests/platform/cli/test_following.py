"""Commands that follow work while the platform that does it is started anew."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from deskhand_platform.cli import client as cli_client
from deskhand_platform.cli import progress
from deskhand_platform.client import AsyncDeskhand, connection, flows, stream

AWAY_S = 20.0


class StartedAnew(httpx.AsyncBaseTransport):
    """Once something was begun nobody answers for a while; then somebody ends it."""

    def __init__(self, method: str, end: str) -> None:
        self._end = (method, end)
        self._ending: httpx.Request | None = None
        self._away_until_s = 0.0
        self.now_s = 0.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.now_s < self._away_until_s:
            raise httpx.ConnectError("refused")
        if self._ending is not None:
            assert (await self._answered(self._ending)).is_success
            self._ending = None
        answer = await self._answered(request)
        if request.method == "POST":
            method, end = self._end
            url = request.url.copy_with(path=f"{request.url.path}/{answer.json()['id']}{end}")
            signed = {"Authorization": request.headers["Authorization"]}
            self._ending = httpx.Request(method, url, headers=signed)
            self._away_until_s = self.now_s + AWAY_S
        return answer

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        async with httpx.AsyncHTTPTransport() as network:  # commands have a loop for each of their calls
            answer = await network.handle_async_request(request)
            await answer.aread()
        return answer

    async def slept(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.mark.parametrize(
    ("command", "end", "last"),
    [
        ("submit fake/press-button --wait", ("DELETE", ""), "state: cancelled"),
        ("rounds start smoke --follow", ("POST", "/pause"), "(smoke): paused"),
    ],
)
async def test_what_goes_on_without_its_platform_is_followed_still(
    command: str,
    end: tuple[str, str],
    last: str,
    url: str,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    beside: Callable[..., Awaitable[Any]],
) -> None:
    network = StartedAnew(*end)
    clock = SimpleNamespace(monotonic=lambda: network.now_s)
    monkeypatch.setattr(cli_client, "Client", partial(AsyncDeskhand, transport=network))
    monkeypatch.setattr(progress, "LOOK_S", 0.01)
    monkeypatch.setattr(connection, "asyncio", SimpleNamespace(sleep=network.slept))
    for module in (flows, stream):
        monkeypatch.setattr(module, "time", clock)
    home = tmp_path / "other"
    status, printed, said = await beside(*command.split(), "--url", url, home=home, DESKHAND_TOKEN=token)
    assert status == 1 and last in printed + said, said
