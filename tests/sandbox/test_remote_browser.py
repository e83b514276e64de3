"""The whole way with a real Chromium: a host lends its pages, and whatever dies, nothing stays behind."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from pathlib import Path

import PIL.Image
import pytest

from deskhand_sandbox.errors import InfrastructureError
from deskhand_sandbox.host import HostSettings, SandboxClient, start_host
from deskhand_sandbox.manager import PoolSettings, processes
from deskhand_sandbox.manager.journal import SCRATCH_PREFIX
from deskhand_sandbox.manager.processes import Process
from deskhand_sandbox.registry import create_verifier
from deskhand_sandbox.tasks import make_task
from deskhand_sandbox.types import Click

pytestmark = pytest.mark.browser

TASK = make_task("miniwob/click-test", 7)
FIND_BUTTON = """(() => {
    const box = document.getElementById('subbtn').getBoundingClientRect();
    return [Math.round(box.x + box.width / 2), Math.round(box.y + box.height / 2)];
})()"""


def settings_in(folder: Path) -> HostSettings:
    return HostSettings(kinds={"browser": PoolSettings(max_sandboxes=2)}, state_folder=folder)


def family_of(pid: int) -> list[Process]:
    host = processes.find(pid)
    assert host is not None
    return [host, *processes.descendants(pid).values()]


def browser_in(family: list[Process]) -> Process:
    """The browser's main process: neither one of its helpers nor a shell around it."""
    mains = [each for each in family if "--user-data-dir" in each.command and "--type=" not in each.command]
    (main,) = [each for each in mains if not each.command.startswith("/bin/sh")]
    return main


async def test_an_episode_on_a_page_of_a_host(tmp_path: Path, temporary: Path) -> None:
    verifier = create_verifier(TASK.verifier)
    async with (
        start_host(settings_in(tmp_path)) as host,
        SandboxClient(host.url, host.token) as client,
        client.lease("browser", owner="me") as sandbox,
    ):
        start = await sandbox.reset(TASK)
        assert start.instruction == "Click the button."
        data = start.observation.screenshot.data
        assert data is not None
        assert PIL.Image.open(io.BytesIO(data)).size == start.observation.size_px == (160, 210)
        where = await sandbox.evaluate(FIND_BUTTON)
        assert isinstance(where, list)
        await sandbox.act(Click(x=int(str(where[0])), y=int(str(where[1]))))
        assert (await verifier.score(sandbox, answer=None)).success
        family = family_of(host.pid)
        assert browser_in(family)
    assert not any(processes.is_running(each) for each in family)
    assert [path.name for path in tmp_path.iterdir()] == ["host.log"]
    assert list(temporary.glob(f"{SCRATCH_PREFIX}*")) == []


async def test_a_browser_that_dies_is_replaced_under_the_same_host(tmp_path: Path) -> None:
    async with start_host(settings_in(tmp_path)) as host, SandboxClient(host.url, host.token) as client:
        async with client.lease("browser", owner="victim") as sandbox:
            await sandbox.reset(TASK)
            browser = browser_in(family_of(host.pid))
            os.kill(browser.pid, signal.SIGKILL)
            with pytest.raises(InfrastructureError):
                async with asyncio.timeout(120):
                    while True:
                        await sandbox.act(Click(x=1, y=1))
        async with client.lease("browser", owner="next") as sandbox:
            assert (await sandbox.reset(TASK)).instruction == "Click the button."
            another = browser_in(family_of(host.pid))
            assert another != browser


async def test_a_killed_host_with_a_hanging_browser_leaves_nothing_to_the_next(
    tmp_path: Path, temporary: Path
) -> None:
    """The browser is stopped first, so that it cannot notice the end of its host and leave by itself."""
    first = await start_host(settings_in(tmp_path))
    try:
        async with (
            SandboxClient(first.url, first.token) as client,
            client.lease("browser", owner="me") as sandbox,
        ):
            await sandbox.reset(TASK)
            family = family_of(first.pid)
            browser = browser_in(family)
            os.kill(browser.pid, signal.SIGSTOP)
            os.kill(first.pid, signal.SIGKILL)
            with pytest.raises(InfrastructureError):
                await sandbox.observe()
        assert processes.is_running(browser)
        async with start_host(settings_in(tmp_path)) as second:
            assert not any(processes.is_running(each) for each in family)
            async with SandboxClient(second.url, second.token) as client:
                assert (await client.status()).orphans_ended >= 1
    finally:
        await first.close()
    assert list(temporary.glob(f"{SCRATCH_PREFIX}*")) == []
