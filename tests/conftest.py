"""For every test: signals as at a terminal, no stopwatch, PostgreSQL databases, and a model's API to ask."""

from __future__ import annotations

import asyncio
import functools
import gc
import itertools
import json
import signal
import socket
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiosqlite
import httpx
import httpx._transports.default as httpx_transports
import hypothesis
import pytest
import uvicorn
from sqlalchemy import Connection, create_engine
from sqlalchemy.util import await_only
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deskhand_flywheel import database

if TYPE_CHECKING:
    import psycopg


def pytest_configure() -> None:
    """Undo what nohup or a background job had ignored: programs that tests start would inherit it. And let no
    example fail for the time it takes. The garbage collector has its turn once all is imported."""
    gc.disable()
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from all that was imported: it would look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the files that serve a whole platform to a browser among the others: each of them starts a dozen
    processes, and side by side they would wait for each other."""
    files = [list(tests) for _, tests in itertools.groupby(items, lambda item: item.path)]
    served = [tests for tests in files if "e2e" in tests[0].path.parts]
    spread = [tests for tests in files if "e2e" not in tests[0].path.parts]
    count = len(spread)
    for place, tests in enumerate(reversed(served), 1):
        spread.insert(count - place * count // (len(served) + 1), tests)
    items[:] = itertools.chain.from_iterable(spread)


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that only this test and its programs have their temporary files in."""
    # a short name: sockets below it have little room for theirs
    with tempfile.TemporaryDirectory(prefix="t-", ignore_cleanup_errors=True) as name:
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture
async def simulated_time(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Time passes only where everything waits for it, and there at once, and a microsecond whenever somebody
    looks: nothing is late because the machine is slow, and no wait takes any time. Not for tests that wait
    for sockets, databases or other processes."""
    loop: Any = asyncio.get_running_loop()
    now_s, select, run_in_executor = 0.0, loop._selector.select, loop.run_in_executor
    threads: set[asyncio.Future[Any]] = set()

    def passing(timeout: float | None = None) -> list[Any]:
        nonlocal now_s
        # what a thread comes to is waited for in truth
        ready = select(None if threads and timeout else timeout and 0)
        if not ready and timeout:
            now_s += timeout
        return ready

    def looked() -> float:
        nonlocal now_s
        now_s += 1e-6
        return now_s

    def counted(*work: Any) -> asyncio.Future[Any]:
        done = run_in_executor(*work)
        threads.add(done)
        done.add_done_callback(threads.discard)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", looked)
        patch.setattr(loop._selector, "select", passing)
        patch.setattr(loop, "run_in_executor", counted)
        yield


@pytest.fixture(scope="session", autouse=True)
def _authorities() -> Iterator[None]:
    """The certificates of all authorities are read once, not for every client of HTTP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx_transports, "create_ssl_context", functools.cache(httpx.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _tables() -> Iterator[None]:
    """The session's first SQLite database gets its tables by the revisions, later ones by what they came to:
    a hundred statements in place of all that Alembic does. Programs that tests start know nothing of it."""
    upgrade = database.upgrade
    made: list[tuple[str, tuple[object, ...]]] = []

    def fill(database: sqlite3.Connection) -> None:
        for statement, row in made:
            database.execute(statement, row)

    def copied(connection: Connection) -> None:
        run = connection.exec_driver_sql
        if connection.dialect.name != "sqlite" or run("SELECT 1 FROM sqlite_master").first():
            upgrade(connection)
            return
        if made:
            driver = connection.connection.driver_connection
            assert isinstance(driver, aiosqlite.Connection)
            # in its thread all at once: a hundred times there and back takes longer than most tests
            await_only(driver._execute(functools.partial(fill, driver._conn)))
            return
        upgrade(connection)
        shadows = "SELECT name FROM pragma_table_list WHERE type = 'shadow'"
        own = f"name NOT LIKE 'sqlite_%' AND name NOT IN ({shadows})"
        schema = f"SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND {own} ORDER BY rowid"
        made.extend((sql, ()) for (sql,) in run(schema))
        tables = run(f"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ({shadows})")
        for name in tables.scalars().all():
            for row in run(f"SELECT * FROM {name}"):
                made.append((f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", tuple(row)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "upgrade", copied)
        yield


class PostgresqlServer:
    """A PostgreSQL server of the session's own. Its databases get their tables by the revisions once, and by
    copying what those came to from then on."""

    def __init__(self, host: Path, admin: psycopg.Connection) -> None:
        self._host, self._admin = host, admin
        self._numbers = itertools.count()
        self._with_tables: str | None = None

    def make(self, *, tables: bool) -> str:
        """The name of a new database, empty or with tables."""
        if tables and self._with_tables is None:
            name = self.make(tables=False)
            engine = create_engine(self.url(name))
            with engine.begin() as connection:
                database.upgrade(connection)
            engine.dispose()
            self._with_tables = name
        name = f"store_{next(self._numbers)}"
        template = f" TEMPLATE {self._with_tables}" if tables else ""
        self._admin.execute(f"CREATE DATABASE {name}{template}")  # pyright: ignore
        return name

    def drop(self, name: str) -> None:
        """Every database is three hundred files: left to the end, they take the longest to remove."""
        self._admin.execute(f"DROP DATABASE {name} WITH (FORCE)")  # pyright: ignore

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://deskhand@/{name}?host={self._host}"


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgresqlServer]:
    # not above: most tests have no need of it
    import psycopg

    from deskhand_flywheel import temporary_postgresql

    with (
        temporary_postgresql.postgresql_server() as host,
        psycopg.connect(host=str(host), user="deskhand", dbname="postgres", autocommit=True) as admin,
    ):
        yield PostgresqlServer(host, admin)


@pytest.fixture
def postgresql(postgresql_server: PostgresqlServer) -> Iterator[Callable[..., str]]:
    """Makes a database in a PostgreSQL server, with its tables unless told otherwise, and gives its URL."""
    made: list[str] = []

    def make(*, tables: bool = True) -> str:
        made.append(postgresql_server.make(tables=tables))
        return postgresql_server.url(made[-1])

    yield make
    for name in made:
        postgresql_server.drop(name)


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small model in the place of the one that comes with the package."""
    # not above: most tests have no need of torch
    from deskhand_agent import shipped
    from deskhand_agent.checksums import write_sums
    from deskhand_agent.models.bundle import build_tiny, save_bundle
    from deskhand_agent.models.tiny import TinyConfig

    folder = tmp_path / "package"
    save_bundle(build_tiny(TinyConfig(vision_depth=1, text_depth=1)), folder)
    write_sums(folder)
    monkeypatch.setattr(shipped, "FOLDER", folder)
    return folder


class Endpoint:
    """A model's API: answers with its queue first, then always `reply`; keeps what it was sent."""

    def __init__(self) -> None:
        self.queue: list[Response | Callable[[], Awaitable[Response]]] = []
        self.sent: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""
        self.reply: Callable[[], Response] = Response
        self.complaint: Callable[[dict[str, Any]], str | None] = lambda body: None
        """What is wrong with a request by the rules of the API, which is then refused; None: nothing."""

    async def post(self, request: Request) -> Response:
        self.sent.append(json.loads(await request.body()))
        self.paths.append(request.url.path)
        self.headers.append(dict(request.headers))
        self.keys.append(request.headers.get("authorization"))
        if (wrong := self.complaint(self.sent[-1])) is not None:
            return JSONResponse({"error": {"message": wrong}}, status_code=400)
        if not self.queue:
            return self.reply()
        answer = self.queue.pop(0)
        return answer if isinstance(answer, Response) else await answer()


@pytest.fixture
async def endpoint(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Endpoint]:
    """Who is to ask again does so soon."""
    monkeypatch.setattr("deskhand_agent.apis.client.FIRST_PAUSE_S", 0.01)
    endpoint = Endpoint()
    app = Starlette(routes=[Route("/v1/{path:path}", endpoint.post, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        endpoint.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.005)
        yield endpoint
        server.should_exit = True
        await serving
