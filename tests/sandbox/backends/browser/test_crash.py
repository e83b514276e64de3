"""A crash of Chromium under the manager: its sandbox is replaced, nothing else notices."""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack

import pytest

from deskhand_sandbox.backends.browser import BrowserBackend, create
from deskhand_sandbox.base import Backend, Sandbox
from deskhand_sandbox.errors import SandboxDied
from deskhand_sandbox.manager import PoolSettings, SandboxManager
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click, JsonValue, Task

pytestmark = pytest.mark.browser

TASK = make_task("miniwob/click-test", 1)


async def dies(sandbox: Sandbox, pid: int) -> None:
    with pytest.raises(SandboxDied, match=f"process {pid}"):
        while True:
            await sandbox.act(Click(x=80, y=120))


@pytest.mark.parametrize("isolation", ["shared", "process"])
async def test_a_crashed_browser_is_replaced(isolation: str, patient: Callable[[Task], Task]) -> None:
    task = patient(TASK)
    backends: list[BrowserBackend] = []

    def make(kind: str, settings: Mapping[str, JsonValue]) -> Backend:
        backends.append(create(**settings))
        return backends[-1]

    pool = PoolSettings(max_sandboxes=3, settings={"isolation": isolation})
    async with SandboxManager({"browser": pool}, make_backend=make) as manager, AsyncExitStack() as stack:
        alone = isolation == "process"
        async with manager.lease("browser", owner="unlucky") as one:
            await one.reset(task)
            pid = next(iter(backends[0]._own)).pid if alone else backends[0].pid
            assert pid is not None
            neighbour = await stack.enter_async_context(manager.lease("browser", owner="neighbour"))
            await neighbour.reset(task)
            os.kill(pid, signal.SIGKILL)
            await dies(one, pid)
        if alone:
            assert (await neighbour.act(Click(x=80, y=120))).settled
        else:
            await dies(neighbour, pid)
        async with manager.lease("browser", owner="next") as fresh:
            assert (await fresh.reset(task)).instruction == "Click the button."
            assert (await fresh.act(Click(x=80, y=120))).settled
        assert len(backends) == (1 if alone else 2)
