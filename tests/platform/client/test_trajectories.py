"""Steps in full, curves, branches and datasets of episodes of a real server."""

from __future__ import annotations

from typing import Any

import pytest

from deskhand_flywheel.store import Store
from deskhand_platform.client import AsyncDeskhand, InvalidRequest, Missing
from deskhand_platform.states import WorkState


async def test_steps_curves_and_branches(client: AsyncDeskhand, store: Store, record_episode: Any) -> None:
    kept = await record_episode(store)
    assert (await client.step_inside(kept, 1)).index == 1
    with pytest.raises(Missing, match="no step 7"):
        await client.step_inside(kept, 7)
    assert (await client.curves(kept)).rewards == [0.0, 1.0]
    digest = (await anext(client.steps(kept))).image.digest
    assert (await client.image(digest, 64)).startswith(b"RIFF")
    queued = await client.branch(kept, 1, policy="local", episodes=2, labels={"batch": "a"}, priority=3)
    assert (queued.state, queued.branch_of, queued.priority) == (WorkState.QUEUED, kept, 3)
    with pytest.raises(InvalidRequest) as refused:
        await client.branch(kept, 9)
    assert refused.value.field == "step"
    assert [one.id async for one in client.tasks(owner="owner")] == [queued.id]


async def test_datasets_and_what_would_be_chosen(
    client: AsyncDeskhand, store: Store, record_episode: Any
) -> None:
    await record_episode(store, run="one")
    await record_episode(store, success=False, run="one")
    chosen = await client.selection(labels={"run": "one"})
    assert chosen.trajectories == sum(chosen.by_outcome.values()) == 2
    rules, labels = "sft: {clean: false}", {"run": "one"}
    shown = {one.dataset: one for one in await client.preview_routes("mine", rules=rules, labels=labels)}
    assert shown["mine/sft"].trajectories == 1 and await client.datasets() == []
    for _ in range(2):
        await client.route("mine", rules=rules, labels=labels)
    newest = await client.dataset("mine/sft")
    assert (newest.version, newest.versions, newest.trajectories) == (2, [2, 1], 1)
    assert (await client.dataset("mine/sft", 1)).version == 1
    assert ("mine/sft", 2) in [(one.name, one.version) for one in await client.datasets()]
    with pytest.raises(Missing):
        await client.dataset("mine/../sft")
    assert (await client.routing()).episodes == 2
    assert (await client.scorers(), await client.calibrations()) == ([], [])
    assert [one.id for one in await client.catalog("fake/press-button", held_out=True)] == []
