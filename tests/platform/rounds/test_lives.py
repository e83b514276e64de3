"""What becomes of rounds whose workflows are hindered; their phases do nothing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from deskhand_flywheel.errors import StoreUnavailable
from deskhand_flywheel.store import Store
from deskhand_platform.rounds import conductor as conducting
from deskhand_platform.rounds.book import PhaseRecord, RoundBook, RoundRecord
from deskhand_platform.rounds.conductor import RoundConductor
from deskhand_platform.rounds.config import RoundConfig
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.rounds.phases import Phases
from deskhand_platform.settings import Settings
from deskhand_platform.states import WorkState

Until = Callable[..., Any]
BRIEF: dict[str, Any] = {"collect": None, "explore": None, "score": None, "evaluate": None}


class Idle(Phases):
    """Phases that are done at once."""

    def __init__(self, settings: Settings, store: Store) -> None:
        super().__init__(settings, store, RoundBook(store.database), cast("Any", None))
        self.done: list[tuple[int, str]] = []

    async def check_start(self, config: RoundConfig) -> None:
        pass

    async def check_fit(self, config: RoundConfig) -> None:
        pass

    async def _work(self, record: RoundRecord, phase: PhaseRecord) -> dict[str, Any]:
        self.done.append((record.id, phase.name))
        return {}


class Absent(Idle):
    """Whose database is away at first in each of a round's steps, and where a phase's end is noted."""

    def __init__(self, settings: Settings, store: Store) -> None:
        super().__init__(settings, store)
        self.seen: set[str] = set()

    def _away(self, at: str) -> None:
        if at not in self.seen:
            self.seen.add(at)
            raise StoreUnavailable("the database does not answer")

    async def begin(self, round_id: int, life: int) -> list[str]:
        self._away("begin")
        return await super().begin(round_id, life)

    async def close(self, round_id: int, state: WorkState, reason: str | None, life: int) -> None:
        self._away("close")
        await super().close(round_id, state, reason, life)

    async def _work(self, record: RoundRecord, phase: PhaseRecord) -> dict[str, Any]:
        self._away("work")
        return await super()._work(record, phase)

    async def _ended(self, *arguments: Any, **changes: Any) -> tuple[WorkState, str | None]:
        self._away("ended")
        return await super()._ended(*arguments, **changes)


class Speechless(Idle):
    """That fail by a bug, and by another one in saying so."""

    tries = 0

    async def _work(self, record: RoundRecord, phase: PhaseRecord) -> dict[str, Any]:
        if phase.name == "ppo":
            raise RuntimeError("a bug")
        return await super()._work(record, phase)

    async def close(self, round_id: int, state: WorkState, reason: str | None, life: int) -> None:
        self.tries += 1
        raise RuntimeError("another bug")


@asynccontextmanager
async def conducted(settings: Settings, store: Store, phases: Phases) -> AsyncGenerator[RoundConductor]:
    book, controls = RoundBook(store.database), RoundControls(store.database)
    conductor = RoundConductor(phases, book, controls, settings.workflows_url)
    await conductor.launch()
    try:
        yield conductor
    finally:
        await conductor.stop()


async def over(book: RoundBook, round_id: int, until: Until) -> RoundRecord:
    async def is_over() -> bool:
        return (await book.get(round_id)).state.over

    await until(is_over)
    return await book.get(round_id)


async def test_a_round_goes_on_when_its_database_is_back(
    settings: Settings, store: Store, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conducting, "AGAIN_S", 0.0)
    phases, book = Absent(settings, store), RoundBook(store.database)
    async with conducted(settings, store, phases) as conductor:
        started = await conductor.start("smoke", BRIEF)
        ended = await over(book, started.id, until)
    assert phases.seen == {"begin", "work", "ended", "close"}
    assert (ended.state, ended.life) == (WorkState.DONE, 0)
    assert {phase.state for phase in ended.phases} == {WorkState.DONE}


async def test_a_round_whose_workflow_ended_without_a_word_is_taken_up_at_the_next_start(
    settings: Settings, store: Store, until: Until
) -> None:
    book = RoundBook(store.database)
    speechless = Speechless(settings, store)
    async with conducted(settings, store, speechless) as conductor:
        first, second = [(await conductor.start("smoke", BRIEF, key)).id for key in "ab"]

        async def both_tried() -> bool:
            return speechless.tries == 2

        await until(both_tried)
    assert (await book.get(first)).state is WorkState.RUNNING
    await book.request_cancel(second)
    phases = Idle(settings, store)
    async with conducted(settings, store, phases):
        done, cancelled = [await over(book, each, until) for each in (first, second)]
    assert (done.state, done.life) == (WorkState.DONE, 1)
    assert (cancelled.state, cancelled.life) == (WorkState.CANCELLED, 1)
    names = [phase.name for phase in done.phases]
    assert phases.done == [(first, name) for name in names[names.index("ppo") :]]
