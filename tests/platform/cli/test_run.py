"""`deskhand run` beside a platform: which round it follows, and for how long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from deskhand_platform.cli import progress, run
from deskhand_platform.client import AsyncDeskhand
from deskhand_platform.services import Services
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState

Said = list[str]
Begun = Callable[..., asyncio.Task[int]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    lines: Said = []
    monkeypatch.setattr(progress, "LOOK_S", 0.01)
    for module in (progress, run):
        monkeypatch.setattr(module, "say", lines.append)
    return lines


@pytest.fixture
async def begun(
    settings: Settings, url: str, token: str, said: Said, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Begun]:
    """Begins the command; it is stopped at the test's end."""

    @asynccontextmanager
    async def up(*_: Any) -> AsyncGenerator[str]:
        yield url

    monkeypatch.setenv("DESKHAND_TOKEN", token)
    monkeypatch.setattr(run, "_platform", up)
    tasks: list[asyncio.Task[int]] = []

    def begin(exit_: bool = False, **changed: Any) -> asyncio.Task[int]:
        tasks.append(asyncio.create_task(run._run(settings, "smoke", changed, exit_, False)))
        return tasks[-1]

    yield begin
    for each in tasks:
        each.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def heard(said: Said, words: str) -> None:
    async with asyncio.timeout(100):
        while not any(words in line for line in said):
            await asyncio.sleep(0.01)


async def end(services: Services, state: WorkState) -> None:
    await services.book.close(1, state, "so", (await services.book.get(1)).life)


async def test_a_round_that_is_paused_is_waited_for(services: Services, begun: Begun, said: Said) -> None:
    running = begun()
    await heard(said, "Round 1 (smoke) started")
    await services.rounds.pause(1)
    await heard(said, "Round 1 is paused")
    await services.rounds.resume(1)
    await end(services, WorkState.DONE)
    await heard(said, "The page stays open")
    assert sum("is paused" in line for line in said) == 1 and not running.done()
    running.cancel()
    assert await running == 0


@pytest.mark.parametrize("changed", [{}, {"description": "another"}])
async def test_a_round_that_was_paused_is_taken_up_again(
    services: Services, begun: Begun, said: Said, changed: dict[str, Any]
) -> None:
    await services.rounds.start("smoke", changed)
    await services.rounds.pause(1)
    begun(**changed)
    await heard(said, "Round 1 was paused: going on with it")
    assert [each.state for each in await services.book.list()] == [WorkState.QUEUED]


async def test_one_that_goes_on_is_followed_and_what_was_paused_for_it_stays_so(
    services: Services, begun: Begun, said: Said
) -> None:
    for changed in ({}, {"description": "another"}):
        await services.rounds.start("smoke", changed)
    await services.rounds.pause(1)
    begun()
    await heard(said, "Round 2 was not finished")
    assert (await services.book.get(1)).state is WorkState.PAUSED


@pytest.mark.parametrize("state", [WorkState.FAILED, WorkState.CANCELLED])
async def test_the_page_stays_open_whatever_became_of_the_round(
    services: Services, begun: Begun, said: Said, state: WorkState
) -> None:
    running = begun()
    await heard(said, "started")
    await end(services, state)
    await heard(said, "The page stays open")
    running.cancel()
    assert await running == 1
    said.clear()
    leaving = begun(exit_=True)
    await heard(said, "Round 2 (smoke) started")
    await services.book.close(2, state, "so", 0)
    assert await leaving == 1


async def test_whoever_follows_no_further_than_a_pause_is_told_of_it(
    services: Services, url: str, token: str, said: Said
) -> None:
    await services.rounds.start("smoke", {})
    await services.rounds.pause(1)
    async with AsyncDeskhand(url, token) as client:
        assert (await progress.follow(client, 1)).state is WorkState.PAUSED
    assert said == []
