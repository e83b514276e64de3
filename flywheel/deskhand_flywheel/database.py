"""The database: one async engine, its transactions, and its migrations.

SQLite (in WAL mode) or PostgreSQL, by URL. A write transaction takes SQLite's write lock at its start: one
that begins by reading would fail at once, whatever the busy timeout, when somebody else writes in between.
There is no queue behind that lock: whoever finds it taken sleeps and asks again. So writers of one process
take turns before they ask, and ask often, lest a busy process keeps the others out.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, RowMapping, Select, event, text
from sqlalchemy.connectors.asyncio import AsyncAdapt_terminate
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.engine.url import URL, make_url
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InvalidRequestError,
    OperationalError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry
from sqlalchemy.util.concurrency import in_greenlet

from deskhand_flywheel.errors import (
    CorruptStore,
    InvalidQuery,
    StorageFull,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)

BUSY_TIMEOUT_S = 30.0
"""How long a writer waits for another process's transaction before `StoreUnavailable`."""

CONNECTIONS = 16
"""Of one process to SQLite that are kept open, and as many more for a while: each has a thread, and to open
one for every request costs more than the request."""

_MIGRATION_LOCK = 0x6465736B
"""Key of the advisory lock that keeps two processes from migrating one PostgreSQL database at once."""
_ALONE = "deskhand_alone"
_ASKS_S = 0.005
"""How long SQLite itself sleeps for the write lock; left to it, it soon asks ten times a second only."""


_OTHERS_IN_THE_WAY = frozenset({"40001", "40P01"})
"""SQLSTATEs of a transaction that PostgreSQL gave up for another's sake: serialisation and deadlock."""
_AT_ONCE = 200
Item = TypeVar("Item")


class Database:
    """An engine with the newest tables, as `Database.open` gives it.

    Shared by everything in this process that keeps tables of its own in the same database.
    """

    def __init__(self, engine: AsyncEngine, *, writing: AsyncEngine) -> None:
        """Args: writing: for write transactions; PostgreSQL has one engine for all."""
        self.engine = engine
        self._alone = engine.execution_options(**{_ALONE: True})
        self._writing = writing
        self._turn = asyncio.Lock() if self.is_sqlite else None

    @classmethod
    async def open(cls, url: str) -> Database:
        """Connect, and bring the tables to the newest revision; safe from several processes at once.

        Args:
            url: SQLAlchemy URL with an async driver, e.g. "sqlite+aiosqlite:////home/me/deskhand.db".

        Raises:
            StoreUnavailable: the URL is wrong, the folder cannot be made, or nobody answers there.
            StoreTooNew: the database was written by a newer Deskhand.
            CorruptStore: the file is no database.
            StorageFull: no space for the tables.
        """
        engine, writing = _create_engines(url)
        database = cls(engine, writing=writing)
        try:
            if database.is_sqlite:
                await asyncio.to_thread(_try_file, engine.url.database or "")
            await database._migrate()
        except BaseException:
            await database.close()
            raise
        return database

    @asynccontextmanager
    async def read(self) -> AsyncGenerator[AsyncConnection]:
        """A consistent view of the database; does not wait for writers."""
        with storage_errors():
            async with self.engine.connect() as connection:
                yield connection

    async def first(
        self, query: Select[*tuple[Any, ...]], parameters: Mapping[str, Any] | None = None
    ) -> RowMapping | None:
        """The first row that a query finds, None where it finds none.

        A single query is consistent by itself: in SQLite it goes without a transaction, which costs as much.
        """
        with storage_errors():
            async with self._alone.connect() as connection:
                return (await connection.execute(query, parameters)).mappings().first()

    @asynccontextmanager
    async def write(self) -> AsyncGenerator[AsyncConnection]:
        """A write transaction, committed at the block's end and rolled back if it raises.

        Raises:
            StoreUnavailable: others kept the database locked for `BUSY_TIMEOUT_S`.
            StorageFull: no space is left.
        """
        async with self._our_turn():
            with storage_errors():
                async with self._writing.begin() as connection:
                    yield connection

    @asynccontextmanager
    async def _our_turn(self) -> AsyncGenerator[None]:
        if self._turn is None:
            yield
            return
        try:
            async with asyncio.timeout(BUSY_TIMEOUT_S):
                await self._turn.acquire()
        except TimeoutError as error:
            raise _kept_locked() from error
        try:
            yield
        finally:
            self._turn.release()

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        await self.engine.dispose()
        await self._writing.dispose()

    async def _migrate(self) -> None:
        async with self.read() as connection:
            newest = await connection.run_sync(_is_newest)
        if newest:
            return
        async with self.write() as connection:
            if not self.is_sqlite:
                await connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
            await connection.run_sync(upgrade)


