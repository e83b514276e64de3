"""Group commit: together when all is well, each on its own when one is not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import event, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import StorageFull, StoreClosed, StoreError, StoreUnavailable
from deskhand_flywheel.tables import datasets
from deskhand_flywheel.writer import GroupWriter


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    opened = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'deskhand.db'}")
    yield opened
    await opened.close()


def _add(name: str) -> Callable[[AsyncConnection], Awaitable[str]]:
    async def write(connection: AsyncConnection) -> str:
        row = {"name": name, "version": 1, "kind": "sft", "recipe": "{}", "created_at_s": 0.0}
        await connection.execute(datasets.insert(), row)
        return name

    return write


async def _names(database: Database) -> set[str]:
    async with database.read() as connection:
        return set((await connection.scalars(select(datasets.c.name))).all())


async def test_what_waits_together_is_committed_together(database: Database) -> None:
    commits: list[object] = []
    event.listen(database.engine.sync_engine, "commit", commits.append)
    writer = GroupWriter(database)
    names = [str(number) for number in range(100)]
    assert await asyncio.gather(*(writer.submit(_add(name)) for name in names)) == names
    assert len(commits) <= 2
    assert await _names(database) == set(names)
    await writer.close()


async def test_one_refused_write_fails_alone(database: Database) -> None:
    writer = GroupWriter(database)
    await writer.submit(_add("taken"))
    results = await asyncio.gather(
        *(writer.submit(_add(name)) for name in ("a", "taken", "b")), return_exceptions=True
    )
    assert results[0] == "a"
    assert isinstance(results[1], IntegrityError)
    assert results[2] == "b"
    assert await _names(database) == {"taken", "a", "b"}
    await writer.close()


@pytest.mark.parametrize("trouble", [StoreUnavailable, StorageFull])
async def test_what_is_no_write_s_own_fails_all_of_them_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, trouble: type[StoreError]
) -> None:
    tries: list[str] = []

    @asynccontextmanager
    async def kept_locked() -> AsyncGenerator[AsyncConnection]:
        tries.append("a wait of half a minute")
        raise trouble("locked")
        yield

    writer = GroupWriter(database)
    with monkeypatch.context() as patched:
        patched.setattr(database, "write", kept_locked)
        results = await asyncio.gather(*(writer.submit(_add(name)) for name in "abc"), return_exceptions=True)
    assert [type(result) for result in results] == [trouble] * 3 and len(tries) == 1
    assert await writer.submit(_add("after")) == "after"
    assert await _names(database) == {"after"}
    await writer.close()


async def test_a_caller_that_goes_away_takes_nobody_along(database: Database) -> None:
    writer = GroupWriter(database)
    leaving = asyncio.create_task(writer.submit(_add("leaving")))
    staying = asyncio.create_task(writer.submit(_add("staying")))
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == "staying"
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await writer.close()


async def test_close_writes_what_waits_and_takes_no_more(database: Database) -> None:
    writer = GroupWriter(database)
    waiting = asyncio.create_task(writer.submit(_add("waiting")))
    await asyncio.sleep(0)
    await writer.close()
    assert await waiting == "waiting"
    with pytest.raises(StoreClosed):
        await writer.submit(_add("late"))
    assert await _names(database) == {"waiting"}


async def test_a_bug_in_a_write_reaches_who_asked_for_it_alone(database: Database) -> None:
    async def bug(_connection: AsyncConnection) -> None:
        raise ZeroDivisionError

    writer = GroupWriter(database)
    writes = (
        writer.submit(_add("a")),
        writer.submit(bug),
        writer.submit(_add("\ud800")),
        writer.submit(_add("b")),
    )
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [each if isinstance(each, str) else type(each) for each in results] == [
        "a",
        ZeroDivisionError,
        UnicodeEncodeError,
        "b",
    ]
    assert await writer.submit(_add("after")) == "after"
    assert await _names(database) == {"a", "b", "after"}
    await writer.close()


async def test_nobody_is_left_waiting_when_the_writing_is_cancelled(database: Database) -> None:
    begun = asyncio.Event()

    async def slow(_connection: AsyncConnection) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def refused(_connection: AsyncConnection) -> None:
        if not begun.is_set():
            raise StoreClosed("at first")

    writer = GroupWriter(database)
    waiting = [asyncio.ensure_future(writer.submit(write)) for write in (refused, slow, _add("a"))]
    await begun.wait()
    assert writer._task is not None
    writer._task.cancel()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results[1:]] == [asyncio.CancelledError] * 2
    assert await writer.submit(_add("after")) == "after"
    await writer.close()


async def test_what_is_alike_is_written_by_one_call_in_the_order_it_came(database: Database) -> None:
    calls: list[list[str]] = []

    async def add_all(connection: AsyncConnection, names: Sequence[str]) -> None:
        calls.append([*names])
        for name in names:
            await _add(name)(connection)

    writer = GroupWriter(database)
    await writer.submit(_add("taken"))
    few = (writer.submit_to(add_all, "a"), writer.submit_to(add_all, "b"), writer.submit(_add("c")))
    assert await asyncio.gather(*few, writer.submit_to(add_all, "d")) == [None, None, "c", None]
    assert calls == [["a", "b"], ["d"]]
    calls.clear()
    results = await asyncio.gather(
        *(writer.submit_to(add_all, name) for name in ("e", "taken", "f")), return_exceptions=True
    )
    assert [type(result) for result in results] == [type(None), IntegrityError, type(None)]
    assert calls == [["e", "taken", "f"], ["e"], ["taken"], ["f"]]
    assert await _names(database) == {*"abcdef", "taken"}
    await writer.close()
