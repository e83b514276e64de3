from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from deskhand_sandbox.backends.desktop import DesktopBackend, DesktopSandbox, create
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Task, VerifierSpec

TERMINAL: list[JsonValue] = ["xterm", "-geometry", "80x24+20+20", "-fa", "DejaVu Sans Mono", "-title", "here"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backend() -> AsyncIterator[DesktopBackend]:
    backend = create()
    yield backend
    await backend.close()


@pytest_asyncio.fixture(loop_scope="module")
async def sandbox(backend: DesktopBackend) -> AsyncIterator[DesktopSandbox]:
    async with await backend.create() as sandbox:
        assert isinstance(sandbox, DesktopSandbox)
        yield sandbox


@pytest.fixture
def desk() -> Callable[..., Task]:
    """A task on a small screen with a terminal window; settings are added or replaced. It waits longer than
    usual for a still screen, and for what is on it: machines are busy."""

    def make(**settings: JsonValue) -> Task:
        base: dict[str, JsonValue] = {
            "applications": [TERMINAL],
            "size_px": [640, 420],
            "settle_deadline_ms": 15_000,
            "text_tree_deadline_ms": 15_000,
        }
        spec = EnvironmentSpec(kind="desktop", settings={**base, **settings})
        return Task(
            id="desk/test", environment=spec, verifier=VerifierSpec(name="expression"), instruction="Work."
        )

    return make
