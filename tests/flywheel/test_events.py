"""Events: one order for everyone, by id."""

from __future__ import annotations

import asyncio

import pytest
from flywheel_episodes import Urls

from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.store import Store
from deskhand_flywheel.types import Event, EventKind

DATABASES = ("sqlite", "postgresql")


def _event(name: str, subject: str = "round:1") -> Event:
    return Event(
        id=0, at_s=5.0, subject=subject, kind=EventKind.METRIC, name=name, data={"loss": 0.5, "on": [1, None]}
    )


async def test_events_come_back_in_order_after_an_id(store: Store) -> None:
    assert await store.last_event_id() == 0
    first, second = await store.append_event(_event("a")), await store.append_event(_event("b"))
    assert 0 < first.id < second.id
    assert await store.events_after(0) == (first, second)
    assert await store.events_after(first.id) == (second,)
    assert await store.events_after(second.id) == ()
    assert await store.last_event_id() == second.id


async def test_a_subject_s_events_are_its_own(store: Store) -> None:
    await store.append_event(_event("a", "round:1"))
    other = await store.append_event(_event("b", "round:10"))
    assert await store.events_after(0, subjects=["round:10"]) == (other,)
    third = await store.append_event(_event("c", "round:2"))
    await store.append_event(_event("d", "round:1"))
    assert await store.events_after(0, subjects=["round:2", "round:10"]) == (other, third)
    assert await store.events_after(other.id, subjects=["round:2", "round:10"]) == (third,)
    assert await store.events_after(0, subjects=[]) == ()
    assert len(await store.events_after(0, limit=1)) == 1
    with pytest.raises(InvalidQuery):
        await store.events_after(0, limit=0)


async def test_figures_json_does_not_know_become_none(store: Store) -> None:
    data = {"kl": float("nan"), "deep": [{"loss": float("inf")}, 1.5]}
    event = Event(id=0, at_s=5.0, subject="run:a", kind=EventKind.METRIC, name="x", data=data)
    kept = await store.append_event(event)
    assert kept.data == {"kl": None, "deep": [{"loss": None}, 1.5]}
    assert await store.events_after(0) == (kept,)


async def test_a_reader_who_follows_the_last_id_misses_nothing(store: Store, urls: Urls) -> None:
    async def append(writer: Store, name: str) -> None:
        for number in range(40):
            await writer.append_event(_event(f"{name}{number}"))

    seen: list[str] = []

    async def follow() -> None:
        last = 0
        while len(seen) < 120:
            for event in await store.events_after(last):
                seen.append(event.name)
                last = event.id
            await asyncio.sleep(0)

    async with await Store.open(urls.database, urls.blobs) as other:
        await asyncio.gather(follow(), append(store, "a"), append(store, "b"), append(other, "c"))
    assert sorted(seen) == sorted(f"{name}{number}" for name in "abc" for number in range(40))
