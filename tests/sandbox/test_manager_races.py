"""Two things at the same moment: a lease that ends while it forks, a manager that closes while it lends."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Mapping
from pathlib import Path

import pytest

from deskhand_sandbox.base import Sandbox
from deskhand_sandbox.errors import LeaseUnavailable, SandboxDied
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.manager.loan import LeasedSandbox
from deskhand_sandbox.types import EnvironmentSpec, JsonValue, Observation, Task, VerifierSpec

spec = importlib.util.spec_from_file_location("tiny_host", Path(__file__).with_name("tiny_host.py"))
assert spec is not None and spec.loader is not None
tiny = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tiny)

TASK = Task(id="tiny/type", environment=EnvironmentSpec(kind="tiny"), verifier=VerifierSpec(name="none"))


def managing(backend: tiny.TinyBackend, **pool: float) -> SandboxManager:
    def make_backend(kind: str, settings: Mapping[str, JsonValue]) -> tiny.TinyBackend:
        return backend

    return SandboxManager({"tiny": PoolSettings(max_sandboxes=1, **pool)}, make_backend=make_backend)


async def test_forks_made_in_the_moment_their_lease_ends_are_closed() -> None:
    backend = tiny.TinyBackend()

    class Forking(tiny.TinySandbox):
        async def fork(self, n: int) -> list[Sandbox]:
            made = await super().fork(n)
            manager.release(lease.id)
            return made

    async with managing(backend) as manager:
        backend.create = lambda: create(backend, Forking)
        lease = await manager.acquire("tiny", owner="me")
        with (
            manager.connect(lease.id, lease.token) as sandbox,
            pytest.raises(SandboxDied, match="given back"),
        ):
            await sandbox.fork(2)
    assert len(backend.made) == 3
    assert [each.closed for each in backend.made[1:]] == [1, 1]


class Watched(tiny.TinySandbox):
    """Shows itself when it is let."""

    def __init__(self, backend: tiny.TinyBackend) -> None:
        super().__init__(backend)
        self.may_show, self.asked = asyncio.Event(), 0

    async def observe(self, *, text_tree: bool = False) -> Observation:
        self.asked += 1
        await self.may_show.wait()
        return await super().observe(text_tree=text_tree)


async def given_back_while_looked_at(
    manager: SandboxManager, backend: tiny.TinyBackend
) -> tuple[LeasedSandbox, asyncio.Task[Observation | None]]:
    """A sandbox whose lease has ended, and the look at it that is not over."""
    backend.create = lambda: create(backend, Watched)
    async with manager.lease("tiny", owner="first") as sandbox:
        await sandbox.reset(TASK)
        looking = asyncio.create_task(manager.look(manager.status().leases[0].id, older_s=0.0))
        while not backend.made[0].asked:
            await asyncio.sleep(0)
    return sandbox, looking


async def test_a_sandbox_that_is_looked_at_as_its_lease_ends_goes_back_once_it_was_seen() -> None:
    backend = tiny.TinyBackend()
    async with managing(backend) as manager:
        sandbox, looking = await given_back_while_looked_at(manager, backend)
        waiting = asyncio.create_task(manager.acquire("tiny", owner="second"))
        assert not looking.done()
        backend.made[0].may_show.set()
        assert await looking is not None
        assert (await waiting).sandbox_id == sandbox.id
        assert manager.status().pools[0].lost == {}


async def test_one_that_breaks_while_it_is_looked_at_does_not_go_back() -> None:
    backend = tiny.TinyBackend()
    async with managing(backend) as manager:
        sandbox, looking = await given_back_while_looked_at(manager, backend)
        backend.made[0].dead = True
        backend.made[0].may_show.set()
        with pytest.raises(SandboxDied):
            await looking
        assert (await manager.acquire("tiny", owner="second")).sandbox_id != sandbox.id
        assert manager.status().pools[0].lost == {"died": 1}


async def create(backend: tiny.TinyBackend, kind: type[tiny.TinySandbox]) -> tiny.TinySandbox:
    backend.made.insert(0, kind(backend))
    return backend.made[0]


async def test_a_request_served_in_the_moment_of_closing_gets_nothing() -> None:
    backend = tiny.TinyBackend()
    async with managing(backend) as manager:
        async with manager.lease("tiny", owner="first"):
            waiting = asyncio.create_task(manager.acquire("tiny", owner="second"))
            while not manager.status().pools[0].queued:
                await asyncio.sleep(0)
        # it is served now, and has not run since
        await manager.close()
        with pytest.raises(LeaseUnavailable, match="is closing"):
            await waiting
        assert manager.status().leases == ()
    assert [each.closed for each in backend.made] == [1]
    assert backend.closed == 1


async def test_closing_does_not_wait_for_ever_for_what_cannot_be_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend, free = tiny.TinyBackend(), asyncio.Event()

    async def stubborn() -> tiny.TinySandbox:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await free.wait()  # a backend with a bug: it goes on all the same
        return await create(backend, tiny.TinySandbox)

    backend.create = stubborn
    async with managing(backend, close_s=0.05) as manager:
        waiting = asyncio.create_task(manager.acquire("tiny", owner="me"))
        while not manager.status().pools[0].creating:
            await asyncio.sleep(0)
        await manager.close()
        assert "does not let itself be cancelled" in caplog.text
        with pytest.raises(LeaseUnavailable):
            await waiting
        free.set()
        async with asyncio.timeout(120):
            while not backend.made or not backend.made[0].closed:
                await asyncio.sleep(0.001)
