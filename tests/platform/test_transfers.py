"""Those at the other end of an archive who leave it lying."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.types import Message

from deskhand_flywheel.exchange import Guidance
from deskhand_flywheel.store import Store
from deskhand_platform import transfers
from deskhand_platform.api.routes.exchange import _Archive
from deskhand_platform.errors import NoRoom
from deskhand_platform.settings import Settings, TransferSettings
from deskhand_platform.transfers import Transfers

SCOPES = [
    {"type": "http", "method": "GET", "asgi": {"spec_version": "2.3"}},
    {"type": "http", "method": "GET", "asgi": {"spec_version": "2.4"}},
]


async def never() -> None:
    await asyncio.Event().wait()


async def test_whoever_stops_sending_keeps_no_place(
    store: Store, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "STALLED_S", 0.01)
    one = settings.model_copy(update={"transfers": TransferSettings(at_once=1)})
    taking = Transfers(one)

    async def half() -> AsyncGenerator[bytes]:
        yield b"a"
        await never()

    for _ in range(2):
        with pytest.raises(NoRoom, match="nothing of the archive came"):
            await taking.take_policy(store, half(), size=None, name="x")
    with pytest.raises(NoRoom, match="nothing of the archive came"):
        await taking.take(store, half(), size=None, format=None, guidance=Guidance())


@pytest.mark.parametrize("scope", SCOPES)
async def test_whoever_stops_reading_keeps_no_place(
    scope: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfers, "STALLED_S", 0.01)
    given_back = False

    async def pieces() -> AsyncGenerator[bytes]:
        nonlocal given_back
        try:
            while True:
                yield b"more"
        finally:
            given_back = True

    async def receive() -> Message:
        await never()
        raise AssertionError

    sent: list[bytes] = []

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))
        if len(sent) == 3:
            await never()

    rest = pieces()
    archive = _Archive("x", await anext(rest), rest)
    await archive(scope, receive, send)
    assert given_back and sent == [b"", b"more", b"more"]
