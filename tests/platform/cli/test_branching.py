"""`deskhand branch` against a platform that listens."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from deskhand_flywheel.store import Store
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api


async def deskhand(url: str, token: str, *arguments: str) -> tuple[int | None, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "deskhand_platform.cli.app", *arguments,
        env={**os.environ, "DESKHAND_URL": url, "DESKHAND_TOKEN": token},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode, said.decode()


async def test_a_branch_is_queued(services: Services, store: Store, token: str, record_episode: Any) -> None:
    recorded = await record_episode(store)
    listener = listen("127.0.0.1", 0)
    try:
        async with serve_api(services, listener):
            url = address_of(listener)
            status, said = await deskhand(
                url, token, "branch", recorded, "1", "--policy", "local", "--episodes", "3"
            )
            assert status == 0, said
            status, refused = await deskhand(url, token, "branch", recorded, "2")
            assert status == 2 and "there is no step 2" in refused
    finally:
        listener.close()
    branch = (await services.queue.get(said.strip())).branch
    assert branch is not None
    assert (branch.trajectory_id, branch.step, branch.episodes) == (recorded, 1, 3)
