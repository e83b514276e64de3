"""Who works a database is told, kept, outlived and taken over."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from deskhand_flywheel.store import Store
from deskhand_platform import database_lock
from deskhand_platform.database_lock import hold
from deskhand_platform.errors import DatabaseInUse
from deskhand_platform.serving import platform
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.tables import platforms

DATABASES = ("sqlite", "postgresql")

HOLDER = """
import asyncio, sys
from pathlib import Path
from deskhand_flywheel.store import Store
from deskhand_platform.database_lock import hold

async def main():
    async with await Store.open(sys.argv[1], sys.argv[2]) as store, hold(store.database, Path(sys.argv[3])):
        print("held", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Path, Path]:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    return one, two


async def changed(store: Store, **values: Any) -> None:
    async with store.database.write() as connection:
        await connection.execute(sa.update(platforms).values(**values))


async def rows(store: Store) -> int:
    async with store.database.read() as connection:
        return await connection.scalar(sa.select(sa.func.count()).select_from(platforms)) or 0


async def test_a_second_platform_is_told_who_the_first_is(store: Store, homes: tuple[Path, Path]) -> None:
    async with hold(store.database, homes[0]):
        who = rf"process {os.getpid()} on \S+, since [\d-]+ [\d:]+, last heard of \d+ s ago.*--take-over"
        with pytest.raises(DatabaseInUse, match=who):
            async with hold(store.database, homes[1]):
                pass
    assert await rows(store) == 0
    async with hold(store.database, homes[1]):
        pass


async def test_of_two_that_start_at_once_one_is_refused(store: Store, homes: tuple[Path, Path]) -> None:
    done = asyncio.Event()

    async def work(home: Path) -> None:
        async with hold(store.database, home):
            await done.wait()

    tasks = [asyncio.create_task(work(home)) for home in homes]
    refused, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    done.set()
    assert [type(each.exception()) for each in refused] == [DatabaseInUse]
    assert sum(each is None for each in await asyncio.gather(*tasks, return_exceptions=True)) == 1


@pytest.mark.parametrize("same_home", [True, False])
async def test_one_that_was_killed_keeps_nobody_out(
    store: Store, settings: Settings, homes: tuple[Path, Path], same_home: bool
) -> None:
    command = [sys.executable, "-c", HOLDER, settings.db_url, settings.blobs_url, str(homes[0])]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"held\n"
        with pytest.raises(DatabaseInUse, match=f"process {process.pid} "):
            async with hold(store.database, homes[1]):
                pass
        process.send_signal(signal.SIGKILL)
    assert await rows(store) == 1
    async with hold(store.database, homes[0] if same_home else homes[1]):
        pass


async def test_one_elsewhere_is_gone_when_nothing_is_heard(store: Store, homes: tuple[Path, Path]) -> None:
    async with hold(store.database, homes[0]):
        await changed(store, machine="another", host="elsewhere", pid=1, home="x:/srv", holder="h")
        with pytest.raises(DatabaseInUse, match="process 1 on elsewhere"):
            async with hold(store.database, homes[1]):
                pass
        await changed(store, heard_at_s=platforms.c.heard_at_s - database_lock.STALE_S - 1)
        async with hold(store.database, homes[1]):
            assert await rows(store) == 1


async def test_a_process_id_given_to_another_process_keeps_nobody_out(
    store: Store, homes: tuple[Path, Path]
) -> None:
    async with hold(store.database, homes[0]):
        await changed(store, pid_began=platforms.c.pid_began - 1)
        async with hold(store.database, homes[1]):
            pass


async def test_the_first_stops_when_it_is_taken_over(
    store: Store, homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_lock, "BEAT_S", 0.05)
    put_away = False

    async def first() -> None:
        nonlocal put_away
        async with hold(store.database, homes[0]):
            try:
                await asyncio.sleep(60)
            finally:
                put_away = True

    working = asyncio.create_task(first())
    while not await rows(store):
        await asyncio.sleep(0.01)
    async with hold(store.database, homes[1], take_over=True):
        with pytest.raises(DatabaseInUse, match="has taken the database over"):
            await asyncio.wait_for(working, 60)
        assert put_away and await rows(store) == 1


async def test_it_is_heard_of_while_it_lives(
    store: Store, homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_lock, "BEAT_S", 0.05)
    async with hold(store.database, homes[0]):
        await changed(store, heard_at_s=0.0)
        async with asyncio.timeout(60):
            while await _heard(store) < 1:
                await asyncio.sleep(0.02)


@pytest.mark.usefixtures("short_pauses")
async def test_what_nobody_foresaw_ends_no_telling_that_it_lives(
    store: Store,
    homes: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(database_lock, "BEAT_S", 0.01)
    told: list[Exception | None] = [RuntimeError("odd"), None]

    async def renewed(*_: Any) -> list[DatabaseInUse]:
        if (error := told.pop(0)) is not None:
            raise error
        return [DatabaseInUse("somebody has taken the database over")]

    monkeypatch.setattr(database_lock, "_renewed", renewed)
    with pytest.raises(DatabaseInUse):
        async with asyncio.timeout(60), hold(store.database, homes[0]):
            await asyncio.Event().wait()
    assert "raise error" in caplog.text


async def _heard(store: Store) -> float:
    async with store.database.read() as connection:
        return await connection.scalar(sa.select(platforms.c.heard_at_s)) or 0.0


async def test_a_second_platform_with_another_home_does_not_start(
    settings: Settings, store: Store, tmp_path: Path
) -> None:
    async with hold(store.database, settings.home):
        second = load_settings(home=tmp_path / "other", port=0, database=settings.db_url)
        with pytest.raises(DatabaseInUse, match="DESKHAND_DATABASE"):
            async with platform(second):
                pass
