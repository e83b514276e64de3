from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_flywheel.types import Event
from deskhand_platform import supervisor
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
