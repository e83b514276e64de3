"""A process that writes episodes until it is killed, and says each step once it is acknowledged.

python -m deskhand_platform.bench.flywheel.writing DATABASE_URL BLOBS_URL LIFE
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from itertools import count

from deskhand_flywheel.store import Store
from deskhand_platform.bench.flywheel.episodes import end_of, screens, start_of, step_of

EPISODES = 8
"""At once."""
STEPS = 12
"""Of each: so that deaths fall on beginnings and ends, too."""


async def _episode(store: Store, name: str) -> None:
    draw, shown = random.Random(name), screens(name)
    await store.begin(start_of(name, draw))
    for index in range(STEPS):
        await store.step(name, step_of(index, next(shown), draw))
        # one system call a line: what the parent reads was acknowledged
        os.write(1, f"{name} {index}\n".encode())
    await store.end(name, end_of(success=True))
    os.write(1, f"{name} end\n".encode())


async def _write(database: str, blobs: str, life: str) -> None:
    async def one_after_another(lane: int) -> None:
        for number in count():
            await _episode(store, f"{life}-{lane}-{number}")

    async with await Store.open(database, blobs) as store:
        await asyncio.gather(*(one_after_another(lane) for lane in range(EPISODES)))


if __name__ == "__main__":
    asyncio.run(_write(*sys.argv[1:4]))
