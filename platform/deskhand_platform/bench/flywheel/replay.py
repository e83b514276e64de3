"""From asking for a long trajectory to its first frame, through the platform's API, as the page does."""

from __future__ import annotations

import random
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from deskhand_flywheel.store import Store
from deskhand_platform.accounts.opening import open_accounts
from deskhand_platform.api.app import create_app
from deskhand_platform.auth import OWNER
from deskhand_platform.bench.flywheel.durable import COMMAND
from deskhand_platform.bench.flywheel.episodes import end_of, screens, start_of, step_of
from deskhand_platform.bench.sandbox.samples import quantile
from deskhand_platform.serving import services_over
from deskhand_platform.settings import load_settings
from deskhand_trainer.results import Figure

STEPS_A_PAGE = 50
"""As the page asks for them."""
LONG, SHORT = f"{1:032x}", f"{2:032x}"


async def bench_replay(*, steps: int, repeats: int) -> list[Figure]:
    """Measure; every time by a store just opened, which has shown one other episode."""
    with tempfile.TemporaryDirectory(prefix="deskhand-bench-") as name:
        folder = Path(name)
        urls = f"sqlite+aiosqlite:///{folder}/store.db", f"file://{folder}/blobs"
        async with await Store.open(*urls) as store:
            for trajectory_id, length in ((LONG, steps), (SHORT, 1)):
                draw = random.Random(trajectory_id)
                await store.begin(start_of(trajectory_id, draw))
                for index, image in enumerate(islice(screens(trajectory_id), length)):
                    await store.step(trajectory_id, step_of(index, image, draw))
                await store.end(trajectory_id, end_of(success=True))
        samples = [await _open(folder, urls, steps) for _ in range(repeats)]
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
    async with await Store.open(*urls) as store, await _client(store, folder / "home") as client:
        # the application makes its routes ready at their first request
        await _first_frame(client, SHORT, 1)
        began = time.perf_counter()
        await _first_frame(client, LONG, steps)
        return (time.perf_counter() - began) * 1e3


async def _first_frame(client: httpx.AsyncClient, trajectory_id: str, steps: int) -> None:
    head = (await _ask(client, f"/v1/trajectories/{trajectory_id}")).json()
    shown = (await _ask(client, f"/v1/trajectories/{trajectory_id}/steps?limit={STEPS_A_PAGE}")).json()
    picture = await _ask(client, shown["items"][0]["image"]["url"])
    assert (head["turns"], shown["total"]) == (steps, steps) and picture.content


async def _ask(client: httpx.AsyncClient, path: str) -> httpx.Response:
    return (await client.get(path)).raise_for_status()


async def _client(store: Store, home: Path) -> httpx.AsyncClient:
    settings = load_settings(home=home)
    accounts, _ = await open_accounts(store.database, settings)
    # none of what is asked for needs rounds or a sandbox host
    none: Any = None
    app = create_app(services_over(settings, store, accounts, rounds=none, hosting=none))
    cookies = {accounts.cookie: await accounts.sessions.begin(OWNER)}
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://localhost", cookies=cookies)
