"""What holds for a sandbox holds for the same sandbox on loan, here and from another process."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from deskhand_sandbox.base import Sandbox, SandboxSource
from deskhand_sandbox.conformance import CHECKS, check_sandboxes
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task

FAKE = pytest.param("fake", "fake/press-button", id="fake")
BROWSER = ("browser", "miniwob/click-test")
POOL = PoolSettings(max_sandboxes=4)


async def check_leased(source: SandboxSource, kind: str, task_id: str) -> tuple[str, ...]:
    """Run the suite on sandboxes of a source; closing one gives it back."""
    async with AsyncExitStack() as leases:

        async def create() -> Sandbox:
            return await leases.enter_async_context(source.lease(kind, owner="conformance", wait_s=300))

        return await check_sandboxes(create, kind=kind, task=make_task(task_id, 5))


# the browser passes through all of this on its way to another process, below
@pytest.mark.parametrize(
    ("kind", "task_id"),
    [FAKE, pytest.param(*BROWSER, id="browser", marks=[pytest.mark.browser, pytest.mark.slow])],
)
async def test_a_leased_sandbox_of_this_process_conforms(kind: str, task_id: str) -> None:
    async with SandboxManager({kind: POOL}) as manager:
        assert await check_leased(manager, kind, task_id) == tuple(CHECKS)
        pool = manager.status().pools[0]
        assert (pool.leased, pool.lost, pool.created) == (0, {}, 4)


@pytest.mark.parametrize(
    ("kind", "task_id"), [FAKE, pytest.param(*BROWSER, id="browser", marks=pytest.mark.browser)]
)
async def test_a_remote_sandbox_conforms(tmp_path: Path, kind: str, task_id: str) -> None:
    settings = HostSettings(kinds={kind: POOL}, state_folder=tmp_path)
    async with start_host(settings) as host, SandboxClient(host.url, host.token) as client:
        assert await check_leased(client, kind, task_id) == tuple(CHECKS)
        pool = (await client.status()).pools[0]
        assert (pool.leased, pool.lost, pool.created) == (0, {}, 4)
