"""Platforms whose runs count instead of training, and need no sandboxes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from deskhand_platform import serving
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.supervisor import Supervisor

PROGRAMS = Path(__file__).parents[1] / "programs"


@asynccontextmanager
async def no_host() -> AsyncGenerator[SimpleNamespace]:
    yield SimpleNamespace(url="http://127.0.0.1:9", token="nobody's", pid=os.getpid())


async def no_worker(_: Supervisor) -> str:
    await asyncio.Event().wait()
    return ""


@pytest.fixture
def counting(tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a platform without the processes that rounds have no part in, unless it is given a sandbox host."""
    monkeypatch.setattr(serving, "sandbox_host", lambda _: no_host)
    monkeypatch.setattr(Supervisor, "_worker", no_worker)
    monkeypatch.setenv("PYTHONPATH", f"{PROGRAMS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("COUNTING_STEPS", "5")
    rounds = {"run_module": "counting_run", "stop_grace_s": 5.0}
    sandbox = {"kinds": ("fake", "browser")}
    home = tmp_path / "home"
    return load_settings(
        home=home, port=0, rounds=rounds, sandbox=sandbox, database=database, near_frames=0.01
    )


async def until(holds: Callable[[], Awaitable[object]], limit_s: float = 240.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(limit_s):
        while not await holds():
            await asyncio.sleep(0.05)


@pytest.fixture(name="until")
def _until() -> object:
    return until