def in_chunks(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Few enough at a time for one query: below every database's limit on parameters."""
    return (items[begin : begin + _AT_ONCE] for begin in range(0, len(items), _AT_ONCE))


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's settings for the packaged migrations."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def storage_errors() -> Generator[None]:
    """Turns the database driver's errors into this package's; integrity errors pass unchanged.

    Raises:
        InvalidQuery: a value is none that the database can hold: a number beyond 64 bits, in PostgreSQL also
            a text with a NUL.
        StoreUnavailable: it does not answer, no connection came free, or others' work was in the way.
    """
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(
            "no connection to the database came free: more is asked at once than it can do; try again"
        ) from error
    except OverflowError as error:
        raise InvalidQuery("a number is larger than the database can hold") from error
    except IntegrityError:  # PostgreSQL quotes the values, which may say anything
        raise
    except DBAPIError as error:
        if isinstance(error, DataError):
            raise InvalidQuery(f"a value is none that the database can hold: {error.orig}") from error
        named = _named(error)
        if named is None:
            raise
        raise named from error


def _named(error: DBAPIError) -> StoreError | None:
    said = str(error.orig)
    if getattr(error.orig, "sqlstate", None) in _OTHERS_IN_THE_WAY:
        return StoreUnavailable(f"others' work in the database was in the way ({said}); try again")
    named = _said(said)
    if named is None and error.connection_invalidated:
        return StoreUnavailable(f"the database does not answer ({said})")
    return named


def _said(said: str) -> StoreError | None:
    low = said.lower()
    if "disk is full" in low or "no space left" in low:
        return StorageFull("the disk is full: the database could not grow; free some space and start again")
    if "locked" in low or "busy" in low:
        return _kept_locked()
    # a value's, not the file's
    if ("malformed" in low and low != "malformed json") or "not a database" in low:
        return CorruptStore(f"the database file is damaged or is no database ({said}); restore a copy of it")
    if "unable to open" in low or "readonly" in low or "disk i/o" in low:
        return StoreUnavailable(
            f"the database cannot be opened or written ({said}); check its path and owner"
        )
    if "connect" in low:
        return StoreUnavailable(f"the database does not answer ({said})")
    return None


def _kept_locked() -> StoreUnavailable:
    return StoreUnavailable(
        f"the database was kept locked for {BUSY_TIMEOUT_S:.0f} s; see what else has it open, then try again"
    )


def _create_engines(url: str) -> tuple[AsyncEngine, AsyncEngine]:
    """For reading and for writing."""
    try:
        parsed = make_url(url)
        _make_folder(parsed)
        if parsed.get_backend_name() != "sqlite":
            engine = create_async_engine(parsed, pool_pre_ping=True)
            return engine, engine
        wait = {"timeout": BUSY_TIMEOUT_S}
        reading = create_async_engine(
            parsed, connect_args=wait, pool_size=CONNECTIONS, max_overflow=CONNECTIONS
        )
        # they take turns: one connection is enough
        writing = create_async_engine(parsed, connect_args=wait, pool_size=1)
    except (ArgumentError, InvalidRequestError, ImportError, ValueError) as error:
        raise StoreUnavailable(
            f"{url!r} is no usable database URL ({error}); for a file it looks like "
            "sqlite+aiosqlite:////folder/deskhand.db"
        ) from error
    for engine, waits_s, begin in (
        (reading, BUSY_TIMEOUT_S, _begin_reading),
        (writing, _ASKS_S, _begin_writing),
    ):
        engine.dialect.do_terminate = _close_cancelled
        event.listen(engine.sync_engine, "connect", partial(_prepare_sqlite, waits_s=waits_s))
        event.listen(engine.sync_engine, "begin", begin)
    return reading, writing


def _make_folder(url: URL) -> None:
    if url.get_backend_name() != "sqlite":
        return
    if not url.database or url.database == ":memory:":
        raise StoreUnavailable("a store outlives its process: name a file, not SQLite's memory")
    folder = Path(url.database).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"the database's folder {folder} cannot be made: {error.strerror}") from error


def _try_file(path: str) -> None:
    """Open and read the file once, plainly.

    aiosqlite leaves the thread of a connection that could not be opened to end by itself, possibly after the
    event loop; so what cannot be opened is found out before.
    """
    try:
        with closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.Error as error:
        raise _said(str(error)) or StoreUnavailable(f"the database cannot be opened ({error})") from error


def _close_cancelled(dbapi_connection: DBAPIConnection) -> None:
    """End the connection of work that was cancelled.

    On a second cancellation SQLAlchemy's own way ends the connection's thread while aiosqlite's close, which
    it had begun, waits for that thread for ever. A plain close ends well however often it is cancelled. The
    rollback comes first because SQLite keeps a closed connection's transaction, and its lock with it, while
    a cursor is left: here until the garbage collector comes by.
    """
    if in_greenlet():
        try:
            dbapi_connection.rollback()
        finally:
            dbapi_connection.close()
    else:  # the garbage collector found it: nobody to wait
        cast("AsyncAdapt_terminate", dbapi_connection).terminate()


def _prepare_sqlite(connection: DBAPIConnection, _record: ConnectionPoolEntry, *, waits_s: float) -> None:
    # transactions are begun by `_begin_reading` and `_begin_writing` alone
    connection.isolation_level = None
    try:
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            f"busy_timeout={int(waits_s * 1000)}",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()
    except BaseException:
        # the pool does not know the connection yet: nobody else would end its thread
        connection.close()
        raise


def _begin_reading(connection: Connection) -> None:
    if not connection.get_execution_options().get(_ALONE, False):
        connection.exec_driver_sql("BEGIN")


def _begin_writing(connection: Connection) -> None:
    until = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            return
        except OperationalError as error:
            if not isinstance(_named(error), StoreUnavailable) or time.monotonic() >= until:
                raise


def _is_newest(connection: Connection) -> bool:
    head, known = _revisions()
    current = MigrationContext.configure(connection).get_current_revision()
    if current is not None and current not in known:
        raise StoreTooNew(
            f"the database is at revision {current}, which this Deskhand does not know: "
            "a newer Deskhand wrote it; update this one"
        )
    return current == head


@cache
def _revisions() -> tuple[str | None, frozenset[str]]:
    """The newest revision and all that there are; the package's files stay as they are while it runs."""
    scripts = ScriptDirectory.from_config(alembic_config())
    return scripts.get_current_head(), frozenset(script.revision for script in scripts.walk_revisions())


def upgrade(connection: Connection) -> None:
    """Run the revisions that a database has not had, in the transaction under way."""
    command.upgrade(alembic_config(connection), "head")
