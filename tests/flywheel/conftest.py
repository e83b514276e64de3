"""Stores in temporary folders, and episodes to put into them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from flywheel_episodes import Urls

from deskhand_flywheel.store import Store


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module that names `DATABASES` has its tests run on each."""
    databases = getattr(metafunc.module, "DATABASES", ())
    if databases and "urls" in metafunc.fixturenames:
        metafunc.parametrize("urls", databases, indirect=True)


@pytest.fixture
def urls(tmp_path: Path, request: pytest.FixtureRequest) -> Urls:
    """SQLite, or what the parameter says: "postgresql", or "empty postgresql" without tables."""
    asked = getattr(request, "param", "sqlite")
    if asked == "sqlite":
        return Urls(folder=tmp_path / "home")
    made = request.getfixturevalue("postgresql")(tables=asked != "empty postgresql")
    return Urls(folder=tmp_path / "home", postgresql=made)


@pytest.fixture
async def store(urls: Urls) -> AsyncGenerator[Store]:
    async with await Store.open(urls.database, urls.blobs) as opened:
        yield opened


@pytest.fixture
def new_id() -> Callable[[], str]:
    """Ids that sort by when they were asked for."""
    numbers = itertools.count()
    return lambda: f"{next(numbers):032x}"
