"""Sandboxes that run, and the controls of an episode, of a real server and a real sandbox host."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform import host_address
from deskhand_platform.client import AsyncDeskhand, Conflict, Missing
from deskhand_platform.services import Services
from deskhand_sandbox.host import HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings

BUTTON = "fake/press-button"


async def test_what_runs_is_looked_at(client: AsyncDeskhand, services: Services, tmp_path: Path) -> None:
    assert await client.sandboxes() == []  # no host is up
    settings = HostSettings(kinds={"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    async with start_host(settings) as host:
        host_address.publish(services.settings.home, host.url, host.token)
        begun = await client.preview_task(BUTTON, seed=7)
        assert begun.instruction.startswith("Press ") and begun.screen.startswith("data:image/")
        async with client.sandbox("fake") as sandbox:
            assert await client.screen(sandbox.id) is None
            await client.reset_sandbox(sandbox.id, BUTTON)
            screen = await client.screen(sandbox.id)
            assert screen is not None and screen.startswith(b"\xff\xd8")
            [running] = await client.sandboxes()
            assert running.task_id == BUTTON and await client.live_sandbox(sandbox.id)
        with pytest.raises(Missing):
            await client.live_sandbox(sandbox.id)
    await services.live.close()


async def test_the_controls_of_an_episode(
    client: AsyncDeskhand, services: Services, store: Store, record_episode: Any
) -> None:
    kept = await record_episode(store)
    assert (await client.controls(kept)).by is None
    with pytest.raises(Conflict, match="over"):
        await client.take_over(kept)
    with pytest.raises(Conflict, match="over"):
        await client.steer(kept, "wait(time=1)")
    with pytest.raises(Conflict, match="nobody has the controls"):
        await client.hand_back(kept)
