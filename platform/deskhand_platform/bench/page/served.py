"""`deskhand serve` over a store of many trajectories, as a process of its own."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from deskhand_flywheel.store import Store
from deskhand_platform.auth import TOKEN_FILE
from deskhand_platform.bench.flywheel.episodes import end_of, screens, start_of, step_of
from deskhand_platform.bench.flywheel.lists import fill
from deskhand_platform.errors import ChildFailed
from deskhand_platform.lock import serving

LONG = f"{0xF << 124:032x}"
"""Id of the long trajectory: the newest."""
START_S = 120.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A platform that answers."""

    url: str
    token: str


@contextmanager
def served(home: Path, *, trajectories: int, steps: int) -> Generator[Served]:
    """Fill a home's store, and serve it for the length of the block.

    Args:
        steps: of the one long trajectory.

    Raises:
        ChildFailed: the platform does not come up; says where its log is.
    """
    asyncio.run(_write(home, trajectories, steps))
    environment = {**os.environ, "DESKHAND_HOME": str(home), "DESKHAND_SANDBOX__KINDS": '["fake"]'}
    command = [sys.executable, "-m", "deskhand_platform.cli.app", "serve", "--port", "0"]
    with (home / "serve.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        yield Served(url=_url(home, process), token=(home / TOKEN_FILE).read_text().strip())
    finally:
        process.terminate()
        process.wait(60)


async def _write(home: Path, trajectories: int, steps: int) -> None:
    async with await Store.open(
        f"sqlite+aiosqlite:///{home / 'deskhand.db'}", f"file://{home / 'blobs'}"
    ) as store:
        await fill(store, trajectories, 1)
        draw = random.Random(0)
        await store.begin(start_of(LONG, draw))
        for index, screen in enumerate(islice(screens(0), steps)):
            await store.step(LONG, step_of(index, screen, draw))
        await store.end(LONG, end_of(success=True))


def _url(home: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        found = serving(home)
        if found is not None and found.url is not None:
            return found.url
        time.sleep(0.05)
    raise ChildFailed(f"the platform to be measured did not come up: see {home / 'serve.log'}")
