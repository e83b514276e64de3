"""Opening, migrating, and the errors of the database."""

from __future__ import annotations

import asyncio
import gc
import itertools
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flywheel_episodes import Urls
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.ext.asyncio import create_async_engine

import deskhand_flywheel.database as database_module
from deskhand_flywheel import tables
from deskhand_flywheel.database import Database
from deskhand_flywheel.errors import CorruptStore, StorageFull, StoreTooNew, StoreUnavailable


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "deskhand.db"


@pytest.fixture
def url(file: Path) -> str:
    return f"sqlite+aiosqlite:///{file}"


@pytest.mark.parametrize("urls", ["sqlite", "empty postgresql"], indirect=True)
async def test_the_migrations_make_exactly_the_tables(urls: Urls) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection)
        own = set(tables.metadata.tables)
        # tables of other packages are theirs to compare
        return [
            difference
            for difference in compare_metadata(context, tables.metadata)
            if not (difference[0] == "remove_table" and difference[1].name not in own)
            and not (difference[0] == "remove_index" and difference[1].table.name not in own)
            # the search's, which PostgreSQL keeps by expressions
            and not (difference[0] == "remove_index" and difference[1].name.startswith("words_of_"))
        ]

    database = await Database.open(urls.database)
    async with database.read() as connection:
        assert await connection.run_sync(differences) == []
    await database.close()


async def test_sqlite_is_set_up_for_many_processes(url: str) -> None:
    database = await Database.open(url)
    async with database.read() as connection:
        pragmas = [
            await connection.scalar(text(f"PRAGMA {name}"))
            for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    assert pragmas == ["wal", 1, 1, 30_000]
    await database.close()


_OPEN = (
    "import asyncio, sys\n"
    "from deskhand_flywheel.database import Database\n"
    "async def main():\n"
    "    database = await Database.open(sys.argv[1])\n"
    "    await database.close()\n"
    "sys.stdin.readline()\n"
    "asyncio.run(main())\n"
)


def test_many_processes_may_open_a_new_database_at_once(file: Path, url: str) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _OPEN, url], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    connection.close()


async def test_a_newer_database_is_refused(file: Path, url: str) -> None:
    await (await Database.open(url)).close()
    connection = sqlite3.connect(file)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreTooNew, match="9999"):
        await Database.open(url)


async def test_a_file_that_is_no_database_is_named(file: Path, url: str) -> None:
    file.parent.mkdir()
    file.write_bytes(b"not a database at all, but long enough to look at" * 100)
    with pytest.raises(CorruptStore, match="no database"):
        await Database.open(url)


async def test_a_value_that_is_no_json_does_not_make_the_file_a_damaged_one(url: str) -> None:
    database = await Database.open(url)
    with pytest.raises(OperationalError, match="malformed JSON"):
        async with database.read() as connection:
            await connection.scalar(text("SELECT json_extract('{', '$')"))
    await database.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "nonsense",
        "sqlite+aiosqlite://",
        "sqlite+nodriver:///x.db",
        "sqlite:////tmp/deskhand.db",
        "postgresql+psycopg://deskhand@host:port/deskhand",
        "sqlite+aiosqlite:////proc/nowhere/deskhand.db",
    ],
)
async def test_an_unusable_url_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable):
        await Database.open(url)


async def test_a_server_that_does_not_answer_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="does not answer"):
        await Database.open(f"postgresql+psycopg://deskhand@/deskhand?host={tmp_path}")


@pytest.mark.parametrize("urls", ["empty postgresql"], indirect=True)
def test_many_processes_may_open_a_new_postgresql_database_at_once(urls: Urls) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", _OPEN, urls.database], stdin=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [process.wait(timeout=300) for process in processes] == [0, 0, 0]


async def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="check its path"):
        await Database.open(f"sqlite+aiosqlite:///{tmp_path}")


