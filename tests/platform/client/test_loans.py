"""Sandboxes leased through the client, of a real server and a real sandbox host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deskhand_platform import host_address
from deskhand_platform.client import AsyncDeskhand, Deskhand
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api
from deskhand_sandbox.host import HostSettings, start_host
from deskhand_sandbox.manager import PoolSettings

BUTTON = "fake/press-button"
CLICK = "click(point='<point>10 10</point>')"


@pytest.fixture
async def url(services: Services, tmp_path: Path) -> AsyncIterator[str]:
    settings = HostSettings(kinds={"fake": PoolSettings(max_sandboxes=1)}, state_folder=tmp_path)
    listener = listen("127.0.0.1", 0)
    async with start_host(settings) as host, serve_api(services, listener):
        host_address.publish(services.settings.home, host.url, host.token)
        yield address_of(listener)


async def test_a_program_that_awaits_works_in_a_sandbox(url: str, token: str) -> None:
    async with AsyncDeskhand(url, token=token) as client:
        with pytest.raises(RuntimeError, match="on purpose"):
            async with client.sandbox("fake") as sandbox:
                start = await client.reset_sandbox(sandbox.id, BUTTON, seed=7)
                assert start.instruction.startswith("Press ")
                raise RuntimeError("on purpose")
        async with client.sandbox("fake") as sandbox:  # the only one came back
            await client.reset_sandbox(sandbox.id, BUTTON)
            assert (await client.act_in_sandbox(sandbox.id, CLICK)).settled


async def test_a_program_that_blocks_works_in_a_sandbox(url: str, token: str) -> None:
    def work() -> bool:
        with Deskhand(url, token=token) as client, client.sandbox("fake") as sandbox:
            client.reset_sandbox(sandbox.id, BUTTON)
            done = client.act_in_sandbox(sandbox.id, CLICK)
            return client.observe_sandbox(sandbox.id).screen == done.screen

    assert await asyncio.to_thread(work)
