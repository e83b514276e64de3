"""A store with an episode in it, and an application over it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from PIL import Image as Picture

from deskhand_agent.ids import new_id
from deskhand_agent.types import Decision, Step, StepTimings, StopReason, TrajectoryEnd, TrajectoryStart
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.store import Store
from deskhand_platform import background
from deskhand_platform.accounts import passwords
from deskhand_platform.accounts.access import Role
from deskhand_platform.accounts.opening import Accounts, FirstAdmin, open_accounts
from deskhand_platform.api.app import create_app
from deskhand_platform.bench.api.standing import RoundsUnbegun
from deskhand_platform.rounds.book import RoundBook
from deskhand_platform.rounds.controls import RoundControls
from deskhand_platform.services import HostState, Services
from deskhand_platform.serving import address_of, listen, serve_api, services_over
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


class HostUp:
    host_state: HostState = "up"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module that names `DATABASES` has its tests run on each."""
    databases = getattr(metafunc.module, "DATABASES", ())
    if databases and "database" in metafunc.fixturenames:
        metafunc.parametrize("database", databases, indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str | None:
    """The setting of that name: SQLite in the home folder, or what the parameter says."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return None
    return request.getfixturevalue("postgresql")()


@pytest.fixture
def settings(tmp_path: Path, database: str | None) -> Settings:
    return load_settings(home=tmp_path / "home", port=0, database=database)


@pytest.fixture
async def store(settings: Settings) -> AsyncIterator[Store]:
    async with await Store.open(settings.db_url, settings.blobs_url) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _quick_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "WORK", 2)


@pytest.fixture
async def opened(settings: Settings, store: Store) -> tuple[Accounts, FirstAdmin]:
    accounts, first = await open_accounts(store.database, settings)
    assert first is not None
    return accounts, first


@pytest.fixture
def accounts(opened: tuple[Accounts, FirstAdmin]) -> Accounts:
    return opened[0]


@pytest.fixture
def token(opened: tuple[Accounts, FirstAdmin]) -> str:
    assert opened[1].token is not None
    return opened[1].token


@pytest.fixture
def person(accounts: Accounts) -> Callable[..., Awaitable[str]]:
    """Opens an account and says its token."""

    async def add(name: str, role: Role = Role.ANNOTATOR) -> str:
        await accounts.users.add(name, role)
        return (await accounts.tokens.create(name, "test"))[1]

    return add


@pytest.fixture
def services(settings: Settings, store: Store, accounts: Accounts) -> Services:
    book = RoundBook(store.database)
    rounds = RoundsUnbegun(book, RoundControls(store.database))
    return services_over(settings, store, accounts, rounds=rounds, hosting=HostUp())


@functools.cache
def _prepared() -> FastAPI:
    app = create_app()
    app.openapi()
    return app


def app_over(services: Services) -> FastAPI:
    """What `create_app` makes, with the routes and the description of one made before: on its own every app
    makes them at its first request and its first refusal."""
    app = create_app(services)
    app.router.routes[:] = _prepared().router.routes
    app.openapi_schema = _prepared().openapi_schema
    return app


@pytest.fixture(scope="session", autouse=True)
def _begun_once() -> Iterator[None]:
    """Nor do platforms that tests serve make their own, or look through all that was imported, as the session
    has done."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deskhand_platform.serving.create_app", app_over)
        patch.setattr("deskhand_platform.serving._settled", contextlib.nullcontext)
        yield


@pytest.fixture
async def url(services: Services) -> AsyncIterator[str]:
    """Where they are served."""
    listener = listen("127.0.0.1", 0)
    async with serve_api(services, listener):
        yield address_of(listener)


@pytest.fixture
async def anonymous(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app_over(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
async def client(anonymous: httpx.AsyncClient, token: str) -> httpx.AsyncClient:
    anonymous.headers["Authorization"] = f"Bearer {token}"
    return anonymous


@pytest.fixture(name="record_episode")
def _record_episode() -> Any:
    return record_episode


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what works in the background, after what nobody foresaw."""
    monkeypatch.setattr(background, "ODD_S", 0.01)


@pytest.fixture(name="odd_once")
def _odd_once(short_pauses: None) -> Callable[[Any], Any]:
    """Of what looks again and again, a kind whose first look fails as nobody foresaw."""

    def odd_once(kind: Any) -> Any:
        class Odd(kind):
            looks, looked = 0, asyncio.Event()

            async def look(self) -> None:
                self.looks += 1
                if self.looks == 1:
                    raise RuntimeError("odd")
                self.looked.set()

        return Odd

    return odd_once
