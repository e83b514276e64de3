"""`deskhand branch` against a platform that listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from deskhand_flywheel.store import Store
from deskhand_platform.services import Services
from deskhand_platform.serving import address_of, listen, serve_api


async def test_a_branch_is_queued(
    services: Services,
    store: Store,
    token: str,
    record_episode: Any,
    beside: Callable[..., Awaitable[tuple[int, str, str]]],
) -> None:
    recorded = await record_episode(store)
    listener = listen("127.0.0.1", 0)
    try:
        async with serve_api(services, listener):
            branched = partial(
                beside, "branch", recorded, DESKHAND_URL=address_of(listener), DESKHAND_TOKEN=token
            )
            status, id, said = await branched("1", "--policy", "local", "--episodes", "3")
            assert (status, said) == (0, "")
            status, _, refused = await branched("2")
            assert status == 2 and "there is no step 2" in refused
    finally:
        listener.close()
    branch = (await services.queue.get(id.strip())).branch
    assert branch is not None
    assert (branch.trajectory_id, branch.step, branch.episodes) == (recorded, 1, 3)
