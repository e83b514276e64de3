from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform import supervisor
from deskhand_platform.errors import ChildFailed
from deskhand_platform.settings import Settings


class Away:
    """A store that does not answer."""

    async def append_event(self, event: Event) -> None:
        raise StoreUnavailable("the database does not answer")


async def test_a_child_that_dies_while_the_database_is_away_is_started_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "BACKOFF_S", (0.0,))
    keeper: Any = supervisor.Supervisor(settings, cast("Any", Away()), cast("Any", None))
    lives, third = 0, asyncio.Event()

    async def live() -> str:
        nonlocal lives
        lives += 1
        if lives == 3:
            third.set()
            await asyncio.Event().wait()
        return "exit status 1"

    keeping = asyncio.create_task(keeper._keep("episode worker", live))
    waiting = asyncio.create_task(third.wait())
    await asyncio.wait([keeping, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert third.is_set() and not keeping.done()
    keeping.cancel()
    await asyncio.gather(keeping, waiting, return_exceptions=True)


async def test_a_child_that_ends_as_nobody_foresaw_is_started_again(
    settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(supervisor, "BACKOFF_S", (0.0,))
    keeper: Any = supervisor.Supervisor(settings, store, cast("Any", None))
    odd, second = [RuntimeError("odd")], asyncio.Event()

    async def live() -> str:
        if odd:
            raise odd.pop()
        second.set()
        await asyncio.Event().wait()
        return ""

    keeping = asyncio.create_task(keeper._keep("episode worker", live))
    waiting = asyncio.create_task(second.wait())
    await asyncio.wait([keeping, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert second.is_set() and "raise odd.pop()" in caplog.text
    [alarm] = await store.events_after(0, kind=EventKind.ALARM)
    assert alarm.data == {"child": "episode worker", "reason": "RuntimeError: odd"}
    keeping.cancel()
    await asyncio.gather(keeping, waiting, return_exceptions=True)


async def test_a_host_that_does_not_start_as_nobody_foresaw_ends_the_start(
    settings: Settings, store: Store
) -> None:
    def start_host() -> Any:
        raise RuntimeError("odd")

    async with asyncio.timeout(100):
        with pytest.raises(ChildFailed, match="the sandbox host does not start: odd"):
            async with supervisor.Supervisor(settings, store, start_host).running():
                raise AssertionError