async def test_a_full_disk_is_a_typed_error_and_undoes_the_transaction(url: str) -> None:
    database = await Database.open(url)
    with pytest.raises(StorageFull, match="disk is full"):
        async with database.write() as connection:
            pages = await connection.scalar(text("PRAGMA page_count"))
            await connection.execute(text(f"PRAGMA max_page_count={pages + 2}"))
            for number in range(50):
                row = {
                    "name": str(number),
                    "version": 1,
                    "kind": "x" * 4000,
                    "recipe": "",
                    "created_at_s": 0.0,
                }
                await connection.execute(tables.datasets.insert(), row)
    async with database.read() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM datasets")) == 0
    await database.close()


@pytest.mark.parametrize("urls", ["sqlite", "empty postgresql"], indirect=True)
async def test_a_name_that_is_taken_is_no_trouble_of_the_database_whatever_it_says(urls: Urls) -> None:
    database = await Database.open(urls.database)
    row = {"name": "connect: busy, locked", "version": 1, "kind": "sft", "recipe": "{}", "created_at_s": 0.0}
    with pytest.raises(IntegrityError):
        async with database.write() as connection:
            await connection.execute(tables.datasets.insert(), [row, row])
    await database.close()


async def test_a_database_locked_for_too_long_is_a_typed_error(
    file: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_module, "BUSY_TIMEOUT_S", 0.05)
    database = await Database.open(url)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="locked"):
        async with database.write() as connection:
            await connection.execute(text("DELETE FROM datasets"))
    other.execute("ROLLBACK")
    other.close()
    await database.close()


async def test_no_connection_that_comes_free_is_a_typed_error(url: str) -> None:
    await (await Database.open(url)).close()
    engine = create_async_engine(url, pool_size=1, max_overflow=0, pool_timeout=0.01)
    database = Database(engine, writing=engine)
    async with database.read():
        with pytest.raises(StoreUnavailable, match="no connection"):
            await database.first(select(tables.datasets))
    await database.close()


@pytest.mark.parametrize("urls", ["postgresql"], indirect=True)
@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_others_work_in_the_way_is_a_typed_error(urls: Urls, state: str) -> None:
    database = await Database.open(urls.database)
    with pytest.raises(StoreUnavailable, match="in the way"):
        async with database.write() as connection:
            raised = f"DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '{state}'; END $$"
            await connection.execute(text(raised))
    await database.close()


async def test_a_busy_writer_does_not_keep_others_out(url: str) -> None:
    busy, other = await Database.open(url), await Database.open(url)  # as two processes have one each
    touch = text("DELETE FROM datasets")

    async def write_on() -> None:
        while True:
            async with busy.write() as connection:
                await connection.execute(touch)

    writers = [asyncio.create_task(write_on()) for _ in range(4)]
    for _ in range(50):
        async with other.write() as connection:
            await connection.execute(touch)
    for writer in writers:
        writer.cancel()
    await asyncio.wait(writers)
    await busy.close()
    await other.close()


async def test_readers_do_not_wait_for_a_writer(url: str) -> None:
    database = await Database.open(url)
    async with database.write() as writing:
        row = {"name": "a", "version": 1, "kind": "sft", "recipe": "{}", "created_at_s": 0.0}
        await writing.execute(tables.datasets.insert(), row)
        async with database.read() as reading:
            assert await reading.scalar(text("SELECT count(*) FROM datasets")) == 0
    async with database.read() as reading:
        assert await reading.scalar(text("SELECT count(*) FROM datasets")) == 1
    await database.close()


async def test_work_cancelled_twice_leaves_nothing_behind(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deskhand_flywheel.database.BUSY_TIMEOUT_S", 10.0)
    database = await Database.open(url)

    async def work() -> None:
        async with database.write() as connection:
            await connection.execute(text("SELECT 1"))

    before = asyncio.all_tasks()
    gc.disable()  # it would give back the lock of a connection that was closed in its transaction
    try:
        for first, second in itertools.product(range(60), range(5)):
            task = asyncio.create_task(work())
            for pause in (first, second):
                await asyncio.sleep(pause * 5e-5)
                task.cancel()
            await asyncio.wait([task])
            await work()  # raises where the lock was left behind
    finally:
        gc.enable()
    await database.close()
    async with asyncio.timeout(60):
        while asyncio.all_tasks() - before:
            await asyncio.sleep(0.01)
