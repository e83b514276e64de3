"""From asking for a long trajectory to its first frame, through the platform's API, as the page does."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import cast

import httpx

from deskhand_flywheel.store import Store
from deskhand_platform.api.app import create_app
from deskhand_platform.auth import open_gate
from deskhand_platform.bench.flywheel.durable import COMMAND
from deskhand_platform.bench.flywheel.episodes import end_of, screens, start_of, step_of
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_platform.queue import TaskQueue
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.services import Hosting, Rounds, Services
from deskhand_platform.settings import load_settings
from deskhand_trainer.results import Figure

STEPS_A_PAGE = 50
"""As the page asks for them."""
ID = f"{1:032x}"


async def bench_replay(*, steps: int, repeats: int) -> list[Figure]:
    """Measure; every time by a store just opened, which remembers nothing."""
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as name:
        folder = Path(name)
        urls = f"sqlite+aiosqlite:///{folder}/store.db", f"file://{folder}/blobs"
        async with await Store.open(*urls) as store:
            draw = random.Random(0)
            await store.begin(start_of(ID, draw))
            written = islice(screens(0), steps)
            for index, image in enumerate(written):
                await store.step(ID, step_of(index, image, draw))
            await store.end(ID, end_of(success=True))
        samples = [await _open(folder, urls, steps) for _ in range(1 + repeats)][1:]
    return [
        Figure(
            name="replay_first_frame_ms",
            value=round(quantile(samples, 0.95), 1),
            unit="ms",
            low=round(min(samples), 1),
            high=round(max(samples), 1),
            goal="<= 150",
            note=f"an episode of {steps} steps: its head, {STEPS_A_PAGE} steps and the first picture, "
            f"asked one after another; 95th percentile of {repeats}, low and high: least and most",
            command=COMMAND,
            config={"steps": steps, "repeats": repeats},
            seeds=[0],
        )
    ]


async def _open(folder: Path, urls: tuple[str, str], steps: int) -> float:
    async with await Store.open(*urls) as store:
        client = _client(store, folder / "home")
        async with client:
            began = time.perf_counter()
            head = (await _ask(client, f"/v1/trajectories/{ID}")).json()
            shown = (await _ask(client, f"/v1/trajectories/{ID}/steps?limit={STEPS_A_PAGE}")).json()
            picture = await _ask(client, shown["items"][0]["image"]["url"])
            took = (time.perf_counter() - began) * 1e3
    assert (head["turns"], shown["total"]) == (steps, steps) and picture.content
    return took


async def _ask(client: httpx.AsyncClient, path: str) -> httpx.Response:
    return (await client.get(path)).raise_for_status()


def _client(store: Store, home: Path) -> httpx.AsyncClient:
    home.mkdir(exist_ok=True)
    gate, _ = open_gate(home)
    app = create_app(
        Services(
            settings=load_settings(home=home),
            gate=gate,
            store=store,
            queue=TaskQueue(store.database),
            book=RoundBook(store.database),
            # none of what is asked for needs them
            rounds=cast(Rounds, None),
            hosting=cast(Hosting, None),
            stopping=asyncio.Event(),
            started_at_s=time.time(),
        )
    )
    cookies = {gate.cookie: gate.session}
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies)
