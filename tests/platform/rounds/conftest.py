"""Platforms whose runs count instead of training."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from deskhand_platform.settings import Settings, load_settings

PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.fixture
def counting(tmp_path: Path, database: str | None, monkeypatch: pytest.MonkeyPatch) -> Settings:
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
