"""Stores in temporary folders, and episodes to put into them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from pathlib import Path

import psycopg
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flywheel_episodes import Urls

from deskhand_flywheel.store import Store
from deskhand_flywheel.temporary_postgresql import postgresql_server


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module that names `DATABASES` has its tests run on each."""
    databases = getattr(metafunc.module, "DATABASES", ())
    if databases and "urls" in metafunc.fixturenames:
        metafunc.parametrize("urls", databases, indirect=True)


_databases = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Generator[Path]:
    with postgresql_server() as folder:
        yield folder


@pytest.fixture
def urls(tmp_path: Path, request: pytest.FixtureRequest) -> Urls:
    """SQLite, or what the parameter says."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return Urls(folder=tmp_path / "home")
    host: Path = request.getfixturevalue("postgresql")
    name = f"store_{next(_databases)}"
    with psycopg.connect(host=str(host), user="deskhand", dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # pyright: ignore
    return Urls(folder=tmp_path / "home", postgresql=f"postgresql+psycopg://deskhand@/{name}?host={host}")


@pytest.fixture
async def store(urls: Urls) -> AsyncGenerator[Store]:
    async with await Store.open(urls.database, urls.blobs) as opened:
        yield opened


@pytest.fixture
def new_id() -> Callable[[], str]:
    """Ids that sort by when they were asked for."""
    numbers = itertools.count()
    return lambda: f"{next(numbers):032x}"
