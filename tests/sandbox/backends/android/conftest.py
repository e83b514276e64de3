import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.android import AndroidBackend, AndroidSandbox, create
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def backend() -> AsyncIterator[AndroidBackend]:
    """Simulators behind the real adb, all of a module's with one adb server and one Chromium."""
    backend = create()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox(backend: AndroidBackend) -> AsyncIterator[AndroidSandbox]:
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, AndroidSandbox)
        yield sandbox


@pytest.fixture
def phone() -> Callable[..., Task]:
    """A task on a phone; settings are added. It waits longer than usual for a still screen: machines are
    busy."""

    def make(**settings: JsonValue) -> Task:
        return Task(
            id="phone/test",
            environment=EnvironmentSpec(kind="android", settings={"settle_deadline_ms": 20_000, **settings}),
            verifier=VerifierSpec(name="expression", settings={"expression": "true"}),
            instruction="Work.",
        )

    return make


@pytest.fixture(scope="session")
def until() -> Callable[..., Awaitable[None]]:
    """Waits until every one, or none, of some words stands on the command line of a process here."""

    async def wait(wanted: bool, *words: str) -> None:
        async with asyncio.timeout(120):
            while any(_running(word) is not wanted for word in words):
                await asyncio.sleep(0.02)

    return wait


def _running(word: str) -> bool:
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word in place.read_bytes().decode(errors="replace").split("\0"):
                return True
    return False
