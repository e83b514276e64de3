"""A store with an episode in it, and an application over it."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image as Picture

from deskhand_agent.ids import new_id
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.store import Store
from deskhand_platform.annotators import Annotators
from deskhand_platform.api.app import create_app
from deskhand_platform.auth import open_gate
from deskhand_platform.live import LiveSandboxes
from deskhand_platform.proposals import Proposals
from deskhand_platform.queue import TaskQueue
from deskhand_platform.rounds.book import RoundBook, RoundRecord
from deskhand_platform.rounds.presets import checked_preset
from deskhand_platform.services import Services
from deskhand_platform.settings import Settings, load_settings
from deskhand_sandbox.types import (
    Click,
    EnvironmentSpec,
    Image,
    Observation,
    Outcome,
    Split,
    Task,
    TypeText,
    VerifierSpec,
)

TASK = Task(
    id="fake/door",
    environment=EnvironmentSpec(kind="fake"),
    verifier=VerifierSpec(name="fake"),
    instruction="Open the door",
    seed=3,
)


def picture(shade: int) -> Image:
    buffer = io.BytesIO()
    Picture.new("RGB", (40, 30), (shade, shade, shade)).save(buffer, "PNG")
    data = buffer.getvalue()
    return Image(digest=digest_of(data), format="png", width_px=40, height_px=30, data=data)


def seen(shade: int) -> Observation:
    return Observation(screenshot=picture(shade), captured_at_s=time.time(), settled_ms=3.0)


async def record_episode(store: Store, *, task: Task = TASK, success: bool = True, **labels: str) -> str:
    """Two turns: a click and some typing."""
    start = TrajectoryStart(
        id=new_id(),
        task=task,
        instruction=task.instruction,
        policy_id="scripted",
        policy_update=0,
        group_id=None,
        split=Split.TRAIN,
        started_at_s=time.time(),
        labels=labels,
    )
    await store.begin(start)
    decisions = [
        Decision(actions=(Click(x=7, y=9),), text="click", thought="the handle"),
        Decision(actions=(TypeText(text="hi"),), text="type"),
    ]
    for index, decision in enumerate(decisions):
        timings = StepTimings(model_ms=1.0, act_ms=2.0, settle_ms=1.5)
        step = Step(
            index=index,
            observation=seen(40 * index),
            decision=decision,
            reward=float(index),
            timings=timings,
            finished_at_s=time.time(),
        )
        await store.step(start.id, step)
    end = TrajectoryEnd(
        final_observation=seen(200),
        outcome=Outcome(score=float(success), success=success, detail="looked"),
        stop_reason=StopReason.TERMINATED,
        failure=None,
        ended_at_s=time.time(),
    )
    await store.end(start.id, end)
    return start.id


class BookOnly:
    """Rounds that are written down and never begin: what the API tests need of a conductor."""

    def __init__(self, book: RoundBook) -> None:
        self._book = book

    async def start(self, name: str, overrides: dict[str, Any]) -> RoundRecord:
        return await self._book.get(await self._book.create(name, checked_preset(name, overrides)))

    async def cancel(self, round_id: int) -> RoundRecord:
        await self._book.request_cancel(round_id)
        return await self._book.get(round_id)


class HostUp:
    host_state = "up"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(home=tmp_path / "home", port=0)


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    async with await Store.open(settings.db_url, settings.blobs_url) as opened:
        yield opened


@pytest.fixture
def token(settings: Settings) -> str:
    made = open_gate(settings.home)[1]
    assert made is not None
    return made


@pytest.fixture
def services(settings: Settings, store: Store, token: str) -> Services:
    book = RoundBook(store.database)
    return Services(
        settings=settings,
        gate=open_gate(settings.home)[0],
        annotators=Annotators(store.database),
        proposals=Proposals(store),
        live=LiveSandboxes(settings.home),
        store=store,
        queue=TaskQueue(store.database),
        book=book,
        rounds=BookOnly(book),
        hosting=HostUp(),
        stopping=asyncio.Event(),
        started_at_s=time.time(),
    )


@pytest.fixture
async def anonymous(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
async def client(anonymous: httpx.AsyncClient, token: str) -> httpx.AsyncClient:
    anonymous.headers["Authorization"] = f"Bearer {token}"
    return anonymous


@pytest.fixture(name="record_episode")
def _record_episode() -> Any:
    return record_episode
