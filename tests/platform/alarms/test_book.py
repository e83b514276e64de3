from __future__ import annotations

import itertools
import time

import pytest

from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind
from deskhand_platform.alarms import book as book_module
from deskhand_platform.alarms.book import ONCE_STANDS_S, AlarmBook, fold
from deskhand_platform.errors import NotFound, WrongState
from deskhand_platform.states import AlarmState
from deskhand_sandbox.types import JsonValue

DATABASES = ("sqlite", "postgresql")
NUMBERS = itertools.count(1)


def told(name: str, at_s: float = 10.0, subject: str = "platform", **data: JsonValue) -> Event:
    number = next(NUMBERS)
    return Event(id=number, at_s=at_s, subject=subject, kind=EventKind.ALARM, name=name, data=data)


def test_an_alarm_is_raised_acknowledged_and_cleared() -> None:
    raised = told("disk_low", 10.0, state="raised", value=1.0)
    seen = told("disk_low", 20.0, state="acknowledged", by="ada")
    [alarm] = fold([raised, seen], now=30.0)
    assert (alarm.id, alarm.state, alarm.acknowledged_by) == (raised.id, AlarmState.ACKNOWLEDGED, "ada")
    assert alarm.open and alarm.data["value"] == 1.0
    [alarm] = fold([raised, seen, told("disk_low", 25.0, state="cleared")], now=30.0)
    assert (alarm.state, alarm.cleared_at_s, alarm.open) == (AlarmState.CLEARED, 25.0, False)


def test_what_is_raised_again_after_it_was_over_is_another_alarm() -> None:
    states = ("raised", "cleared", "raised")
    events = [told("disk_low", at, state=state) for at, state in enumerate(states)]
    newest, oldest = fold(events, now=4.0)
    assert (newest.id, newest.open, oldest.open) == (events[2].id, True, False)


def test_a_runs_alarm_counts_how_often_and_is_over_when_acknowledged_or_after_a_day() -> None:
    events = [told("kl_high", 1.0, "run:a", value=0.2), told("kl_high", 2.0, "run:a", value=0.3)]
    events.append(told("kl_high", 2.0, "run:b", value=0.9))
    other, alarm = fold(events, now=3.0)
    assert (alarm.times, alarm.data["value"], other.times) == (2, 0.3, 1)
    [_, alarm] = fold([*events, told("kl_high", 4.0, "run:a", state="acknowledged", by="ada")], now=5.0)
    assert not alarm.open and alarm.acknowledged_by == "ada"
    assert [one.open for one in fold(events, now=3.0 + ONCE_STANDS_S)] == [False, False]


def test_a_day_is_counted_from_the_newest_time_and_what_comes_after_it_is_another_alarm() -> None:
    day = ONCE_STANDS_S
    often = [told("child_died", at) for at in (0.0, 0.9 * day, 1.8 * day)]
    [alarm] = fold(often, now=2 * day)
    assert (alarm.open, alarm.times, alarm.raised_at_s, alarm.newest_at_s) == (True, 3, 0.0, 1.8 * day)
    again = told("child_died", 3 * day)
    assert [(one.id, one.open, one.times) for one in fold([*often, again], now=3 * day)] == [
        (again.id, True, 1),
        (often[0].id, False, 3),
    ]


def test_words_without_an_alarm_are_passed_over() -> None:
    assert fold([told("a", state="cleared"), told("b", state="acknowledged", by="x")], now=1.0) == ()


async def test_what_stands_is_remembered_however_much_comes_after_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "REMEMBERED", 3)
    book = AlarmBook(store)
    for name in ("over", "seen", "stands"):
        raised = await book.tell("platform", name, AlarmState.RAISED, {"value": 1})
        if name == "seen":
            await book.acknowledge(raised.id, "ada")
    await book.tell("platform", "over", AlarmState.CLEARED)
    for value in range(4):
        await store.append_event(told("kl_high", time.time(), "run:a", value=value, says='"state":"cleared"'))
    found = {one.name: (one.state, one.acknowledged_by) for one in await book.all()}
    assert found.pop("kl_high") == (AlarmState.RAISED, None)
    assert found == {"seen": (AlarmState.ACKNOWLEDGED, "ada"), "stands": (AlarmState.RAISED, None)}
    [stands] = [one for one in await book.open() if one.name == "stands"]
    assert (await book.acknowledge(stands.id, "ada")).state is AlarmState.ACKNOWLEDGED
    await book.tell("platform", "stands", AlarmState.CLEARED)
    assert [one.name for one in await book.open()] == ["kl_high", "seen"]


async def test_acknowledging_needs_an_alarm_that_stands(store: Store) -> None:
    book = AlarmBook(store)
    raised = await book.tell("platform", "disk_low", AlarmState.RAISED, {"value": 1})
    alarm = await book.acknowledge(raised.id, "ada")
    assert (alarm.acknowledged_by, alarm.open) == ("ada", True)
    with pytest.raises(WrongState, match="acknowledged already"):
        await book.acknowledge(raised.id, "bob")
    with pytest.raises(NotFound):
        await book.acknowledge(999, "ada")
