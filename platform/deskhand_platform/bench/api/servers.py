"""Servers to measure, each in a process of its own: the platform's API, and the least there can be.

    python -m deskhand_platform.bench.api.servers ours HOME
    python -m deskhand_platform.bench.api.servers bare HOME

Both serve the same home folder's database by the same uvicorn on the same kind of event loop, and print their
address and token.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop
from fastapi import FastAPI
from pydantic import BaseModel

from deskhand_agent.ids import new_id
from deskhand_flywheel.store import Store
from deskhand_platform.accounts.opening import Accounts, open_accounts
from deskhand_platform.api.app import create_app
from deskhand_platform.auth import read_token
from deskhand_platform.bench.api.standing import NoHost, RoundsUnbegun
from deskhand_platform.errors import ChildFailed
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.serving import address_of, answering, listen, services_over
from deskhand_platform.settings import Settings, load_settings
from deskhand_platform.states import WorkState
from deskhand_platform.tables import tasks

MODULE = "deskhand_platform.bench.api.servers"


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A server that is up."""

    url: str
    token: str


@contextmanager
def serving(which: str, home: Path) -> Generator[Served]:
    """A server for the length of the block.

    Raises:
        ChildFailed: it does not come up.
    """
    command = [sys.executable, "-m", MODULE, which, str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            words = process.stdout.readline().split()
            if len(words) != 2:
                raise ChildFailed(f"the {which} server does not come up")
            yield Served(url=words[0], token=words[1])
        finally:
            process.terminate()


class Plain(BaseModel):
    """What the bare server takes of the same body: the rest is ignored."""

    task_id: str
    seed: int = 0
    labels: dict[str, str] = {}  # pydantic copies it


class Kept(BaseModel):
    """What it answers."""

    id: str
    task_id: str
    seed: int


def bare(store: Store) -> FastAPI:
    """FastAPI and one SQLAlchemy insert into the same table: no token, no look at the task, no key."""
    app = FastAPI()

    @app.post("/v1/tasks", status_code=201)
    async def keep(body: Plain) -> Kept:  # pyright: ignore[reportUnusedFunction]
        row: dict[str, Any] = {
            "id": new_id(),
            "state": WorkState.QUEUED,
            "task": {"id": body.task_id, "seed": body.seed},
            "policy": {"name": "scripted", "settings": {}},
            "labels": body.labels,
            "created_at_s": time.time(),
        }
        async with store.database.write() as connection:
            await connection.execute(tasks.insert().values(row))
        return Kept(id=row["id"], task_id=body.task_id, seed=body.seed)

    return app


def ours(settings: Settings, store: Store, accounts: Accounts) -> FastAPI:
    """The whole API; nothing works behind it, so that nobody else uses the processors."""
    rounds = RoundsUnbegun(RoundBook(store.database), RoundControls(store.database))
    return create_app(services_over(settings, store, accounts, rounds=rounds, hosting=NoHost()))


async def _serve(which: str, home: Path) -> None:
    settings = load_settings(home=home)
    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        accounts, _ = await open_accounts(store.database, settings)
        app = bare(store) if which == "bare" else ours(settings, store, accounts)
        listener = listen("127.0.0.1", 0)
        async with answering(app, listener):
            print(address_of(listener), read_token(home), flush=True)
            await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1], Path(sys.argv[2])))
